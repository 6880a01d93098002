package shuffle

// BitShuffle writes the bit rows of src's elements of elemSize bytes to dst, which must be at least as
// long as src and not overlap it. Elements after the last group of eight, and bytes after the last
// whole element, are copied. The result is that of Blosc2, and of bshuf_bitshuffle of the bitshuffle
// library for one block. For Blosc1 see BitShuffleBlosc1, for HDF5's filter 32008 BitUnshuffleBlocks.
func BitShuffle(dst, src []byte, elemSize int) {
	dst = dst[:len(src)]
	whole := bitWhole(len(src), elemSize)
	bitShuffleGroups(dst[:whole], src[:whole], max(elemSize, 1))
	copy(dst[whole:], src[whole:])
}

// BitUnshuffle is the inverse of BitShuffle.
func BitUnshuffle(dst, src []byte, elemSize int) {
	dst = dst[:len(src)]
	whole := bitWhole(len(src), elemSize)
	bitUnshuffleGroups(dst[:whole], src[:whole], max(elemSize, 1))
	copy(dst[whole:], src[whole:])
}

// BitShuffleBlosc1 is BitShuffle in the variant of Blosc1: if the number of whole elements is not a
// multiple of eight, it copies all of src.
func BitShuffleBlosc1(dst, src []byte, elemSize int) {
	if len(src)/max(elemSize, 1)%8 != 0 {
		copy(dst[:len(src)], src)
		return
	}
	BitShuffle(dst, src, elemSize)
}

// BitUnshuffleBlosc1 is the inverse of BitShuffleBlosc1.
func BitUnshuffleBlosc1(dst, src []byte, elemSize int) {
	if len(src)/max(elemSize, 1)%8 != 0 {
		copy(dst[:len(src)], src)
		return
	}
	BitUnshuffle(dst, src, elemSize)
}

// BitBlockSize returns the default number of elements in a block of HDF5's filter 32008: as many as
// fit in 8192 bytes, rounded down to a multiple of eight, but at least 128.
func BitBlockSize(elemSize int) int {
	return max(8192/max(elemSize, 1)&^7, 128)
}

// BitUnshuffleBlocks decodes a chunk of HDF5's filter 32008 without compression. The filter
// bit-shuffles blocks of blockElems elements, a positive multiple of eight. The last block may have
// fewer elements; fewer than eight are copied.
func BitUnshuffleBlocks(dst, src []byte, elemSize, blockElems int) {
	for len(src) > 0 {
		n := min(max(elemSize*blockElems, 1), len(src))
		BitUnshuffle(dst[:n], src[:n], elemSize)
		dst, src = dst[n:], src[n:]
	}
}

// bitWhole returns the number of bytes, of n, that belong to whole groups of eight elements.
func bitWhole(n, elemSize int) int {
	group := 8 * max(elemSize, 1)
	return n / group * group
}

// A bit row has n/8 bytes, so eight rows look like the planes of n/8 elements of 8 bytes. The kernels
// for that size collect the eight bytes that hold the same bits of eight elements. Transposing these as
// a matrix of 8 × 8 bits completes the shuffle. Between the two steps, the planes of a tile are in
// scratch.

// bitShuffleGroups bit-shuffles whole groups of eight elements of size bytes.
func bitShuffleGroups(dst, src []byte, size int) {
	var scratch [tileBytes]byte
	n := len(src) / size
	tile := tileBytes / size &^ 7
	if tile == 0 {
		bitShuffleHuge(dst, src, size)
		return
	}
	for first := 0; first < n; first += tile {
		m := min(tile, n-first)
		planes := scratch[:m*size]
		Shuffle(planes, src[first*size:(first+m)*size], size)
		transposeBits(planes)
		for p := range size {
			shuffle8(dst[p*n+first/8:], planes[p*m:(p+1)*m], n/8, m/8)
		}
	}
}

// bitUnshuffleGroups is the inverse of bitShuffleGroups.
func bitUnshuffleGroups(dst, src []byte, size int) {
	var scratch [tileBytes]byte
	n := len(src) / size
	tile := tileBytes / size &^ 7
	if tile == 0 {
		bitUnshuffleHuge(dst, src, size)
		return
	}
	for first := 0; first < n; first += tile {
		m := min(tile, n-first)
		planes := scratch[:m*size]
		for p := range size {
			unshuffle8(planes[p*m:(p+1)*m], src[p*n+first/8:], n/8, m/8)
		}
		transposeBits(planes)
		Unshuffle(dst[first*size:(first+m)*size], planes, size)
	}
}

// bitShuffleHuge is bitShuffleGroups for elements so large that eight of them do not fit in scratch.
func bitShuffleHuge(dst, src []byte, size int) {
	var w [8]byte
	rows := len(src) / size / 8
	for p := range size {
		for m := range rows {
			gather1(w[:], src[8*m*size+p:], size)
			transposeBitsGo(w[:])
			scatter1(dst[8*p*rows+m:], w[:], rows)
		}
	}
}

// bitUnshuffleHuge is the inverse of bitShuffleHuge.
func bitUnshuffleHuge(dst, src []byte, size int) {
	var w [8]byte
	rows := len(src) / size / 8
	for p := range size {
		for m := range rows {
			gather1(w[:], src[8*p*rows+m:], rows)
			transposeBitsGo(w[:])
			scatter1(dst[8*m*size+p:], w[:], size)
		}
	}
}

package sperr

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// majorVersion is the one of the library whose volumes can be read.
const majorVersion = 0

// Flags of a volume.
const (
	is3D  = 0x40
	isCut = 0x10
)

// A volume may be cut into parts, which are fields of their own:
//
//	u8         major version of the library
//	u8         bit 7: truncated, bit 6: 3-D, bit 5: float32, bit 4: cut
//	u32 ×3     lengths of the volume, the fastest first
//	u16 ×3     lengths of a part, when it is cut
//	u32 …      bytes of each part
//	fields     of the parts, the fastest dimension first
const (
	lengthsAt = 2
	headerLen = lengthsAt + 3*4
	cutLen    = headerLen + 3*2
	sizeLen   = 4 // of the size of a part
)

// decodeVolume decodes the volume that src is from byte at on.
func (w *work) decodeVolume(t *target, src []byte, at int) error {
	src = src[at:]
	cut, end, err := readHeader(src, t.dims)
	if err != nil {
		return err
	}
	counts := cutCounts(t.dims, cut)
	// No product of the counts is more than that of the dimensions.
	if n := volume(counts); n > (len(src)-end)/sizeLen {
		return corrupt.Errorf("sperr: %d parts, only %d bytes for their sizes", n, len(src)-end)
	}
	sizes := src[end:]
	end += sizeLen * volume(counts)
	for z := range counts[2] {
		for y := range counts[1] {
			for x := range counts[0] {
				size := int(binary.LittleEndian.Uint32(sizes))
				sizes = sizes[sizeLen:]
				if size > len(src)-end {
					return corrupt.Errorf("sperr: a part of %d bytes at byte %d, only %d left", size, at+end, len(src)-end)
				}
				p := cutPart(t.dims, cut, counts, [3]int{x, y, z})
				if err := w.decode(t, p, section{src[end : end+size], at + end}); err != nil {
					return err
				}
				end += size
			}
		}
	}
	if end != len(src) {
		return corrupt.Errorf("sperr: %d bytes after the last part", len(src)-end)
	}
	return nil
}

// readHeader returns the lengths of the parts, and where their sizes stand.
func readHeader(src []byte, dims [3]int) (cut [3]int, end int, err error) {
	if len(src) < headerLen {
		return cut, 0, corrupt.Errorf("sperr: a volume of %d bytes, want at least %d", len(src), headerLen)
	}
	if src[0] != majorVersion {
		return cut, 0, unsupported("volume of version %d of the library", src[0])
	}
	if src[1]&is3D == 0 {
		return cut, 0, corrupt.Errorf("sperr: a volume's flags are %#x, want bit 6 set", src[1])
	}
	for i := range dims {
		n := binary.LittleEndian.Uint32(src[lengthsAt+4*i:])
		if uint64(n) != uint64(dims[i]) {
			return cut, 0, corrupt.Errorf("sperr: dimension %d of the volume is of length %d, want %d", i, n, dims[i])
		}
	}
	if src[1]&isCut == 0 {
		return dims, headerLen, nil
	}
	if len(src) < cutLen {
		return cut, 0, corrupt.Errorf("sperr: a volume of %d bytes, want at least %d", len(src), cutLen)
	}
	for i := range cut {
		cut[i] = int(binary.LittleEndian.Uint16(src[headerLen+2*i:]))
		if cut[i] == 0 {
			return cut, 0, corrupt.Errorf("sperr: dimension %d of a part is of length 0", i)
		}
	}
	return cut, cutLen, nil
}

// cutCounts returns how many parts there are along each dimension. What is left over
// at the end is a part of its own when it is longer than half a part, and otherwise
// belongs to the last one.
func cutCounts(dims, cut [3]int) (counts [3]int) {
	for i := range dims {
		counts[i] = dims[i] / cut[i]
		if dims[i]%cut[i] > cut[i]/2 {
			counts[i]++
		}
		counts[i] = max(counts[i], 1)
	}
	return counts
}

// cutPart returns the part at an index.
func cutPart(dims, cut, counts, index [3]int) (p part) {
	for i := range dims {
		p.start[i] = index[i] * cut[i]
		p.length[i] = cut[i]
		if index[i] == counts[i]-1 {
			p.length[i] = dims[i] - p.start[i]
		}
	}
	return p
}

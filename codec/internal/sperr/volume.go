package sperr

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// majorVersion is the major version of SPERR whose volumes are supported.
const majorVersion = 0

// Flags of a volume.
const (
	is3D  = 0x40
	isCut = 0x10
)

// A volume holds one field, or is cut into parts that are fields:
//
//	u8         major version of the library
//	u8         bit 7: truncated, bit 6: 3-D, bit 5: float32, bit 4: cut
//	u32 ×3     lengths of the volume, the fastest first
//	u16 ×3     only if it is cut: lengths of a part
//	u32 …      bytes of each part
//	fields     the parts, the fastest dimension first
const (
	lengthsAt = 2
	headerLen = lengthsAt + 3*4
	cutLen    = headerLen + 3*2
	sizeLen   = 4 // bytes of the size of a part
)

// decodeVolume decodes the volume that begins at byte at of src.
func (w *work) decodeVolume(t *target, src []byte, at int) error {
	src = src[at:]
	cut, end, err := readHeader(src, t.dims)
	if err != nil {
		return err
	}
	counts := cutCounts(t.dims, cut)
	// Each count is at most its dimension, so the product cannot overflow.
	if n := volume(counts); n > (len(src)-end)/sizeLen {
		return corrupt.Errorf("sperr: %d parts, but only %d bytes are left for their sizes", n, len(src)-end)
	}
	sizes := src[end:]
	end += sizeLen * volume(counts)
	for z := range counts[2] {
		for y := range counts[1] {
			for x := range counts[0] {
				size := int(binary.LittleEndian.Uint32(sizes))
				sizes = sizes[sizeLen:]
				if size > len(src)-end {
					return corrupt.Errorf("sperr: part of %d bytes at byte %d, only %d are left", size, at+end, len(src)-end)
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
		return corrupt.Errorf("sperr: %d bytes follow the last part, must be 0", len(src)-end)
	}
	return nil
}

// readHeader reads the header of a volume. It returns the lengths of a part and the end of the header.
func readHeader(src []byte, dims [3]int) (cut [3]int, end int, err error) {
	if len(src) < headerLen {
		return cut, 0, corrupt.Errorf("sperr: volume of %d bytes, must be at least %d", len(src), headerLen)
	}
	if src[0] != majorVersion {
		return cut, 0, unsupported("volume of SPERR version %d, supported is %d", src[0], majorVersion)
	}
	if src[1]&is3D == 0 {
		return cut, 0, corrupt.Errorf("sperr: flags %#x of a volume, bit 6 must be set", src[1])
	}
	for i := range dims {
		n := binary.LittleEndian.Uint32(src[lengthsAt+4*i:])
		if uint64(n) != uint64(dims[i]) {
			return cut, 0, corrupt.Errorf("sperr: dimension %d of the volume has length %d, %d is expected", i, n, dims[i])
		}
	}
	if src[1]&isCut == 0 {
		return dims, headerLen, nil
	}
	if len(src) < cutLen {
		return cut, 0, corrupt.Errorf("sperr: volume of %d bytes, must be at least %d", len(src), cutLen)
	}
	for i := range cut {
		cut[i] = int(binary.LittleEndian.Uint16(src[headerLen+2*i:]))
		if cut[i] == 0 {
			return cut, 0, corrupt.Errorf("sperr: dimension %d of a part has length 0, must be positive", i)
		}
	}
	return cut, cutLen, nil
}

// cutCounts returns the number of parts along each dimension. A remainder at the end is a part if it is
// longer than half a part. Otherwise it belongs to the last part.
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

// cutPart returns the part at an index in the grid of parts.
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

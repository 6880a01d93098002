package lerc

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// Predictors of floats, which are applied before their bytes are put in planes.
const (
	predictNone = iota
	predictRows // the difference to the number on the left
	predictBoth // the difference to the number on the left, and of that to the one above
)

// maxOrder is the greatest number of times that differences of a plane are taken.
const maxOrder = 5

// planes decodes floats without loss: a predictor (1 byte), and for each byte of a number which byte it is (1), how
// often differences were taken (1), the size (4), and a plane of that byte of all numbers, valid or not. If a pixel has
// more than one sample, these make a row.
func (d *decoder) planes() error {
	at, size := d.at, d.typ.Size()
	predictor := d.octet()
	if d.err == nil && predictor > predictBoth {
		return corrupt.Errorf("offset %d: predictor %d, want 0 to %d", at, predictor, predictBoth)
	}
	plane := make([]byte, len(d.dst)/size)
	found := 0
	for range size {
		at = d.at
		index, order := d.octet(), d.octet()
		stored := d.integer()
		end := d.at + stored
		if d.err != nil {
			return d.err
		}
		if int(index) >= size || found>>index&1 != 0 || order > maxOrder || stored < 1 || end > len(d.src) {
			return corrupt.Errorf("offset %d: plane %d of %d bytes with differences of order %d", at, index, stored, order)
		}
		found |= 1 << index
		if err := d.plane(plane, end); err != nil {
			return corrupt.Errorf("offset %d: plane %d: %w", at, index, err)
		}
		d.at = end
		for ; order > 0; order-- {
			last := plane[min(int(order), len(plane))-1]
			for i := int(order); i < len(plane); i++ {
				last += plane[i]
				plane[i] = last
			}
		}
		out := d.dst[index:]
		for i, b := range plane {
			out[i*size] = b
		}
	}
	columns := d.columns
	if d.depth > 1 {
		columns = d.depth
	}
	if size == 4 {
		restore32(d.dst, 4*columns, predictor)
	} else {
		restore64(d.dst, 8*columns, predictor)
	}
	return nil
}

// Codings of a plane, its first byte.
const (
	planeHuffman  = 0
	planeEqual    = 1 // one byte, and how often it is repeated (4)
	planeRaw      = 2
	planePackBits = 3
)

// plane decodes a plane that ends at an offset.
func (d *decoder) plane(dst []byte, end int) error {
	whole := d.src
	d.src = whole[:end]
	defer func() { d.src = whole }()
	switch coding := d.octet(); coding {
	case planeHuffman:
		h, err := d.newHuffman(0, len(dst))
		if err != nil {
			return err
		}
		return h.decode(dst)
	case planeEqual:
		value := d.octet()
		if n := uint32(d.integer()); d.err == nil && int64(n) != int64(len(dst)) {
			return corrupt.Errorf("%d bytes, want %d", n, len(dst))
		}
		for i := range dst {
			dst[i] = value
		}
		return d.err
	case planeRaw:
		copy(dst, d.bytes(len(dst)))
		return d.err
	case planePackBits:
		return d.packBits(dst)
	default:
		return corrupt.Errorf("coding %d, want 0 to %d", coding, planePackBits)
	}
}

// packBits decodes runs: n and n+1 bytes for n < 128, or n and a byte that is repeated n−126 times.
func (d *decoder) packBits(dst []byte) error {
	for len(dst) > 0 {
		n := int(d.octet())
		run, literal := n-126, n < 128
		if literal {
			run = n + 1
		}
		if run > len(dst) {
			return corrupt.Errorf("a run of %d bytes where %d are missing", run, len(dst))
		}
		if literal {
			copy(dst, d.bytes(run))
		} else {
			value := d.octet()
			for i := range dst[:run] {
				dst[i] = value
			}
		}
		if d.err != nil {
			return d.err
		}
		dst = dst[run:]
	}
	return nil
}

// Bits of numbers that are added apart from the other bits. The sign of 32-bit numbers is between both parts, and moves
// to the top at the end.
const (
	mantissa32 = 1<<23 - 1
	mantissa64 = 1<<52 - 1
)

func add32(a, b uint32) uint32 {
	return (a+b)&mantissa32 | (a&^mantissa32+b&^mantissa32)&^mantissa32
}

func add64(a, b uint64) uint64 {
	return (a+b)&mantissa64 | (a&^mantissa64+b&^mantissa64)&^mantissa64
}

// restore32 undoes a predictor of numbers of 4 bytes. Row is the size of a row in bytes.
func restore32(b []byte, row int, predictor byte) {
	if predictor == predictBoth {
		for at := row; at < len(b); at += 4 {
			v := add32(binary.LittleEndian.Uint32(b[at:]), binary.LittleEndian.Uint32(b[at-row:]))
			binary.LittleEndian.PutUint32(b[at:], v)
		}
	}
	for ; len(b) >= row; b = b[row:] {
		last := uint32(0)
		for at := 0; at < row; at += 4 {
			v := binary.LittleEndian.Uint32(b[at:])
			if predictor != predictNone {
				v = add32(v, last)
			}
			last = v
			binary.LittleEndian.PutUint32(b[at:], v&mantissa32|v>>24<<23|v>>23<<31)
		}
	}
}

// restore64 undoes a predictor of numbers of 8 bytes. Row is the size of a row in bytes.
func restore64(b []byte, row int, predictor byte) {
	if predictor == predictBoth {
		for at := row; at < len(b); at += 8 {
			v := add64(binary.LittleEndian.Uint64(b[at:]), binary.LittleEndian.Uint64(b[at-row:]))
			binary.LittleEndian.PutUint64(b[at:], v)
		}
	}
	for ; predictor != predictNone && len(b) >= row; b = b[row:] {
		last := uint64(0)
		for at := 0; at < row; at += 8 {
			last = add64(binary.LittleEndian.Uint64(b[at:]), last)
			binary.LittleEndian.PutUint64(b[at:], last)
		}
	}
}

package grib_test

import (
	"encoding/binary"

	"varve/codec/grib"
)

// split returns the fields of the messages in data. Package message does this for readers; these tests
// must not depend on it.
func split(data []byte) (all []*grib.Field) {
	for at := 0; at+16 <= len(data); {
		if string(data[at:at+4]) != "GRIB" {
			at++
			continue
		}
		if data[at+7] == 2 {
			n := int(binary.BigEndian.Uint64(data[at+8:]))
			all = append(all, split2(data[at:min(at+n, len(data))])...)
			at += n
			continue
		}
		n := uint24(data[at+4:])
		f, length := split1(data[at:], n)
		all = append(all, f)
		at += length
	}
	return all
}

func uint24(b []byte) int { return int(b[0])<<16 | int(b[1])<<8 | int(b[2]) }

// split1 also returns the length of the message, which ECMWF writes in units of 120 bytes if
// it is over 8 MiB.
func split1(m []byte, length int) (*grib.Field, int) {
	f := &grib.Field{Edition: 1}
	at := 8
	flags := m[at+7]
	f.DecimalScale = int(binary.BigEndian.Uint16(m[at+26:]) & 0x7fff)
	if m[at+26]&0x80 != 0 {
		f.DecimalScale = -f.DecimalScale
	}
	at += uint24(m[at:])
	if flags&0x80 != 0 {
		grid1(f, m[at:at+uint24(m[at:])])
		at += uint24(m[at:])
	}
	if flags&0x40 != 0 {
		bitmap, err := grib.Bitmap1(m[at : at+uint24(m[at:])])
		if err != nil {
			panic(err)
		}
		f.Bitmap = bitmap
		at += uint24(m[at:])
	}
	n := uint24(m[at:])
	if length&0x800000 != 0 && n < 120 {
		length = (length&0x7fffff)*120 - n + 4
		n = length - at - 4
	}
	f.Section4 = m[at : at+n]
	return f, length
}

func grid1(f *grib.Field, s []byte) {
	nv, pl, kind := int(s[3]), int(s[4]), s[5]
	ni, nj := int(binary.BigEndian.Uint16(s[6:])), int(binary.BigEndian.Uint16(s[8:]))
	const consecutiveJ = 0x20
	switch {
	case kind == 50 || kind == 60 || kind == 70 || kind == 80:
		f.Truncation = [3]int{ni, nj, int(binary.BigEndian.Uint16(s[10:]))}
		f.Points = (ni + 1) * (ni + 2)
	case ni == 0xffff && pl != 255:
		at := pl - 1 + 4*nv
		for range nj {
			f.Rows = append(f.Rows, int(binary.BigEndian.Uint16(s[at:])))
			f.Points += f.Rows[len(f.Rows)-1]
			at += 2
		}
	case s[27]&consecutiveJ != 0:
		f.Points, f.Columns = ni*nj, nj
	default:
		f.Points, f.Columns = ni*nj, ni
	}
}

func split2(m []byte) (all []*grib.Field) {
	f := grib.Field{Edition: 2}
	var bitmap []byte
	for at := 16; at+5 <= len(m) && string(m[at:at+4]) != "7777"; {
		s := m[at : at+int(binary.BigEndian.Uint32(m[at:]))]
		at += len(s)
		switch s[4] {
		case 3:
			grid2(&f, s)
		case 5:
			f.Section5 = s
		case 6:
			b, err := grib.Bitmap2(s, bitmap)
			if err != nil {
				panic(err)
			}
			if f.Bitmap = b; b != nil {
				bitmap = b
			}
		case 7:
			f.Section7 = s
			copied := f
			all = append(all, &copied)
		}
	}
	return all
}

func grid2(f *grib.Field, s []byte) {
	f.Points = int(binary.BigEndian.Uint32(s[6:]))
	template := binary.BigEndian.Uint16(s[12:])
	width, nj := int(s[10]), 0
	f.Rows, f.Columns = nil, 0
	if template >= 50 && template <= 53 {
		f.Truncation = [3]int{int(binary.BigEndian.Uint32(s[14:])), int(binary.BigEndian.Uint32(s[18:])), int(binary.BigEndian.Uint32(s[22:]))}
		return
	}
	if template >= 61 && template <= 63 {
		f.Truncation = [3]int{int(binary.BigEndian.Uint32(s[15:])), int(binary.BigEndian.Uint32(s[19:])), int(s[23])}
		return
	}
	if template < 100 && len(s) >= 38 {
		f.Columns, nj = int(binary.BigEndian.Uint32(s[30:])), int(binary.BigEndian.Uint32(s[34:]))
	}
	if width > 0 && f.Columns == 0xffffffff {
		f.Columns = 0
		for i := range nj {
			at := len(s) - width*(nj-i)
			n := 0
			for _, b := range s[at : at+width] {
				n = n<<8 | int(b)
			}
			f.Rows = append(f.Rows, n)
		}
	}
}

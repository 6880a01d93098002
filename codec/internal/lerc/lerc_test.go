package lerc

import (
	"bytes"
	"compress/zlib"
	_ "embed"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

// sample is a chunk that LERC wrote and what imagecodecs decodes it to, or GDAL if it is of TIFF; samples.py makes the
// file.
type sample struct {
	Name   string
	Type   Type
	Shape  []int64
	TIFF   bool
	Data   []byte
	Pixels []byte // compressed
	Masked *bool  // whether there are invalid pixels, if the writer said so
	Big    bool   // the file is big-endian, so that LERC has the bytes of numbers reversed
}

func (s *sample) decode(dst []byte) (bool, error) {
	if s.TIFF {
		return DecodeTIFF(dst, s.Data, s.Type, s.Shape)
	}
	return Decode(dst, s.Data, s.Type, s.Shape)
}

//go:embed testdata/samples.jsonl
var stored []byte

func samples(t testing.TB) []sample {
	t.Helper()
	list := vectors.Samples[sample](t, stored, 300)
	for i := range list {
		r, err := zlib.NewReader(bytes.NewReader(list[i].Pixels))
		if err != nil {
			t.Fatal(err)
		}
		if list[i].Pixels, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func TestDecode(t *testing.T) {
	for _, s := range samples(t) {
		got := bytes.Repeat([]byte{0xa5}, len(s.Pixels))
		masked, err := s.decode(got)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if s.Big {
			for at := 0; at < len(got); at += s.Type.Size() {
				slices.Reverse(got[at : at+s.Type.Size()])
			}
		}
		if i := firstDifference(got, s.Pixels); i >= 0 {
			t.Errorf("%s: byte %d of %d is %#x, want %#x", s.Name, i, len(got), got[i], s.Pixels[i])
		}
		if s.Masked != nil && masked != *s.Masked {
			t.Errorf("%s: masked: %v", s.Name, masked)
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// seal sets the checksum of the first blob to that of its bytes.
func seal(b []byte) []byte {
	if h, err := parseHeader(b, 0); err == nil && h.version >= 3 {
		binary.LittleEndian.PutUint32(b[summed-4:], sum(b[summed:h.end]))
	}
	return b
}

// find returns the sample with a name.
func find(t testing.TB, name string) sample {
	t.Helper()
	for _, s := range samples(t) {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no sample %q", name)
	return sample{}
}

func TestRefused(t *testing.T) {
	plain := find(t, "smooth (1, 19, 33, 1) i2 2 v4 ")
	huffman := find(t, "smooth (1, 40, 70, 1) u1 0 v3 (40, 70)")
	planes := find(t, "smooth (1, 40, 50, 1) f4 0 v6 ")
	bands := find(t, "noise (3, 9, 12, 1) i2 2 v6 (9, 12)")
	// Offsets of a blob of version 4.
	const (
		version, rows, columns, depth, valid, tileSide, size, typ = 6, 14, 18, 22, 26, 30, 34, 38
		maskSize, flags                                           = 66, 75
	)
	for name, c := range map[string]struct {
		from   sample
		change func(b []byte) []byte
	}{
		"empty":              {plain, func(b []byte) []byte { return nil }},
		"no key":             {plain, func(b []byte) []byte { b[0] = 'l'; return b }},
		"a wrong checksum":   {plain, func(b []byte) []byte { b[len(b)-1]++; return b }},
		"an early end":       {plain, func(b []byte) []byte { return b[:len(b)-1] }},
		"bytes that follow":  {plain, func(b []byte) []byte { return append(b, 0) }},
		"another type":       {plain, func(b []byte) []byte { b[typ] = 3; return seal(b) }},
		"no type":            {plain, func(b []byte) []byte { b[typ] = 8; return seal(b) }},
		"another shape":      {plain, func(b []byte) []byte { b[rows]++; return seal(b) }},
		"rows and columns":   {plain, func(b []byte) []byte { b[rows], b[columns] = b[columns], b[rows]; return seal(b) }},
		"no rows":            {plain, func(b []byte) []byte { b[rows] = 0; return seal(b) }},
		"negative columns":   {plain, func(b []byte) []byte { b[columns+3] = 0xff; return seal(b) }},
		"more than 2 GiB":    {plain, func(b []byte) []byte { b[rows+2], b[depth+2] = 8, 8; return seal(b) }},
		"too many valid":     {plain, func(b []byte) []byte { b[valid+1]++; return seal(b) }},
		"valid but no mask":  {plain, func(b []byte) []byte { b[valid]--; return seal(b) }},
		"a mask of all":      {plain, func(b []byte) []byte { b[maskSize] = 2; return seal(b) }},
		"tiles of 33":        {plain, func(b []byte) []byte { b[tileSide] = 33; return seal(b) }},
		"a greater size":     {plain, func(b []byte) []byte { b[size]++; return b }},
		"a size of 0":        {plain, func(b []byte) []byte { b[size], b[size+1] = 0, 0; return b }},
		"flags of a column":  {plain, func(b []byte) []byte { b[flags] ^= 8; return seal(b) }},
		"reduced too much":   {plain, func(b []byte) []byte { b[flags] |= 0xc0; return seal(b) }},
		"coding 2 of deltas": {huffman, func(b []byte) []byte { return seal(replaceCoding(b, 2)) }},
		"coding 3 of bytes":  {huffman, func(b []byte) []byte { return seal(replaceCoding(b, 3)) }},
		"a band more":        {bands, func(b []byte) []byte { b[42]++; return append(b, b...) }},
		"a band less":        {bands, func(b []byte) []byte { h, _ := parseHeader(b, 0); return b[:h.end] }},
		"predictor 3":        {planes, func(b []byte) []byte { b[104] = 3; return seal(b) }},
		"byte 4 of a float":  {planes, func(b []byte) []byte { b[105] = 4; return seal(b) }},
		"the byte twice":     {planes, func(b []byte) []byte { b[105] = 1; return seal(b) }},
		"order 6":            {planes, func(b []byte) []byte { b[106] = 6; return seal(b) }},
		"a plane of nothing": {planes, func(b []byte) []byte { clear(b[107:111]); return seal(b) }},
		"coding 4 of planes": {planes, func(b []byte) []byte { b[111] = 4; return seal(b) }},
	} {
		src := c.change(bytes.Clone(c.from.Data))
		if _, err := Decode(make([]byte, len(c.from.Pixels)), src, c.from.Type, c.from.Shape); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, src := range map[string][]byte{
		"LERC 1":    []byte("CntZImage \x0b\x00\x00\x00\x08\x00\x00\x00"),
		"version 7": append([]byte("Lerc2 \x07"), plain.Data[version+1:]...),
	} {
		if _, err := Decode(make([]byte, len(plain.Pixels)), src, plain.Type, plain.Shape); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// replaceCoding sets the coding of the samples of a blob of version 3 with a mask.
func replaceCoding(b []byte, coding byte) []byte {
	at := 66 + int(binary.LittleEndian.Uint32(b[62:]))
	b[at+1] = coding
	return b
}

// TestDamaged changes and cuts off each byte of blobs whose checksum fits: nothing is written past the end.
func TestDamaged(t *testing.T) {
	for i, s := range samples(t) {
		if len(s.Data) > 1500 || i%9 != 0 {
			continue
		}
		room := make([]byte, len(s.Pixels)+8)
		dst := room[:len(s.Pixels):len(s.Pixels)]
		for at := range s.Data {
			for _, change := range []byte{1, 0x80, 0xff} {
				s := s
				s.Data = bytes.Clone(s.Data)
				s.Data[at] ^= change
				seal(s.Data)
				s.decode(dst)
			}
			s := s
			s.Data = s.Data[:at]
			if _, err := s.decode(dst); err == nil {
				t.Fatalf("%s: %d of %d bytes decode", s.Name, at, len(s.Data))
			}
		}
		if !bytes.Equal(room[len(dst):], make([]byte, 8)) {
			t.Fatalf("%s: bytes were written past the end", s.Name)
		}
	}
}

// TestSum compares the checksum with its definition, which adds one word after the other.
func TestSum(t *testing.T) {
	b := make([]byte, 3001)
	for i := range b {
		b[i] = byte(i * i >> 3)
	}
	for n := range b {
		first, second := uint32(0xffff), uint32(0xffff)
		for at := 0; at+1 < n; at += 2 {
			first += uint32(b[at])<<8 | uint32(b[at+1])
			second += first
			if at/2%359 == 358 || at+3 >= n {
				first, second = first&0xffff+first>>16, second&0xffff+second>>16
			}
		}
		if n%2 == 1 {
			first += uint32(b[n-1]) << 8
			second += first
		}
		first, second = first&0xffff+first>>16, second&0xffff+second>>16
		if got := sum(b[:n]); got != second<<16|first {
			t.Fatalf("%d bytes: %08x, want %08x", n, got, second<<16|first)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		if len(s.Data) < 2000 {
			f.Add(s.Data, uint8(s.Type), len(s.Pixels)/s.Type.Size())
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, typ uint8, count int) {
		if typ > uint8(Float64) || count < 0 || count > 1<<16 {
			return
		}
		src = seal(bytes.Clone(src))
		// The shape of the first blob gets further than one of the fuzzer.
		h, err := parseHeader(src, 0)
		if err != nil {
			return
		}
		size := count * Type(typ).Size()
		room := make([]byte, size+8)
		dst := room[:size:size]
		pixels := max(1, h.rows*h.columns)
		Decode(dst, src, Type(typ), []int64{int64(count / pixels / h.depth), int64(h.rows), int64(h.columns), int64(h.depth)})
		DecodeTIFF(dst, src, Type(typ), []int64{int64(h.rows), int64(h.columns), int64(count / pixels)})
		if !bytes.Equal(room[size:], make([]byte, 8)) {
			t.Error("bytes were written past the end")
		}
	})
}

package grib_test

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/codec/grib"
)

// section5 makes section 5 of edition 2 with R = 42, E = 0, D = 2 and the bytes after the bits per value.
func section5(template, coded int, bits byte, rest ...byte) []byte {
	s := binary.BigEndian.AppendUint32(nil, uint32(20+len(rest)))
	s = append(s, 5)
	s = binary.BigEndian.AppendUint32(s, uint32(coded))
	s = binary.BigEndian.AppendUint16(s, uint16(template))
	s = binary.BigEndian.AppendUint32(s, math.Float32bits(42))
	s = append(s, 0, 0, 0, 2, bits)
	return append(s, rest...)
}

func section7(data ...byte) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(5+len(data))), 7), data...)
}

// TestConstantOfManyPoints describes a constant field of many points, which must not take memory for them.
func TestConstantOfManyPoints(t *testing.T) {
	const points = 933_120_000
	f := &grib.Field{Edition: 2, Points: points, Section5: section5(0, points, 0, 0), Section7: section7()}
	if n := testing.AllocsPerRun(1, func() {
		info, err := f.Describe()
		if err != nil || info.Values != points || !info.Constant || info.Value != 42 {
			t.Errorf("%+v, %v", info, err)
		}
	}); n > 4 {
		t.Errorf("%v allocations", n)
	}
}

// TestRefused checks the errors of damaged and unsupported fields: their kind, and the numbers in their texts.
func TestRefused(t *testing.T) {
	complex5 := func(groups, bits, widthBits, lengthBits byte) []byte {
		return []byte{0, 1, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, groups, 0, widthBits, 0, 0, 0, 0, 1, 0, 0, 0, 8, lengthBits}
	}
	for _, c := range []struct {
		name  string
		field grib.Field
		kind  error
		says  string
	}{
		{"edition 3", grib.Field{Edition: 3}, errors.ErrUnsupported, "edition 3"},
		{"no section 5", grib.Field{Edition: 2}, codec.ErrCorrupt, "section 5"},
		{"no section 7", grib.Field{Edition: 2, Section5: section5(0, 8, 8, 0)}, codec.ErrCorrupt, "section 7"},
		{"no section 4", grib.Field{Edition: 1}, codec.ErrCorrupt, "section 4"},
		{"a matrix", grib.Field{Edition: 2, Section5: section5(1, 8, 8, 0), Section7: section7()}, errors.ErrUnsupported, "5.1 matrix"},
		{"a template", grib.Field{Edition: 2, Section5: section5(999, 8, 8, 0), Section7: section7()}, errors.ErrUnsupported, "5.999"},
		{"65 bits", grib.Field{Edition: 2, Points: 8, Section5: section5(0, 8, 65, 0), Section7: section7(make([]byte, 99)...)}, codec.ErrCorrupt, "65 64"},
		{"33 bits of CCSDS", grib.Field{Edition: 2, Points: 8, Section5: section5(42, 8, 33, 0, 8, 8, 0, 4), Section7: section7(0, 0)}, codec.ErrCorrupt, "33 32"},
		{"too few values", grib.Field{Edition: 2, Points: 9, Section5: section5(0, 9, 8, 0), Section7: section7(1, 2, 3)}, codec.ErrCorrupt, "9 8 3"},
		{"a short bitmap", grib.Field{Edition: 2, Points: 9, Bitmap: []byte{1}, Section5: section5(0, 9, 8, 0), Section7: section7(1, 2, 3)}, codec.ErrCorrupt, "bitmap 1 9"},
		{"more bits than values", grib.Field{Edition: 2, Points: 8, Bitmap: []byte{0xff}, Section5: section5(0, 7, 8, 0), Section7: section7(make([]byte, 8)...)}, codec.ErrCorrupt, "bitmap 8 7"},
		{"more values than points", grib.Field{Edition: 2, Points: 8, Bitmap: []byte{0xff}, Section5: section5(0, 1<<31, 0, 0), Section7: section7()}, codec.ErrCorrupt, "2147483648 8"},
		{"more groups than values", grib.Field{Edition: 2, Points: 8, Section5: section5(2, 8, 0, complex5(9, 0, 0, 0)...), Section7: section7()}, codec.ErrCorrupt, "9 8"},
		{"groups without bits", grib.Field{Edition: 2, Points: 8, Section5: section5(2, 8, 9, complex5(8, 0, 8, 8)...), Section7: section7()}, codec.ErrCorrupt, "8 references 9"},
		{"wide groups", grib.Field{Edition: 2, Points: 8, Section5: section5(2, 8, 8, complex5(1, 0, 8, 0)...), Section7: section7(1, 200)}, codec.ErrCorrupt, "200 64"},
		{"no PNG", grib.Field{Edition: 2, Points: 8, Section5: section5(41, 8, 8, 0), Section7: section7(1, 2, 3)}, codec.ErrCorrupt, "PNG"},
		{"no JPEG 2000", grib.Field{Edition: 2, Points: 8, Section5: section5(40, 8, 8, 0), Section7: section7(1, 2, 3)}, codec.ErrCorrupt, "jpeg2000"},
		{"negative points", grib.Field{Edition: 2, Points: -1}, nil, "-1"},
		{"a matrix of edition 1", grib.Field{Edition: 1, Points: 8, Section4: []byte{0, 0, 24, 0x10, 0, 0, 0, 0, 0, 0, 8, 0, 0, 8, 0, 5, 0, 6, 0, 0, 0, 0, 0, 0}}, errors.ErrUnsupported, "matrix 5 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			info, err := c.field.Describe()
			if err == nil {
				if info.Values > 100 {
					t.Fatalf("%d values", info.Values)
				}
				err = grib.Decode(make([]float64, info.Values), &c.field)
			}
			if err == nil || c.kind != nil && !errors.Is(err, c.kind) {
				t.Fatalf("error %v, want one that is %v", err, c.kind)
			}
			for fact := range strings.FieldsSeq(c.says) {
				if !strings.Contains(err.Error(), fact) {
					t.Errorf("%q does not say %q", err, fact)
				}
			}
		})
	}
}

func TestBitmapsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		kind error
	}{
		{"short, edition 1", second(grib.Bitmap1(make([]byte, 5))), codec.ErrCorrupt},
		{"predefined, edition 1", second(grib.Bitmap1([]byte{0, 0, 6, 0, 0, 7})), errors.ErrUnsupported},
		{"short, edition 2", second(grib.Bitmap2(make([]byte, 5), nil)), codec.ErrCorrupt},
		{"predefined, edition 2", second(grib.Bitmap2([]byte{0, 0, 0, 6, 6, 7}, nil)), errors.ErrUnsupported},
		{"none before", second(grib.Bitmap2([]byte{0, 0, 0, 6, 6, 254}, nil)), codec.ErrCorrupt},
	} {
		if !errors.Is(c.err, c.kind) {
			t.Errorf("%s: %v, want %v", c.name, c.err, c.kind)
		}
	}
}

// TestHostileIsBounded decodes messages that are truncated or changed at many bytes. They must take no
// more memory than a small multiple of the sizes that they claim, and little time.
func TestHostileIsBounded(t *testing.T) {
	start := time.Now()
	var before, after runtime.MemStats
	for _, m := range messages(t, recorded) {
		for _, f := range split(m.Message) {
			for i := 0; i < len(f.Section7)+len(f.Section4); i += 7 {
				changed := *f
				changed.Section7, changed.Section4 = flipped(f.Section7, i), flipped(f.Section4, i)
				info, err := changed.Describe()
				if err != nil || info.Values > 1<<13 {
					continue
				}
				dst := make([]float64, info.Values)
				runtime.ReadMemStats(&before)
				_ = grib.Decode(dst, &changed)
				runtime.ReadMemStats(&after)
				claims := uint64(8*len(dst) + len(m.Message))
				if took := after.TotalAlloc - before.TotalAlloc; took > 32*claims+1<<20 {
					t.Fatalf("%s, changed at byte %d: %d bytes are allocated for %d bytes of message and values", m.Name, i, took, claims)
				}
			}
		}
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// flipped returns a copy with byte i changed; for an even i the copy is also truncated.
func flipped(b []byte, i int) []byte {
	if i >= len(b) {
		return b
	}
	c := append([]byte{}, b...)
	c[i] ^= 0x5a
	if i%2 == 0 {
		c = c[:max(i, min(len(b), 11))]
	}
	return c
}

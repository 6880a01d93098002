package grib_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/readers"
	"varve/readers/internal/grib"
	"varve/readers/readertest"
	"varve/readers/source"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(samples, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestManyPoints checks that a message of a few bytes that claims 4 billion points is opened at once, without memory for the
// points: its values are a problem.
func TestManyPoints(t *testing.T) {
	b := bytes.Clone(read(t, "columns.grib"))
	at := bytes.Index(b, []byte{0, 0, 0, 72, 3}) // section 3
	binary.BigEndian.PutUint32(b[at+6:], 1<<32-1<<16)
	binary.BigEndian.PutUint32(b[at+30:], 1<<16)
	binary.BigEndian.PutUint32(b[at+34:], 1<<16-1)
	began := time.Now()
	data, err := grib.Format{}.Open(t.Context(), source.New("many.grib", &readertest.Memory{Data: b}))
	if err != nil || data.Variable("/t") != nil || len(data.Problems) != 1 || time.Since(began) > time.Minute {
		t.Errorf("%v, problems %v after %v; want the problem of t", err, data.Problems, time.Since(began))
	}
}

// TestDamaged checks that a damaged message is a problem with an offset, and that the fields of all other messages are listed.
func TestDamaged(t *testing.T) {
	whole := read(t, "surface.grib")
	second := bytes.Index(whole[4:], []byte("GRIB")) + 4
	for name, damage := range map[string]func(b []byte) []byte{
		"cut off":            func(b []byte) []byte { return b[:len(b)-10] },
		"wrong length":       func(b []byte) []byte { b[second+15] += 3; return b },
		"a section too long": func(b []byte) []byte { b[second+16+2] = 0xff; return b },
		"sections in another order": func(b []byte) []byte {
			b[second+16+4] = 7
			return b
		},
	} {
		f, err := grib.OpenFile(t.Context(), source.New(name, &readertest.Memory{Data: damage(bytes.Clone(whole))}))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var where *readers.Error
		if len(f.Fields) != 3 || len(f.Problems) != 1 || !errors.As(f.Problems[0].Err, &where) || !errors.Is(where, readers.ErrCorrupt) {
			t.Errorf("%s: %d fields, problems %v", name, len(f.Fields), f.Problems)
		}
	}
}

// FuzzOpen takes arbitrary bytes for a file.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob(filepath.Join(samples, "*.grib"))
	if err != nil || len(names) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range names {
		f.Add(read(f, filepath.Base(name)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		readertest.Describe(t.Context(), grib.Format{}, source.New("fuzz", &readertest.Memory{Data: b}))
		if file, err := grib.OpenFile(t.Context(), source.New("fuzz", &readertest.Memory{Data: b})); err == nil {
			for _, field := range file.Fields {
				field.Facts()
			}
		}
	})
}

// hostile maps the kinds of damage to functions that damage a file of messages.
var hostile = map[string]func(b []byte) []byte{
	"truncated in a header":    func(b []byte) []byte { return b[:20] },
	"truncated in values":      func(b []byte) []byte { return b[:len(b)*3/4] },
	"a message within another": func(b []byte) []byte { return append(append(bytes.Clone(b[:60]), b...), b[60:]...) },
	"a length of everything": func(b []byte) []byte {
		if b[7] == 2 {
			binary.BigEndian.PutUint64(b[8:], 1<<63-1)
		} else {
			b[4], b[5], b[6] = 0xff, 0xff, 0xff // ECMWF's length in units of 120 bytes
		}
		return b
	},
	"a length of nothing": func(b []byte) []byte {
		if b[7] == 2 {
			binary.BigEndian.PutUint64(b[8:], 0)
		} else {
			b[4], b[5], b[6] = 0, 0, 0
		}
		return b
	},
	"a section without a length": func(b []byte) []byte {
		at := 8
		if b[7] == 2 {
			at = 16
		}
		clear(b[at : at+4])
		return b
	},
	"sections in another order": inSections(func(number byte, s []byte) {
		if number == 3 || number == 5 {
			s[4] = 8 - number
		}
	}),
	"a section twice": inSections(func(number byte, s []byte) {
		if number == 4 {
			s[4] = 3
		}
	}),
	"200 bits a value": inSections(func(number byte, s []byte) {
		if number == 5 {
			s[19] = 200
		}
	}),
	"values of 2^32 points": inSections(func(number byte, s []byte) {
		if number == 5 {
			binary.BigEndian.PutUint32(s[5:], 1<<32-1)
		}
	}),
	"a constant of 2^32 points": inSections(func(number byte, s []byte) {
		switch number {
		case 3:
			binary.BigEndian.PutUint32(s[6:], 1<<32-1<<16)
			binary.BigEndian.PutUint32(s[30:], 1<<16)
			binary.BigEndian.PutUint32(s[34:], 1<<16-1)
		case 5:
			binary.BigEndian.PutUint32(s[5:], 1<<32-1<<16)
			s[19] = 0
		}
	}),
	"a bitmap of nothing": inSections(func(number byte, s []byte) {
		if number == 6 {
			s[5] = 0
		}
	}),
	"a bitmap of an earlier field": inSections(func(number byte, s []byte) {
		if number == 6 {
			s[5] = 254
		}
	}),
	"many groups": inSections(func(number byte, s []byte) {
		if number == 5 && len(s) >= 47 {
			binary.BigEndian.PutUint32(s[31:], 1<<32-1)
		}
	}),
}

// inSections damages the sections of all messages of edition 2.
func inSections(change func(number byte, section []byte)) func([]byte) []byte {
	return func(b []byte) []byte {
		for at := bytes.Index(b, []byte("GRIB")); at >= 0 && at+16 < len(b) && b[at+7] == 2; {
			end := at + int(binary.BigEndian.Uint64(b[at+8:]))
			for s := at + 16; s+5 < end; {
				n := int(binary.BigEndian.Uint32(b[s:]))
				change(b[s+4], b[s:s+n])
				s += n
			}
			next := bytes.Index(b[end:], []byte("GRIB"))
			if next < 0 {
				break
			}
			at = end + next
		}
		return b
	}
}

// TestHostile damages each sample in each way. Opening it and reading all values must take less than a second and 256 MiB, and errors must
// say that the file is damaged or not supported.
func TestHostile(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(samples, "*.grib"))
	if err != nil || len(names) == 0 {
		t.Fatal("no samples", err)
	}
	for kind, damage := range hostile {
		for _, name := range names {
			b := damage(read(t, filepath.Base(name)))
			var took time.Duration
			size := allocated(func() {
				began := time.Now()
				readAll(t, kind+" "+filepath.Base(name), b)
				took = time.Since(began)
			})
			if took > time.Minute || size > 256<<20 {
				t.Errorf("%s %s: %v and %d bytes", kind, filepath.Base(name), took, size)
			}
		}
	}
}

// readAll opens a file and reads the values of all variables of up to 64 MiB.
func readAll(t *testing.T, name string, b []byte) {
	t.Helper()
	ofKind := func(err error) {
		if err != nil && !errors.Is(err, readers.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) && !strings.Contains(err.Error(), "limit") {
			t.Errorf("%s: error %v is neither readers.ErrCorrupt nor errors.ErrUnsupported", name, err)
		}
	}
	data, err := grib.Format{}.Open(t.Context(), memory(name, b))
	ofKind(err)
	if err != nil {
		return
	}
	for _, p := range data.Problems {
		ofKind(p.Err)
	}
	data.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			_, err := v.ReadAll(t.Context(), 64<<20)
			ofKind(err)
		}
		return true
	})
}

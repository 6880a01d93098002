package grib_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/readers"
	"varve/readers/grib"
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

// TestManyPoints checks that a message of a few bytes that claims 4 billion points is opened at once, without memory for the points.
func TestManyPoints(t *testing.T) {
	b := bytes.Clone(read(t, "columns.grib"))
	at := bytes.Index(b, []byte{0, 0, 0, 72, 3}) // section 3
	binary.BigEndian.PutUint32(b[at+6:], 1<<32-1<<16)
	binary.BigEndian.PutUint32(b[at+30:], 1<<16)
	binary.BigEndian.PutUint32(b[at+34:], 1<<16-1)
	began := time.Now()
	data, err := grib.Format{}.Open(t.Context(), source.New("many.grib", &readertest.Memory{Data: b}))
	if err == nil {
		_, err = data.Variable("/t").ReadAll(t.Context(), 1<<40)
	}
	if err == nil || time.Since(began) > time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
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

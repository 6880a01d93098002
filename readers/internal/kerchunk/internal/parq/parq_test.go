package parq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"varve/readers"
	"varve/readers/readertest"
	"varve/readers/source"
)

func samples(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, pattern := range []string{"../../../../../fixtures/kerchunk/*/*/refs.0.parq", "testdata/*.parq"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = data
		}
	}
	if len(out) < 5 {
		t.Fatalf("%d samples", len(out))
	}
	return out
}

func read(data []byte) (rows []string, err error) {
	src := source.New("refs.0.parq", &readertest.Memory{Data: data})
	for row, err := range Rows(context.Background(), src) {
		if err != nil {
			return rows, err
		}
		path := "null"
		if row.HasPath {
			path = fmt.Sprintf("%q", row.Path)
		}
		rows = append(rows, fmt.Sprintf("%s %d %d %x", path, row.Offset, row.Size, row.Raw))
		if len(rows) > 1<<16 {
			return rows, errors.New("too many rows for a test")
		}
	}
	return rows, nil
}

// TestWriters reads the same rows from files of several libraries and settings.
func TestWriters(t *testing.T) {
	var want []string
	for i := range 40 {
		switch {
		case i%7 == 3:
			want = append(want, fmt.Sprintf("null 0 0 %x", bytes.Repeat([]byte{byte(i)}, i)))
		case i%7 == 5:
			want = append(want, "null 0 0 ")
		default:
			want = append(want, fmt.Sprintf("%q %d %d ", fmt.Sprintf("s3://bucket/file-%d.nc", i/9), i*1_000_000_007, i+1))
		}
	}
	names, err := filepath.Glob("testdata/*.parq")
	if err != nil || len(names) < 8 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for name, data := range samples(t) {
		if filepath.Dir(name) != "testdata" {
			continue
		}
		got, err := read(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestCutOff truncates and changes files.
func TestCutOff(t *testing.T) {
	for name, data := range samples(t) {
		for n := range data {
			if n%5 != 0 && len(data)-n > 64 {
				continue
			}
			if _, err := read(data[:n]); !errors.Is(err, readers.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("%s: the first %d bytes: %v", name, n, err)
			}
			changed := bytes.Clone(data)
			changed[n] ^= 0xff
			_, _ = read(changed)
		}
	}
}

func FuzzRows(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = read(data) })
}

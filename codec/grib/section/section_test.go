package section_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"varve/codec"
	"varve/codec/grib/section"
)

func seeds(f *testing.F) {
	names, err := filepath.Glob("../../../fixtures/grib/*.grib")
	if err != nil || len(names) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// FuzzWalk reads arbitrary bytes as a message. All sections must be within it, and errors must be codec.ErrCorrupt or
// errors.ErrUnsupported.
func FuzzWalk(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		view := section.ViewOf(b)
		h, err := section.ReadHeader(view, 0, int64(len(b)))
		edition := h.Edition
		if err != nil {
			check(t, err)
			edition = 2
		}
		list, err := section.Walk(view, 0, int64(len(b)), edition)
		check(t, err)
		for _, s := range list {
			if s.Offset < 0 || s.Length < 0 || s.Offset+s.Length > int64(len(b)) {
				t.Fatalf("section %+v of a message of %d bytes", s, len(b))
			}
		}
		fields, err := section.Fields(view, list, edition, true)
		check(t, err)
		for i := range fields {
			if from, to := fields[i].Span(); edition == 2 && (from < 0 || to > int64(len(b))) {
				t.Fatalf("a field from byte %d to %d of a message of %d bytes", from, to, len(b))
			}
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v is neither codec.ErrCorrupt nor errors.ErrUnsupported", err)
	}
}

package section_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
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

// TestWorkedExample checks the bytes of the example in the comment on the package.
func TestWorkedExample(t *testing.T) {
	message := []byte("GRIB\x00\x00\x0a\x02\x00\x00\x00\x00\x00\x00\x00\x1f" + "\x00\x00\x00\x06\x06\xff" + "\x00\x00\x00\x05\x07" + "7777")
	view := section.ViewOf(message)
	h, err := section.ReadHeader(view, 0, int64(len(message)))
	if want := (section.Header{Edition: 2, Discipline: 10, Length: int64(len(message))}); err != nil || h != want {
		t.Errorf("header %+v, %v; want %+v", h, err, want)
	}
	list, err := section.Walk(view, 0, h.Length, h.Edition)
	if want := []section.Section{{Number: 6, Offset: 16, Length: 6}, {Number: 7, Offset: 22, Length: 5}}; err != nil || !slices.Equal(list, want) {
		t.Errorf("sections %v, %v; want %v", list, err, want)
	}
	if ends, err := section.Ends(view, 0, h.Length); err != nil || !ends {
		t.Errorf("the end is not found: %v", err)
	}
}

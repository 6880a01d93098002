package codec

import (
	"errors"
	"testing"
)

// TestLimits checks that a shape of up to 512 MiB is always accepted, a larger one if a
// compressor could produce it from the stored bytes, and none above 4 GiB. Enough of a
// large chunk must be inside its array.
func TestLimits(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	double, text := Type{Kind: Float, Size: 8}, Type{Kind: String}
	for _, c := range []struct {
		name              string
		t                 Type
		elements, stored  int64
		large, unbalanced bool
	}{
		{"512 MiB in one byte", double, 64 * mib, 1, false, false},
		{"a little more", double, 64*mib + 1, 1, false, true},
		{"as dense as zstd gets", double, 128 * mib, gib >> 15, false, false},
		{"denser than any codec gets", double, 128 * mib, gib >> 17, false, true},
		{"the most", double, 512 * mib, 4 * gib, false, false},
		{"more than the most", double, 512*mib + 1, 4 * gib, true, false},
		{"many small", Type{Kind: Uint, Size: 1}, 4 * gib, gib, false, false},
		{"too many small", Type{Kind: Uint, Size: 1}, 4*gib + 1, gib, true, false},
		{"too many texts", text, 256 * mib, gib, true, false},
		{"texts", text, 16 * mib, 1, false, false},
		{"many texts", text, 32 * mib, 1, false, true},
		{"more than can be counted", double, 1 << 62, gib, true, true},
	} {
		f := Form{Type: c.t, Shape: []int64{c.elements}}
		for what, x := range map[string]struct {
			err  error
			want bool
			mark error
		}{"size": {f.CheckSize(), c.large, errors.ErrUnsupported}, "growth": {f.CheckGrowth(c.stored), c.unbalanced, ErrCorrupt}} {
			if (x.err != nil) != x.want || x.want && !errors.Is(x.err, x.mark) {
				t.Errorf("%s: %s: %v", c.name, what, x.err)
			}
		}
	}
	for stored, want := range map[int64]bool{-1: true, 0: false, 4 * gib: false, 4*gib + 1: true} {
		if err := CheckStored(stored); (err != nil) != want {
			t.Errorf("%d stored bytes: %v", stored, err)
		}
	}
	for _, c := range []struct {
		elements, array int64
		spare           bool
	}{{8 * mib, 8, false}, {8*mib + 16, 8, true}, {64 * mib, 32 * mib, false}, {64 * mib, 32*mib - 1, true}, {1 << 62, gib, true}} {
		f := Form{Type: double, Shape: []int64{c.elements}}
		if err := f.CheckSpare(c.array); errors.Is(err, errors.ErrUnsupported) != c.spare {
			t.Errorf("a chunk of %d elements in an array of %d bytes: %v", c.elements, c.array, err)
		}
	}
}

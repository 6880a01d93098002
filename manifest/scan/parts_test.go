package scan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/readers"
	"varve/readers/readertest"
)

// TestPanic checks that a panic while a source is read becomes the error of this source.
func TestPanic(t *testing.T) {
	s := &scanner{Options: &Options{}} // without an Opener, so that opening panics
	f := s.guarded(context.Background(), &job{name: "/a/file.nc"})
	var bug *PanicError
	if f.url != "/a/file.nc" || !errors.As(f.err, &bug) || len(bug.Stack) == 0 {
		t.Errorf("got %v", f.err)
	}
}

// TestRunBoxes checks that boxes have exactly the elements of a run, in order.
func TestRunBoxes(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		shape := make([]int64, r.IntN(4))
		n := int64(1)
		for k := range shape {
			shape[k] = 1 + r.Int64N(5)
			n *= shape[k]
		}
		a := r.Int64N(n + 1)
		b := a + r.Int64N(n-a+1)
		next, boxes := a, 0
		err := runBoxes(shape, a, b, func(origin, size []int64) error {
			boxes++
			for _, e := range readertest.Cells(shape, origin, size) {
				if e != next {
					return fmt.Errorf("got element %d, want %d", e, next)
				}
				next++
			}
			return nil
		})
		if err != nil || next != b || boxes > 2*len(shape)+1 {
			t.Fatalf("%v from %d to %d: %d boxes up to %d, %v", shape, a, b, boxes, next, err)
		}
	}
}

// TestStretches checks which bytes of external files belong to a variable.
func TestStretches(t *testing.T) {
	files := []readers.ExternalFile{{Name: "a", Offset: 5, Size: 10}, {Name: "b", Size: 0}, {Name: "c", Size: readers.Unlimited}}
	got, err := stretches(files, 25)
	want := []stretch{{"a", 5, 0, 10}, {"c", 0, 10, 15}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := stretches(files[:2], 25); err == nil {
		t.Error("files that are too short are accepted, want an error")
	}
}

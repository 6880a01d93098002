package netcdffile

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
)

// TestBoxes checks that boxes have the chunks of a range in row order.
func TestBoxes(t *testing.T) {
	for _, counts := range [][]int64{{}, {7}, {3, 4}, {1, 5, 1}, {2, 3, 4, 2}} {
		total := int64(1)
		for _, n := range counts {
			total *= n
		}
		for first := range total {
			for n := int64(1); n <= total-first; n++ {
				next := first
				for _, box := range boxes(counts, first, n) {
					at := slices.Clone(box.Origin)
					for more := !box.IsEmpty(); more; more = box.Next(at) {
						number := int64(0)
						for k, i := range at {
							number = number*counts[k] + i
						}
						if number != next {
							t.Fatalf("counts %v, %d from %d: chunk %d instead of %d", counts, n, first, number, next)
						}
						next++
					}
				}
				if next != first+n {
					t.Fatalf("counts %v, %d from %d: the boxes end at %d", counts, n, first, next)
				}
			}
		}
	}
}

// listed are chunks with given bytes.
type listed [][]byte

func (l listed) window(_ context.Context, first int64) (list []chunk, err error) {
	for _, b := range l[first:min(int(first)+window, len(l))] {
		list = append(list, chunk{size: int64(len(b))})
	}
	return list, nil
}

func (l listed) read(_ context.Context, number int64, _ *chunk, b []byte, off int64) error {
	copy(b, l[number][off:])
	return nil
}

// TestAreas reads parts of random areas, dense ones and ones with slots.
func TestAreas(t *testing.T) {
	r := rand.New(rand.NewPCG(soak.Seed(t), 1))
	for range 100 {
		var all listed
		var dense, slots []byte
		const slot = 20
		for range 1 + r.IntN(300) {
			b := make([]byte, r.IntN(slot+1)*r.IntN(2))
			for i := range b {
				b[i] = byte(1 + r.IntN(255))
			}
			all = append(all, b)
			dense = append(dense, b...)
			slots = append(append(slots, b...), make([]byte, slot-len(b))...)
		}
		a := &area{chunks: all, count: int64(len(all)), slot: slot}
		d := &area{chunks: all, count: int64(len(all))}
		err := d.measure(func(yield func(int64)) error {
			for _, b := range all {
				yield(int64(len(b)))
			}
			return nil
		})
		if err != nil || a.size() != int64(len(slots)) || d.size() != int64(len(dense)) {
			t.Fatalf("sizes %d and %d, want %d and %d: %v", a.size(), d.size(), len(slots), len(dense), err)
		}
		for range 100 {
			checkArea(t, r, a, slots)
			checkArea(t, r, d, dense)
		}
	}
}

func checkArea(t *testing.T, r *rand.Rand, a *area, want []byte) {
	t.Helper()
	from := r.IntN(len(want) + 1)
	b := make([]byte, r.IntN(len(want)-from+1))
	for i := range b {
		b[i] = 99
	}
	if err := a.read(t.Context(), b, int64(from)); err != nil || !bytes.Equal(b, want[from:][:len(b)]) {
		t.Fatalf("%d bytes at %d of %d chunks: %v, want %v: %v", len(b), from, a.count, b, want[from:][:len(b)], err)
	}
}

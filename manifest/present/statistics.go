package present

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"sync"

	"varve/codec"
	"varve/manifest/internal/cf"
	"varve/manifest/store"
)

// Statistics describe the elements of a selection. Count includes NaN and missing values, and Valid does not.
// Without valid elements, Min, Max and Mean are NaN. The Sum of times is always NaN.
type Statistics struct {
	Count int64  `json:"count"`
	Valid int64  `json:"valid"`
	Min   Number `json:"min"`
	Max   Number `json:"max"`
	Mean  Number `json:"mean"`
	Sum   Number `json:"sum"`
}

// Measure reads a selection and returns its statistics. Each call gives the same result, to the last bit. Memory
// does not grow with the selection.
func Measure(ctx context.Context, s *Selection, d *Decoder) (Statistics, error) {
	c, err := d.counter()
	if err != nil {
		return Statistics{}, err
	}
	total := newTally()
	if r, ok := s.Region(); ok {
		in := inOrder{total: newTally(), waiting: map[int64]tally{}}
		err = s.Array.Visit(ctx, r, func(p *store.Piece) error {
			t := c.tally(p.Fixed)
			if p.IsUniform {
				n, err := p.Elements()
				if err != nil {
					return err
				}
				t.repeat(n)
			}
			in.add(p.Number, t)
			return nil
		})
		total = in.total
	} else {
		total, err = measureParts(ctx, s, c, vastElements)
	}
	if err != nil {
		return Statistics{}, err
	}
	return d.statistics(&total)
}

// vastElements is the number of elements from which a selection is divided until in each part nothing is stored, or the part
// is smaller. A shape costs nothing to declare, so the work must follow from the stored chunks.
const vastElements = 1 << 24

// measureParts tallies a selection with steps or lists.
func measureParts(ctx context.Context, s *Selection, c *counter, vast int64) (tally, error) {
	total, all := newTally(), s.Count()
	one := codec.NewElems(s.Array.Schema().Form(nil))
	one.SetFill(s.Array.Schema().Form(nil))
	err := s.divide(ctx, vast, func(part *Selection, isStored bool) error {
		done := total.count
		if s.Progress != nil {
			part.Progress = func(n, _ int64) { s.Progress(done+n, all) }
		}
		if !isStored {
			t := c.tally(one.Fixed)
			t.repeat(part.Count())
			total.add(&t)
			return ctx.Err()
		}
		return part.Each(ctx, func(elems codec.Elems) error {
			t := c.tally(elems.Fixed)
			total.add(&t)
			return nil
		})
	})
	return total, err
}

// inOrder adds tallies in the order of their numbers, because sums of floats depend on the order.
type inOrder struct {
	mu      sync.Mutex
	next    int64
	total   tally
	waiting map[int64]tally
}

func (o *inOrder) add(number int64, t tally) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting[number] = t
	for {
		t, ok := o.waiting[o.next]
		if !ok {
			return
		}
		o.total.add(&t)
		delete(o.waiting, o.next)
		o.next++
	}
}

// counter returns a counter for the decoder's elements, which must be numbers.
func (d *Decoder) counter() (*counter, error) {
	t := d.packing.Type
	if t.Kind == codec.Bool {
		t = codec.Type{Kind: codec.Uint, Size: 1}
	} else if err := d.IsNumeric(); err != nil {
		return nil, err
	}
	return newCounter(t, d.packing.Masks), nil
}

// statistics converts a tally of stored numbers to statistics of decoded numbers.
func (d *Decoder) statistics(t *tally) (Statistics, error) {
	s := Statistics{Count: t.count, Valid: t.valid}
	if t.valid == 0 {
		none := Number{Float: math.NaN()}
		s.Min, s.Max, s.Mean = none, none, none
		if d.times == nil {
			s.Sum = d.scaled(&big.Int{}, 0, 0)
		} else {
			s.Sum = none
		}
		return s, nil
	}
	if d.isFloat() {
		s.Min, s.Max, s.Sum = d.scaled(nil, t.low, 1), d.scaled(nil, t.high, 1), d.scaled(nil, t.sum, t.valid)
	} else {
		moved := isMoved(d.packing.Type)
		one := func(n int64) *big.Int {
			if moved {
				return new(big.Int).SetUint64(uint64(n) ^ 1<<63)
			}
			return big.NewInt(n)
		}
		s.Min, s.Max, s.Sum = d.scaled(one(t.least), 0, 1), d.scaled(one(t.most), 0, 1), d.scaled(t.integerSum(moved), 0, t.valid)
	}
	if d.scale < 0 {
		s.Min, s.Max = s.Max, s.Min
	}
	s.Mean = Number{Float: s.Sum.Float / float64(t.valid)}
	if d.times == nil {
		return s, nil
	}
	return s, d.addTimes(&s)
}

// scaled applies scale and offset to the sum of n stored numbers.
func (d *Decoder) scaled(integer *big.Int, f float64, n int64) Number {
	if d.isFloat() {
		integer = nil
	}
	if integer != nil {
		f, _ = new(big.Float).SetInt(integer).Float64()
	}
	if d.scale != 1 || d.offset != 0 {
		return Number{Float: cf.Unpacked(f, d.scale, float64(d.offset*float64(n)))}
	}
	return Number{Float: f, Integer: integer}
}

// addTimes adds the times that the numbers represent. Times have no sum.
func (d *Decoder) addTimes(s *Statistics) (err error) {
	s.Sum = Number{Float: math.NaN()}
	for _, n := range []*Number{&s.Min, &s.Max, &s.Mean} {
		if n.Time, err = d.timeOf(*n); err != nil {
			return fmt.Errorf("%s: %w", d.array.Path(), err)
		}
	}
	return nil
}

package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"varve/codec"
)

// Range is a run of bytes of a source.
type Range = codec.Range

// ReadRanges sets out[i] to the bytes of ranges[i]. Ranges may be in any order, overlap and be empty. Near ranges are read at
// once, others in parallel; the Tuning sets the distance and the number. The bytes do not enter the cache. Results may share
// memory, so the caller must not change them.
func (s *Source) ReadRanges(ctx context.Context, ranges []Range, out [][]byte) error {
	if len(out) != len(ranges) {
		return fmt.Errorf("%s: %d results for %d ranges, the numbers must be equal", s.name, len(out), len(ranges))
	}
	for _, r := range ranges {
		if err := s.within(r.Offset, r.Length); err != nil {
			return err
		}
	}
	// All ranges are checked before the first read, so that an invalid one costs no request.
	spans := s.tuning.join(ranges)
	return inParallel(ctx, s.tuning.Parallel, len(spans), func(ctx context.Context, i int) error {
		sp := &spans[i]
		data := make([]byte, sp.Length)
		if _, err := s.ReadAt(ctx, data, sp.Offset); err != nil {
			return err
		}
		for _, m := range sp.members {
			from, n := ranges[m].Offset-sp.Offset, ranges[m].Length
			// The capacity ends with the range, so that an append by the caller cannot overwrite the next range.
			out[m] = data[from : from+n : from+n]
		}
		return nil
	})
}

// span is a read that serves several ranges.
type span struct {
	Range
	members []int // indices of the ranges
}

// join groups ranges that are near enough to be read at once. Overlapping ranges are always grouped, so that no byte is read
// twice.
func (t Tuning) join(ranges []Range) []span {
	order := make([]int, len(ranges))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(ranges[i].Offset, ranges[j].Offset) })
	var spans []span
	for _, i := range order {
		r := ranges[i]
		if len(spans) > 0 {
			last := &spans[len(spans)-1]
			end := max(last.End(), r.End())
			near := r.Offset-last.End() <= t.Gap && end-last.Offset <= t.Joined
			if near || r.Offset < last.End() {
				last.Length = end - last.Offset
				last.members = append(last.members, i)
				continue
			}
		}
		spans = append(spans, span{Range: r, members: []int{i}})
	}
	return spans
}

// inParallel calls do with 0 to n-1, at most `most` at a time. It returns the first error, which cancels the other calls.
func inParallel(ctx context.Context, most, n int, do func(context.Context, int) error) error {
	if n == 1 {
		return do(ctx, 0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
		next  = make(chan int)
	)
	for range min(max(most, 1), n) {
		wg.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					// Later errors are usually the cancellation that the first one causes.
					once.Do(func() { first = err })
					cancel()
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	if first == nil {
		return ctx.Err()
	}
	return first
}

// Section is a range of a source with offsets of its own, such as a stored chunk. It is a codec.Reader.
type Section struct {
	source *Source
	span   Range
}

// Section returns the section of n bytes from offset off on. It does not read them.
func (s *Source) Section(off, n int64) (*Section, error) {
	if err := s.within(off, n); err != nil {
		return nil, err
	}
	return &Section{s, Range{Offset: off, Length: n}}, nil
}

// Size returns the number of bytes.
func (c *Section) Size() int64 { return c.span.Length }

// ReadRanges sets out[i] to the bytes of ranges[i], as Source.ReadRanges. Offsets count from the beginning of the section.
func (c *Section) ReadRanges(ctx context.Context, ranges []Range, out [][]byte) error {
	moved := make([]Range, len(ranges))
	for i, r := range ranges {
		if r.Offset < 0 || r.Length < 0 || r.Length > c.span.Length || r.Offset > c.span.Length-r.Length {
			return &RangeError{Source: c.source.name, Offset: r.Offset, Length: r.Length, Size: c.span.Length}
		}
		moved[i] = Range{Offset: c.span.Offset + r.Offset, Length: r.Length}
	}
	return c.source.ReadRanges(ctx, moved, out)
}

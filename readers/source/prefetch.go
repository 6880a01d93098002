package source

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// Scatterer is a Ranges that can read several ranges at the cost of one.
type Scatterer interface {
	// ReadMany fills into[i] from ranges[i].Offset on. The ranges are in order and do not touch. If the error is
	// errors.ErrUnsupported, the caller must read them one by one.
	ReadMany(ctx context.Context, ranges []Range, into [][]byte) error
}

const (
	// maxPrefetch is the maximum number of bytes per call of Prefetch, which is only a hint.
	maxPrefetch = 8 << 20
	// maxScatter is the maximum number of ranges per request. Servers reject more as an attack.
	maxScatter = 64
)

// Prefetch reads ranges that will be read with View to the cache, all at once, instead of one request for each. It ignores
// ranges outside the source and ranges beyond its limits; reading them returns their errors. It does nothing for local files.
func (s *Source) Prefetch(ctx context.Context, ranges []Range) error {
	if !s.far || len(ranges) < 2 {
		return nil
	}
	loads := s.beginMany(s.blocksOf(ranges))
	err := s.runAll(ctx, loads)
	for _, l := range loads { // end the loads that were not run because of an error, so that no goroutine waits for them
		s.mu.Lock()
		isOver := l.isOver
		s.mu.Unlock()
		if !isOver {
			_ = s.finish(l, nil, cmp.Or(err, context.Canceled))
		}
	}
	return err
}

// runAll reads all loads.
func (s *Source) runAll(ctx context.Context, loads []*load) error {
	scatter, ok := s.ranges.(Scatterer)
	if !ok || len(loads) < 2 {
		return s.runEach(ctx, loads)
	}
	var batches [][]*load
	for batch := range slices.Chunk(loads, maxScatter) {
		batches = append(batches, batch)
	}
	return inParallel(ctx, s.tuning.Parallel, len(batches), func(ctx context.Context, i int) error {
		return s.runMany(ctx, scatter, batches[i])
	})
}

// blocksOf returns the indices of the blocks that contain the ranges, in ascending order.
func (s *Source) blocksOf(ranges []Range) []int64 {
	var blocks []int64
	for _, r := range ranges {
		if r.Offset < 0 || r.Length <= 0 || r.Offset >= s.size {
			continue
		}
		last := (r.Offset + min(r.Length, s.size-r.Offset) - 1) >> s.bits
		// More than half of the cache could push out blocks before they are used.
		for i := r.Offset >> s.bits; i <= last && int64(len(blocks)) < min(maxPrefetch, s.cache.limit/2)>>s.bits; i++ {
			blocks = append(blocks, i)
		}
	}
	slices.Sort(blocks)
	return slices.Compact(blocks)
}

// beginMany registers reads of the blocks that are not in memory. Near blocks are read together with the blocks between them.
func (s *Source) beginMany(blocks []int64) []*load {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	blocks = slices.DeleteFunc(blocks, func(i int64) bool { return s.blocks[i] != nil })
	var loads []*load
	for _, i := range blocks {
		if n := len(loads); n == 0 || i-loads[n-1].end() >= s.tuning.Gap>>s.bits {
			loads = append(loads, &load{})
			s.take(loads[n], i)
			continue
		}
		l := loads[len(loads)-1]
		for next := l.end(); next <= i; next++ {
			s.take(l, next)
		}
	}
	// One load looks like a normal forward read, so the blocks after it are probably needed too.
	if len(loads) == 1 {
		s.readOn(loads)
	}
	return loads
}

// readOn extends the only load if reads move forward. The caller holds the lock.
func (s *Source) readOn(loads []*load) {
	l := loads[0]
	first, last := l.blocks[0].index, (s.size-1)>>s.bits
	s.pace(first)
	s.next = s.stretch(l.end(), min(first+s.run, last+1))
	for i := l.end(); i < s.next; i++ {
		s.take(l, i)
	}
}

// runEach makes one read per load.
func (s *Source) runEach(ctx context.Context, loads []*load) error {
	return inParallel(ctx, s.tuning.Parallel, len(loads), func(ctx context.Context, i int) error {
		data, err := s.fill(ctx, loads[i])
		return s.finish(loads[i], data, err)
	})
}

// runMany makes one read for all loads if the scatterer can, else one read per load.
func (s *Source) runMany(ctx context.Context, scatter Scatterer, loads []*load) error {
	ranges, data := make([]Range, len(loads)), make([][]byte, len(loads))
	for i, l := range loads {
		ranges[i] = s.rangeOf(l)
		data[i] = make([]byte, ranges[i].Length)
	}
	err := scatter.ReadMany(ctx, ranges, data)
	if errors.Is(err, errors.ErrUnsupported) {
		return s.runEach(ctx, loads)
	}
	// Attribute the error to the first range; which of them failed is not known.
	if err != nil {
		err = s.wrap(ranges[0].Offset, len(data[0]), err)
	}
	for i, l := range loads {
		_ = s.finish(l, data[i], err)
	}
	return err
}

// ReadScattered sets out[i] to the bytes of ranges[i], which are small and far from each other. It is ReadRanges with fewer requests, if the
// server can answer several ranges at once. Ranges must be in order and must not touch for that.
func (s *Source) ReadScattered(ctx context.Context, ranges []Range, out [][]byte) error {
	scatter, ok := s.ranges.(Scatterer)
	if !ok || !s.far || len(ranges) < 2 || len(out) != len(ranges) {
		return s.ReadRanges(ctx, ranges, out)
	}
	for i, r := range ranges {
		if err := s.within(r.Offset, r.Length); err != nil {
			return err
		}
		if i > 0 && r.Offset <= ranges[i-1].End() || r.Length == 0 {
			return s.ReadRanges(ctx, ranges, out)
		}
		out[i] = make([]byte, r.Length)
	}
	batches := (len(ranges) + maxScatter - 1) / maxScatter
	err := inParallel(ctx, s.tuning.Parallel, batches, func(ctx context.Context, i int) error {
		from, to := i*maxScatter, min((i+1)*maxScatter, len(ranges))
		if to-from < 2 {
			return s.ReadRanges(ctx, ranges[from:to], out[from:to])
		}
		err := scatter.ReadMany(ctx, ranges[from:to], out[from:to])
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			err = s.wrap(ranges[from].Offset, len(out[from]), err)
		}
		return err
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return s.ReadRanges(ctx, ranges, out)
	}
	return err
}

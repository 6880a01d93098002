package source

import (
	"context"
	"errors"
	"sync"
)

// block is a piece of a source in memory, or on its way there. Its fields are guarded by
// the owner's lock, but for the links, which the cache guards.
type block struct {
	owner *Source
	index int64
	data  []byte // nil as long as it is being read
	load  *load  // what reads it
	used  bool   // since the cache last thought of dropping it
	prev  *block // in the cache's list, oldest first
	after *block // "
}

// load is one read, which anybody who needs a block of it waits for.
type load struct {
	blocks []*block      // in order; what is between them is here already
	done   chan struct{} // closed at the end; made by the first who waits
	over   bool
	err    error // at the end
}

// cache bounds the memory of the blocks of all sources that share it. What has not been
// used for the longest time is dropped, roughly: a block that was used since it came to
// the front of the line goes to its end once more.
//
// Its lock is taken before the lock of a source, never after.
type cache struct {
	limit int64

	mu   sync.Mutex
	held int64
	line block // the list's anchor
}

func newCache(limit int64) *cache {
	c := &cache{limit: limit}
	c.line.prev, c.line.after = &c.line, &c.line
	return c
}

// add takes in blocks that were read, and makes room for them.
func (c *cache) add(blocks []*block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	owner := blocks[0].owner
	owner.mu.Lock()
	gone := owner.closed
	owner.mu.Unlock()
	if gone {
		return
	}
	for _, b := range blocks {
		c.append(b)
		c.held += int64(len(b.data))
	}
	for c.held > c.limit && c.line.after != c.line.prev {
		c.dropOldest()
	}
}

func (c *cache) dropOldest() {
	b := c.line.after
	c.unlink(b)
	if b.owner.forget(b) {
		c.held -= int64(len(b.data))
	} else {
		c.append(b)
	}
}

// remove drops all blocks of a source, and takes no more of it.
func (c *cache) remove(s *Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.mu.Lock()
	blocks := s.blocks
	s.blocks, s.closed = nil, true
	s.mu.Unlock()
	for _, b := range blocks {
		if b.prev != nil {
			c.unlink(b)
			c.held -= int64(len(b.data))
		}
	}
}

func (c *cache) append(b *block) {
	last := c.line.prev
	b.prev, b.after = last, &c.line
	last.after, c.line.prev = b, b
}

func (c *cache) unlink(b *block) {
	b.prev.after, b.after.prev = b.after, b.prev
	b.prev, b.after = nil, nil
}

// forget drops a block, unless it was used since it was last asked.
func (s *Source) forget(b *block) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.used {
		b.used = false
		return false
	}
	delete(s.blocks, b.index)
	return true
}

// block returns a block. If it is not in memory it is read, with the blocks after it up
// to last; somebody who already reads it is waited for.
func (s *Source) block(ctx context.Context, i, last int64) ([]byte, error) {
	for {
		s.mu.Lock()
		b, known := s.blocks[i]
		if known && b.data != nil {
			b.used = true
			s.mu.Unlock()
			return b.data, nil
		}
		if s.closed {
			s.mu.Unlock()
			return nil, s.closedError()
		}
		if known {
			if b.load.done == nil {
				b.load.done = make(chan struct{})
			}
			s.mu.Unlock()
			data, err := s.await(ctx, b)
			if data != nil || err != nil {
				return data, err
			}
			continue
		}
		l := s.begin(i, last)
		b = s.blocks[i]
		s.mu.Unlock()
		data, err := s.fill(ctx, l)
		if err = s.finish(l, data, err); err != nil {
			return nil, err
		}
		return b.data, nil
	}
}

// await waits for somebody else's read. It returns nothing if that was given up because of
// a context which is not this one.
func (s *Source) await(ctx context.Context, b *block) ([]byte, error) {
	select {
	case <-ctx.Done():
		return nil, s.wrap(b.index<<s.bits, 1<<s.bits, ctx.Err())
	case <-b.load.done:
	}
	err := b.load.err
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return b.data, err
}

// begin says that blocks are being read: block i, which is missing, and as many of its
// neighbours as are worth it. The lock is held.
func (s *Source) begin(i, last int64) *load {
	from, to := s.plan(i, last)
	l := &load{}
	for ; from < to; from++ {
		s.take(l, from)
	}
	return l
}

// take says that a load reads a block, unless it is here.
func (s *Source) take(l *load, i int64) {
	if s.blocks[i] == nil {
		b := &block{owner: s, index: i, load: l}
		s.blocks[i] = b
		l.blocks = append(l.blocks, b)
	}
}

// plan decides which blocks to read. Reads that walk forward get twice as many each time;
// what is near the end is read to the end.
func (s *Source) plan(i, last int64) (from, to int64) {
	end := (s.size + 1<<s.bits - 1) >> s.bits
	s.pace(i)
	from, to = i, min(max(last+1, i+s.run), end)
	if tail := max(s.size-s.tuning.Tail, 0) >> s.bits; i >= tail && s.tuning.Tail > 0 {
		from, to = tail, end
	}
	for from < i && s.blocks[from] != nil {
		from++
	}
	s.next = s.stretch(i+1, to)
	return from, s.next
}

// stretch returns up to where to read from block i on. A few blocks that are here are read
// again, rather than to make two reads.
func (s *Source) stretch(i, to int64) int64 {
	end := i
	for ; i < to && i-end <= s.tuning.Least>>s.bits; i++ {
		if s.blocks[i] == nil {
			end = i + 1
		}
	}
	return end
}

// nearBytes is how far from the last read one must be not to count as walking on.
const nearBytes = 1 << 20

// pace decides how many blocks to read from block i on, and puts that in s.run.
func (s *Source) pace(i int64) {
	most := s.tuning.Ahead >> s.bits
	near := min(most, max(s.run, nearBytes>>s.bits))
	if i >= s.next-near && i <= s.next+near {
		s.run = min(2*s.run, most)
	} else {
		s.run = 0
	}
	s.run = max(s.run, s.tuning.Least>>s.bits, 1)
}

// fill reads the bytes of a load. Each block gets memory of its own, so that dropping it
// frees that.
func (s *Source) fill(ctx context.Context, l *load) ([]byte, error) {
	r := s.rangeOf(l)
	data := make([]byte, r.Length)
	return data, s.read(ctx, data, r.Offset)
}

// rangeOf is what a load reads.
func (s *Source) rangeOf(l *load) Range {
	start := l.blocks[0].index << s.bits
	return Range{Offset: start, Length: min(l.end()<<s.bits, s.size) - start}
}

// end is the block after those of a load.
func (l *load) end() int64 { return l.blocks[len(l.blocks)-1].index + 1 }

// finish hands the bytes of a load to its blocks, or its error to who waits for it.
func (s *Source) finish(l *load, data []byte, err error) error {
	s.mu.Lock()
	for _, b := range l.blocks {
		switch {
		case err != nil && s.blocks != nil:
			delete(s.blocks, b.index)
		case err == nil && len(l.blocks) == 1:
			b.data = data
		case err == nil:
			from := data[(b.index-l.blocks[0].index)<<s.bits:]
			n := min(len(from), 1<<s.bits)
			b.data = append(make([]byte, 0, n), from[:n]...)
		}
	}
	l.over, l.err = true, err
	if l.done != nil {
		close(l.done)
	}
	s.mu.Unlock()
	if err == nil {
		s.cache.add(l.blocks)
	}
	return err
}

// prefetched takes in bytes from the beginning of the source.
func (s *Source) prefetched(head []byte) {
	whole := int64(len(head)) >> s.bits
	if int64(len(head)) == s.size && s.size > 0 {
		whole = (s.size-1)>>s.bits + 1
	}
	if whole == 0 {
		return
	}
	l := &load{}
	s.mu.Lock()
	for i := range whole {
		b := &block{owner: s, index: i, load: l}
		s.blocks[i] = b
		l.blocks = append(l.blocks, b)
	}
	s.next, s.run = whole, whole
	s.mu.Unlock()
	_ = s.finish(l, head[:min(whole<<s.bits, int64(len(head)))], nil)
}

// held copies bytes that are all in memory, and reports whether they were.
func (s *Source) held(p []byte, off int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := (off + int64(len(p)) - 1) >> s.bits
	for i := off >> s.bits; i <= last; i++ {
		if b := s.blocks[i]; b == nil || b.data == nil {
			return false
		}
	}
	for i, at := off>>s.bits, 0; i <= last; i++ {
		b := s.blocks[i]
		b.used = true
		at += copy(p[at:], b.data[max(off-i<<s.bits, 0):])
	}
	return true
}

package source

import (
	"context"
	"errors"
	"sync"
)

// block is a block of a source that is in memory or being read. The owner's lock guards its fields, except the
// links prev and after, which the cache's lock guards.
type block struct {
	owner  *Source
	index  int64
	data   []byte // nil while it is being read
	load   *load  // the read that fills it
	isUsed bool   // used since the cache last tried to drop it
	prev   *block // neighbours in the cache's list, oldest first
	after  *block
}

// load is one read of several blocks. Goroutines that need one of them wait for it.
type load struct {
	blocks []*block      // in order; blocks between them are already in memory
	done   chan struct{} // closed at the end of the read; nil until a goroutine waits
	isOver bool
	err    error // the result, when isOver
}

// cache limits the memory of the blocks of all sources that share it. It drops the least recently used blocks, by the
// "clock" approximation: a block at the front of the list that was used since it was appended is appended again.
//
// Lock order: the lock of the cache before the lock of a source.
//
// The limit grows with the number of open sources on servers, so that sources that are scanned at the same time do not drop the
// blocks of each other.
type cache struct {
	limit int64 // bytes
	grows bool

	mu   sync.Mutex
	held int64 // bytes in memory
	open int64 // sources on servers
	line block // anchor of the circular list
}

// A cache that grows may have cachePerSource bytes for each open source on a server, and maxGrownCache for all.
const (
	cachePerSource = 4 << 20
	maxGrownCache  = 256 << 20
)

func newCache(limit int64) *cache {
	c := &cache{limit: limit}
	c.line.prev, c.line.after = &c.line, &c.line
	return c
}

// add adds blocks that were read, all of one source, and drops old blocks to stay within the limit.
func (c *cache) add(blocks []*block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	owner := blocks[0].owner
	owner.mu.Lock()
	isClosed := owner.closed
	owner.mu.Unlock()
	if isClosed { // remove has already dropped all its blocks
		return
	}
	for _, b := range blocks {
		c.append(b)
		c.held += int64(len(b.data))
	}
	// The last block of the list stays even above the limit, because a caller is about to use it.
	limit := c.limit
	if c.grows {
		limit = max(limit, min(c.open*cachePerSource, maxGrownCache))
	}
	for c.held > limit && c.line.after != c.line.prev {
		c.dropOldest()
	}
}

// dropOldest drops the block at the front of the list, or appends it again if it was used.
func (c *cache) dropOldest() {
	b := c.line.after
	c.unlink(b)
	if b.owner.forget(b) {
		c.held -= int64(len(b.data))
	} else {
		c.append(b)
	}
}

// addSource counts an open source.
func (c *cache) addSource(s *Source) {
	if s.far {
		c.mu.Lock()
		c.open++
		c.mu.Unlock()
	}
}

// remove drops all blocks of a source and marks the source as closed, so that add ignores it.
func (c *cache) remove(s *Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.mu.Lock()
	blocks := s.blocks
	if s.far && !s.closed {
		c.open--
	}
	s.blocks, s.closed = nil, true
	s.mu.Unlock()
	for _, b := range blocks {
		// A block that is still being read is not in the list yet; add will find the source closed.
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

// forget drops a block, unless it was used since the last call. It reports whether it dropped it.
func (s *Source) forget(b *block) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.isUsed {
		b.isUsed = false
		return false
	}
	delete(s.blocks, b.index)
	return true
}

// block returns the bytes of block i. If the block is not in memory, it reads it together with the blocks after it up
// to last. If another goroutine is reading it, it waits for that read.
func (s *Source) block(ctx context.Context, i, last int64) ([]byte, error) {
	for {
		s.mu.Lock()
		b, known := s.blocks[i]
		if known && b.data != nil {
			b.isUsed = true
			s.mu.Unlock()
			return b.data, nil
		}
		if s.closed {
			s.mu.Unlock()
			return nil, s.closedError()
		}
		if known {
			// The channel is made only if a goroutine waits, because most reads have no waiters.
			if b.load.done == nil {
				b.load.done = make(chan struct{})
			}
			s.mu.Unlock()
			data, err := s.await(ctx, b)
			if data != nil || err != nil {
				return data, err
			}
			continue // the other goroutine gave up, so this one reads
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

// await waits for the read of block b by another goroutine. It returns nil, nil if that read ended because the other
// goroutine's context ended.
func (s *Source) await(ctx context.Context, b *block) ([]byte, error) {
	select {
	case <-ctx.Done():
		return nil, s.wrap(b.index<<s.bits, 1<<s.bits, ctx.Err())
	case <-b.load.done:
	}
	err := b.load.err
	// The caller's own context has not ended, so the error of the other context must not reach it.
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return b.data, err
}

// begin registers a read of block i, which is not in memory, and of its neighbours that plan selects. The caller holds
// the lock.
func (s *Source) begin(i, last int64) *load {
	from, to := s.plan(i, last)
	l := &load{}
	for ; from < to; from++ {
		s.take(l, from)
	}
	return l
}

// take adds block i to a load, unless it is in memory.
func (s *Source) take(l *load, i int64) {
	if s.blocks[i] == nil {
		b := &block{owner: s, index: i, load: l}
		s.blocks[i] = b
		l.blocks = append(l.blocks, b)
	}
}

// plan returns the range of blocks to read for block i. Reads that move forward get twice as many blocks each time. Near
// the end of the source, the rest is read at once: readers usually need all of a footer.
func (s *Source) plan(i, last int64) (from, to int64) {
	end := (s.size + 1<<s.bits - 1) >> s.bits
	s.pace(i)
	from, to = i, min(max(last+1, i+s.run), end)
	if tail := max(s.size-s.tuning.Tail, 0) >> s.bits; i >= tail && s.tuning.Tail > 0 {
		from, to = tail, end
	}
	// Blocks of the tail before i may be in memory already.
	for from < i && s.blocks[from] != nil {
		from++
	}
	s.next = s.stretch(i+1, to)
	return from, s.next
}

// stretch returns the end of the read from block i on, at most to. It reads a few blocks that are in memory again if
// that saves a second read.
func (s *Source) stretch(i, to int64) int64 {
	end := i
	for ; i < to && i-end <= s.tuning.Least>>s.bits; i++ {
		if s.blocks[i] == nil {
			end = i + 1
		}
	}
	return end
}

// nearBytes is the maximum distance from the end of the last read at which a read counts as moving forward.
const nearBytes = 1 << 20

// pace sets s.run, the number of blocks to read from block i on.
func (s *Source) pace(i int64) {
	most := s.tuning.Ahead >> s.bits
	near := min(most, max(s.run, nearBytes>>s.bits))
	if i >= s.next-near && i <= s.next+near {
		s.run = min(2*s.run, most)
	} else {
		// A single read elsewhere: reading ahead would mostly fetch unneeded bytes.
		s.run = 0
	}
	s.run = max(s.run, s.tuning.Least>>s.bits, 1)
}

// fill reads the bytes of a load.
func (s *Source) fill(ctx context.Context, l *load) ([]byte, error) {
	r := s.rangeOf(l)
	data := make([]byte, r.Length)
	return data, s.read(ctx, data, r.Offset)
}

// rangeOf returns the range of bytes that a load reads.
func (s *Source) rangeOf(l *load) Range {
	start := l.blocks[0].index << s.bits
	return Range{Offset: start, Length: min(l.end()<<s.bits, s.size) - start}
}

// end returns the index of the block after the last one of a load.
func (l *load) end() int64 { return l.blocks[len(l.blocks)-1].index + 1 }

// finish ends a load: it gives the bytes to the blocks, or drops the blocks if err is not nil, and wakes the goroutines
// that wait. It returns err.
func (s *Source) finish(l *load, data []byte, err error) error {
	s.mu.Lock()
	for _, b := range l.blocks {
		switch {
		// Without the blocks, the next reader starts a new read. blocks is nil after Close.
		case err != nil && s.blocks != nil:
			delete(s.blocks, b.index)
		case err == nil && len(l.blocks) == 1:
			b.data = data
		case err == nil:
			// A copy of its own for each block, so that dropping one block frees its memory.
			from := data[(b.index-l.blocks[0].index)<<s.bits:]
			n := min(len(from), 1<<s.bits)
			b.data = append(make([]byte, 0, n), from[:n]...)
		}
	}
	l.isOver, l.err = true, err
	if l.done != nil {
		close(l.done)
	}
	s.mu.Unlock()
	if err == nil {
		s.cache.add(l.blocks)
	}
	return err
}

// prefetched puts bytes from the beginning of the source in the cache.
func (s *Source) prefetched(head []byte) {
	whole := int64(len(head)) >> s.bits
	if int64(len(head)) == s.size && s.size > 0 { // the last block may be short
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

// held copies bytes to p if all of them are in memory, and reports whether they are.
func (s *Source) held(p []byte, off int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := (off + int64(len(p)) - 1) >> s.bits
	for i := off >> s.bits; i <= last; i++ {
		// A partial copy would not save the request for the rest.
		if b := s.blocks[i]; b == nil || b.data == nil {
			return false
		}
	}
	for i, at := off>>s.bits, 0; i <= last; i++ {
		b := s.blocks[i]
		b.isUsed = true
		at += copy(p[at:], b.data[max(off-i<<s.bits, 0):])
	}
	return true
}

package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"varve/codec"
	"varve/grid"
)

const (
	slotBytes = 4 << 20
	maxStage  = 256 * slotBytes // the number of a slot is one byte
	// decoders is the number of blocks that are decoded at a time, each of them on all cores. While the last
	// chunk of one block is decoded, the other block keeps the remaining cores busy.
	decoders = 2
)

// block is a part of the selection whose elements are contiguous in the output.
type block struct {
	region grid.Region
	offset int64 // of its first byte
	bytes  int64
}

// readStaged sends the elements block by block through shared memory.
func (s *Server) readStaged(ctx context.Context, l *link, sel *selection, form codec.Form) error {
	if l.memory != nil {
		unmap(l.stage)
		var err error
		if l.stage, err = l.memory.mapped(); err != nil {
			return s.fail(l, err)
		}
	}
	slots := len(l.stage) / slotBytes
	if slots == 0 {
		return s.fail(l, fmt.Errorf("%w: the client sent no shared memory", errRequest))
	}
	t := &transfer{l: l, free: make(chan byte, slots)}
	for i := range slots {
		t.free <- byte(i)
	}
	// The caller's context has ended with the watch. This one ends if the connection is closed.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	acknowledged := make(chan error, 1)
	go func() {
		err := t.takeAcknowledgements(int64(form.Bytes()))
		if err != nil {
			cancel()
		}
		acknowledged <- err
	}()
	err := t.send(ctx, sel, form)
	if err == nil {
		return <-acknowledged
	}
	// After a failure the client closes the connection, because acknowledgements may still be on their
	// way. Read them until then.
	_ = s.fail(l, err)
	<-acknowledged
	return err
}

// transfer sends the elements of one selection through shared memory.
type transfer struct {
	l    *link
	free chan byte // numbers of free slots

	mu   sync.Mutex     // held while a message is written
	sent map[byte]int64 // bytes in each slot that was sent and not acknowledged
}

// takeAcknowledgements frees the slots that the client acknowledges, until all bytes are acknowledged.
func (t *transfer) takeAcknowledgements(all int64) error {
	var one [1]byte
	for all > 0 {
		if _, err := t.l.Conn.Read(one[:]); err != nil {
			return err
		}
		t.mu.Lock()
		n, ok := t.sent[one[0]]
		delete(t.sent, one[0])
		t.mu.Unlock()
		if !ok {
			return fmt.Errorf("%w: the client acknowledged slot %d, which was not sent", errRequest, one[0])
		}
		all -= n
		t.free <- one[0]
	}
	return nil
}

// send decodes all blocks and sends a message for each.
func (t *transfer) send(ctx context.Context, sel *selection, form codec.Form) error {
	t.sent = map[byte]int64{}
	blocks := sel.blocks(form)
	if len(blocks) == 1 {
		return t.sendBlock(ctx, sel, blocks[0])
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan block)
	var all sync.WaitGroup
	for range min(decoders, len(blocks)) {
		all.Go(func() {
			for b := range next {
				if err := t.sendBlock(ctx, sel, b); err != nil {
					cancel(err) // the first error remains the cause
				}
			}
		})
	}
	for _, b := range blocks {
		if ctx.Err() != nil {
			break
		}
		next <- b
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}

// sendBlock decodes a block into a slot. A block that is larger than a slot is decoded into memory, and copied
// from there into one slot after another.
func (t *transfer) sendBlock(ctx context.Context, sel *selection, b block) error {
	if b.bytes <= slotBytes {
		slot, room, err := t.slot(ctx)
		if err != nil {
			return err
		}
		if err := sel.readBlock(ctx, b, room[:b.bytes]); err != nil {
			return err
		}
		return t.say(slot, b.offset, b.bytes)
	}
	room := rooms.Get().(*[]byte)
	if int64(cap(*room)) < b.bytes {
		*room = make([]byte, b.bytes)
	}
	elems := (*room)[:b.bytes]
	err := sel.readBlock(ctx, b, elems)
	for at := int64(0); at < b.bytes && err == nil; at += slotBytes {
		var slot byte
		var to []byte
		if slot, to, err = t.slot(ctx); err == nil {
			n := copy(to, elems[at:])
			err = t.say(slot, b.offset+at, int64(n))
		}
	}
	if cap(*room) <= largestRoom {
		rooms.Put(room)
	}
	return err
}

// slot waits for a free slot.
func (t *transfer) slot(ctx context.Context) (byte, []byte, error) {
	select {
	case slot := <-t.free:
		at := int(slot) * slotBytes
		return slot, t.l.stage[at : at+slotBytes], nil
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
}

// say sends a message that a slot contains a part of the elements.
func (t *transfer) say(slot byte, offset, bytes int64) error {
	message := make([]byte, 0, answerHead+16)
	message = binary.LittleEndian.AppendUint32(message, statusStaged)
	message = binary.LittleEndian.AppendUint32(message, uint32(slot))
	message = binary.LittleEndian.AppendUint64(message, 16)
	message = binary.LittleEndian.AppendUint64(message, uint64(offset))
	message = binary.LittleEndian.AppendUint64(message, uint64(bytes))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent[slot] = bytes
	_, err := t.l.Conn.Write(message)
	return err
}

// readBlock fills dst with the elements of a block.
func (s *selection) readBlock(ctx context.Context, b block, dst []byte) error {
	if s.index != nil {
		return s.array.Read(ctx, s.index, codec.Elems{Fixed: dst})
	}
	return s.array.ReadRegion(ctx, b.region, codec.Elems{Fixed: dst})
}

// blocks divides a box along its first axis longer than 1. The blocks have about the size of a slot, and end
// between chunks. A selection that is not a box is one block.
func (s *selection) blocks(form codec.Form) []block {
	all := block{region: s.region, bytes: int64(form.Bytes())}
	axis := 0
	for axis < len(s.region.Shape) && s.region.Shape[axis] == 1 {
		axis++
	}
	if s.index != nil || all.bytes <= slotBytes || axis == len(s.region.Shape) {
		return []block{all}
	}
	unit := all.bytes / s.region.Shape[axis] // bytes for one index along the axis
	rows := max(slotBytes/unit, 1)
	from, end := s.region.Origin[axis], s.region.Origin[axis]+s.region.Shape[axis]
	var out []block
	for from < end {
		to := min(from+rows, end)
		if to < end && !s.isRaw() {
			to = s.cut(axis, from, to, end)
		}
		b := block{region: s.region.Clone(), offset: (from - s.region.Origin[axis]) * unit, bytes: (to - from) * unit}
		b.region.Origin[axis], b.region.Shape[axis] = from, to-from
		out = append(out, b)
		from = to
	}
	return out
}

// cut returns the end of a block that starts at from and should end at to. It is the start of the chunk that
// contains to, or the end of that chunk if the block would be empty. So no chunk is decoded twice.
func (s *selection) cut(axis int, from, to, end int64) int64 {
	dim := s.array.Grid().Dim(axis)
	chunk, err := dim.Find(to)
	if err != nil {
		return end
	}
	begins, ends, _ := grid.Bounds(dim, chunk)
	if begins > from {
		return begins
	}
	return min(ends, end)
}

// isRaw reports whether the chunks are not compressed, so that parts of them can be read at no extra cost.
func (s *selection) isRaw() bool {
	return codec.IsRaw(s.array.Schema().Codecs)
}

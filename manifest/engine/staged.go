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
	maxStage  = 256 * slotBytes // slots are counted by one byte
	// decoders is how many blocks are decoded at a time, each of them on all cores: while the last chunk of
	// one is decoded, the others' keep the cores busy.
	decoders = 2
)

// block is a part of the elements that lie side by side in the output.
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
		return s.fail(l, fmt.Errorf("%w: no shared memory came with it", errRequest))
	}
	t := &transfer{l: l, free: make(chan byte, slots)}
	for i := range slots {
		t.free <- byte(i)
	}
	// The watch is over, and its context too. When the server ends, it closes the connection.
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
	// The client closes the connection after a failure, since nobody can tell how many blocks it has
	// acknowledged; until then they are taken in.
	_ = s.fail(l, err)
	<-acknowledged
	return err
}

// transfer is the sending of one selection.
type transfer struct {
	l    *link
	free chan byte // slots

	mu   sync.Mutex // of writing
	sent map[byte]int64
}

// takeAcknowledgements frees slots as the client has done with them, until all bytes are acknowledged.
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
			return fmt.Errorf("%w: slot %d is acknowledged and was not sent", errRequest, one[0])
		}
		all -= n
		t.free <- one[0]
	}
	return nil
}

// send decodes all blocks and tells the client of each.
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
					cancel(err) // the first counts
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

// sendBlock decodes a block into a slot, or, if it is larger than one, into memory and from there into
// one slot after another.
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

// say tells the client which slot holds the answer.
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

// blocks cuts a box along its first long axis, between chunks, into blocks that fit a slot as well as
// chunks allow. What is no box is one block.
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

// cut moves the end of a block to where a chunk begins, so that no chunk is decoded twice: back if
// there is one behind from, else on.
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

// isRaw reports whether chunks can be read in parts at no cost.
func (s *selection) isRaw() bool {
	codecs := s.array.Schema().Codecs
	return len(codecs) == 1 && codecs[0].Name == "bytes"
}

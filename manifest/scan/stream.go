package scan

import (
	"context"
	"errors"

	"varve/readers"
)

// stream takes the rows of a file while it is read, a batch at a time, so that an index of
// many chunks is neither in memory as a whole nor waited for.
//
//	worker ── batch ── batch ── batch ── found          one stream a file
//	             │        │        │       │
//	collector ───┴────────┴────────┴───────┴── next file
//
// Batches of a file whose turn it is wait until they are taken; those of other files need room
// among a number of batches that all files have together.
type stream struct {
	batches chan *batch
	turn    chan struct{} // closed when it is the file's turn
	room    chan struct{} // of all files
}

// batch is the next rows of a file, with the inline bytes that they point at.
type batch struct {
	refs   *refs
	inline [][]byte
	early  bool // it takes up room
}

const (
	batchRows  = 1 << 13
	maxBatches = 1 << 7 // that wait, which are 16 MiB of refs
)

// errHanded says that rows were handed on that have to be taken back.
var errHanded = errors.New("rows were handed on that are none")

// Restarter is a RefSink that can begin anew. Only such a sink gets rows of files that are
// not yet read to the end, which may turn out to be broken.
type Restarter interface {
	RefSink
	// Restart forgets all that the scan handed on.
	Restart(ctx context.Context) error
}

func newStream(room chan struct{}) *stream {
	return &stream{make(chan *batch, maxBatches), make(chan struct{}), room}
}

// put hands a batch on. If others wait that are before it, it may wait for them.
func (s *stream) put(ctx context.Context, b *batch) error {
	select {
	case <-s.turn:
	default:
		select {
		case <-s.turn:
		case s.room <- struct{}{}:
			b.early = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case s.batches <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// each calls take with the batches of the file, whose turn it is, until it is read.
func (s *stream) each(take func(*batch) error) error {
	close(s.turn)
	for b := range s.batches {
		if b.early {
			<-s.room
		}
		if err := take(b); err != nil {
			return err
		}
	}
	return nil
}

// hand hands on the rows that there are.
func (a *account) hand() error {
	if a.found.refs.len() == 0 {
		return nil
	}
	b := &batch{refs: a.found.refs, inline: a.found.inline}
	a.handed += b.refs.stored
	a.found.refs, a.found.inline = newRefs(), nil
	return a.asked.stream.put(a.ctx, b)
}

// streams reports whether rows of a variable are handed on while they are read: many, of an
// index in order, that nothing else is wanted from.
func (e *entry) streams(s *readers.Storage, rows int64) bool {
	return e.asked.stream != nil && s.InOrder && rows > int64(e.batch) && e.holdsChunks() && !wanted(&e.out)
}

// streamIndex hands on the rows of a storage whose chunks come in order.
func (a *account) streamIndex(rows int64, counts []int64, s *readers.Storage) error {
	if err := a.hand(); err != nil {
		return err
	}
	a.found.refs.grow(a.batch)
	next := int64(0)
	for ref, err := range s.ReadIndex(a.ctx) {
		if err != nil {
			return handed(err)
		}
		at := numberOf(ref.Index, counts)
		switch {
		case at < 0:
			return noChunk(ref, counts)
		case at < next || ref.Other != nil:
			return errHanded
		}
		if at > next || a.found.refs.len() >= a.batch {
			if err := a.room(at - next); err != nil {
				return err
			}
		}
		a.found.refs.append(ref)
		next = at + 1
	}
	return a.room(rows - next)
}

// handed is an error that came behind rows that were handed on. A variable that is not
// understood has none.
func handed(err error) error {
	if isReason(err) {
		return errHanded
	}
	return err
}

// room adds rows of what is not stored, and makes room for one more.
func (a *account) room(missing int64) error {
	for {
		n := min(missing, int64(a.batch-a.found.refs.len()))
		a.found.refs.add(int(n))
		if missing -= n; a.found.refs.len() < a.batch {
			return nil
		}
		if err := a.hand(); err != nil {
			return err
		}
		a.found.refs.grow(a.batch)
	}
}

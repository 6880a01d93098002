package scan

import (
	"context"
	"errors"

	"varve/readers"
)

// stream passes on the rows of a file in batches while it is read, so that a large index is neither held in
// memory nor waited for.
//
//	worker ── batch ── batch ── batch ── found          one stream per file
//	             │        │        │       │
//	collector ───┴────────┴────────┴───────┴── next file
//
// Batches of the current file wait until they are taken. Batches of later files need room among a limited
// number for all files.
type stream struct {
	batches chan *batch
	turn    chan struct{} // closed when the file is the current one
	room    chan struct{} // semaphore of all files
}

// batch is a number of consecutive rows of a file, with their inline bytes.
type batch struct {
	refs   *refs
	inline [][]byte
	early  bool // it occupies a place in room
}

const (
	batchRows  = 1 << 13
	maxBatches = 1 << 7 // waiting batches, which are 16 MiB of refs
)

// errHanded means that rows were passed on that have to be removed.
var errHanded = errors.New("rows were handed on that are none")

// Restarter is a RefSink that can start again. Only a Restarter gets rows of files before they are read
// completely, because they may turn out to be broken.
type Restarter interface {
	RefSink
	// Restart discards everything that the scan has passed on.
	Restart(ctx context.Context) error
}

func newStream(room chan struct{}) *stream {
	return &stream{make(chan *batch, maxBatches), make(chan struct{}), room}
}

// put passes on a batch. It may block until earlier batches are taken.
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

// each calls take with the batches of the current file until it is read completely.
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

// hand passes on the collected rows.
func (a *account) hand() error {
	if a.found.refs.len() == 0 {
		return nil
	}
	b := &batch{refs: a.found.refs, inline: a.found.inline}
	a.handed += b.refs.stored
	a.found.refs, a.found.inline = newRefs(), nil
	return a.asked.stream.put(a.ctx, b)
}

// streams reports whether the rows of a variable are passed on while they are read: if they are many, their
// index is sorted, and nothing else needs them.
func (e *entry) streams(s *readers.Storage, rows int64) bool {
	return e.asked.stream != nil && s.InOrder && rows > int64(e.batch) && e.holdsChunks() && !wanted(&e.out)
}

// streamIndex passes on the rows of a storage with a sorted index.
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

// handed converts an error after rows were passed on. An unsupported variable must have no rows, so the scan
// has to restart.
func handed(err error) error {
	if isReason(err) {
		return errHanded
	}
	return err
}

// room adds rows of missing chunks, and reserves memory for one more.
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

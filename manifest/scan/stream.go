package scan

import (
	"context"
	"errors"

	"varve/readers"
)

// stream passes on the rows of a file in batches while the file is read. So a large index is not in memory as a
// whole, and the sink need not wait until all of it is read.
//
//	worker ── batch ── batch ── batch ── found          one stream per file
//	             │        │        │       │
//	collector ───┴────────┴────────┴───────┴── next file
//
// The current file is the one whose results are being collected. Its batches only wait until they are taken.
// All later files together may have only a limited number of waiting batches.
type stream struct {
	batches chan *batch
	turn    chan struct{} // closed when the file becomes the current file
	room    chan struct{} // semaphore for the waiting batches of later files
}

// batch is a number of consecutive rows of a file, with their inline bytes.
type batch struct {
	refs   *refs
	inline [][]byte
	early  bool // it counts in room
}

const (
	batchRows  = 1 << 13
	maxBatches = 1 << 7 // number of waiting batches; they need 16 MiB
)

// errHanded means that rows were passed to the sink that must be removed.
var errHanded = errors.New("rows were passed on that must be removed")

// Restarter is a RefSink that can start again. Only a Restarter gets rows of a file before the file is read
// completely, because these rows must be removed if the file is broken.
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

// hand passes on the rows that were collected so far.
func (a *account) hand() error {
	if a.found.refs.len() == 0 {
		return nil
	}
	b := &batch{refs: a.found.refs, inline: a.found.inline}
	a.handed += b.refs.stored
	a.found.refs, a.found.inline = newRefs(), nil
	return a.asked.stream.put(a.ctx, b)
}

// streams reports whether the rows of a variable are passed on while they are read. That is so if there are
// many, their index is sorted, and the scan itself does not need them to read values.
func (e *entry) streams(s *readers.Storage, rows int64) bool {
	return e.asked.stream != nil && s.InOrder && rows > int64(e.batch) && e.data.HoldsChunks && !wanted(&e.out)
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

// handed converts an error that occurs after rows were passed on. A variable that is unsupported must have no
// rows, so the scan must restart.
func handed(err error) error {
	if isReason(err) {
		return errHanded
	}
	return err
}

// room adds rows of missing chunks, and makes room for one more row.
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

package scan

import (
	"context"
	"errors"

	"varve/manifest"
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
func (r *reading) hand() error {
	if r.out.refs.len() == 0 {
		return nil
	}
	b := &batch{refs: r.out.refs, inline: r.out.inline}
	r.handed += b.refs.stored
	r.out.refs, r.out.inline = newRefs(), nil
	return r.stream.put(r.ctx, b)
}

// streams reports whether rows of a variable are handed on while they are read: many, of an
// index in order, that nothing else is wanted from.
func (r *reading) streams(out *manifest.Variable, s *readers.Storage, rows int64) bool {
	return r.stream != nil && s.InOrder && rows > int64(r.batch) && r.holdsChunks() && !wanted(out)
}

// streamIndex hands on the rows of a storage whose chunks come in order.
func (r *reading) streamIndex(rows int64, counts []int64, s *readers.Storage) error {
	if err := r.hand(); err != nil {
		return err
	}
	r.out.refs.grow(r.batch)
	next := int64(0)
	for ref, err := range s.ReadIndex(r.ctx) {
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
		if at > next || r.out.refs.len() >= r.batch {
			if err := r.room(at - next); err != nil {
				return err
			}
		}
		r.out.refs.append(ref)
		next = at + 1
	}
	return r.room(rows - next)
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
func (r *reading) room(missing int64) error {
	for {
		n := min(missing, int64(r.batch-r.out.refs.len()))
		r.out.refs.add(int(n))
		if missing -= n; r.out.refs.len() < r.batch {
			return nil
		}
		if err := r.hand(); err != nil {
			return err
		}
		r.out.refs.grow(r.batch)
	}
}

package zarr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"varve/manifest/internal/home"
	"varve/readers/source/atomicfile"
)

// segments are a journal in an object store, where files cannot grow: a series of objects, each with the
// records since the previous one and named after its position in the journal:
//
//	.varve/journal-0000000000000000
//	.varve/journal-00000000000015e2
//	.varve/slice-3-of-8/journal-0000000000000000
//
// Chunks whose records were not stored when a copy was killed are copied again.
type segments struct {
	temporary *atomicfile.Temporary // the journal's file
	*destination
	mu    sync.Mutex
	saved int64
	at    time.Time
}

const (
	// saveEvery bounds the work that may be lost, and maxSegment the size of a segment.
	saveEvery  = 10 * time.Second
	maxSegment = 16 << 20
)

func segmentName(journal string, at int64) string { return fmt.Sprintf("%s-%016x", journal, at) }

// segment returns the key of the part of a journal at a position. In a folder, a journal is one file.
func (d *destination) segment(journal string, at int64) string {
	if d.prefix == nil {
		return journal
	}
	return segmentName(journal, at)
}

// first returns the key of the beginning of a journal.
func (d *destination) first(journal string) string { return d.segment(journal, 0) }

// isLost reports whether another process may have the destination by now.
func (d *destination) isLost() bool { return d.prefix != nil && d.prefix.IsLost() }

func (d *destination) openSegments(ctx context.Context) (*journal, error) {
	file, err := atomicfile.NewTemporary("")
	if err != nil {
		return nil, err
	}
	s := &segments{destination: d, temporary: file}
	if err := s.load(ctx, file.File); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &journal{file: file.File, away: s}, nil
}

// load appends consecutive segments to a file and removes the others.
func (s *segments) load(ctx context.Context, file *os.File) error {
	var rest []string
	for key, err := range s.Walk(ctx, s.journal+"-") {
		if err != nil {
			return err
		}
		if key != segmentName(s.journal, s.saved) {
			rest = append(rest, key)
			continue
		}
		data, err := s.Read(ctx, key, maxSegment)
		if err != nil {
			return err
		}
		if _, err := file.WriteAt(data, s.saved); err != nil {
			return err
		}
		s.saved += int64(len(data))
	}
	_, err := s.Remove(ctx, rest...)
	return err
}

// begin makes the segments equal to the valid part of the journal.
func (s *segments) begin(ctx context.Context, file *os.File) error {
	s.dirty()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if s.saved > info.Size() { // the segments ended with an invalid record
		if err := s.removeJournal(ctx); err != nil {
			return err
		}
		s.saved = 0
	}
	return s.save(ctx, file)
}

// keep stores new records every saveEvery.
func (s *segments) keep(ctx context.Context, file *os.File) error {
	if !s.mu.TryLock() {
		return nil // another worker is storing them
	}
	defer s.mu.Unlock()
	if time.Since(s.at) < saveEvery {
		return nil
	}
	return s.save(ctx, file)
}

func (s *segments) save(ctx context.Context, file *os.File) error {
	info, err := file.Stat()
	for err == nil && s.saved < info.Size() {
		data := make([]byte, min(info.Size()-s.saved, maxSegment))
		if _, err = file.ReadAt(data, s.saved); err == nil {
			err = s.Put(ctx, segmentName(s.journal, s.saved), data, home.Durable)
		}
		s.saved += int64(len(data))
	}
	s.at = time.Now()
	return err
}

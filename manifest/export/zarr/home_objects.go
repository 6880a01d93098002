package zarr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"varve/manifest/export/internal/dest"
	"varve/readers/source/atomicfile"
)

// prefix is a home in an object store. It is claimed, because all copies use the same keys for chunks.
// Objects are complete, and the store has checked their MD5.
type prefix struct {
	*dest.Prefix
	journal string // key of the journal, which its segments extend
	// claim is nil for a slice: another process may write the same slice, and writes the same.
	claim *dest.Claim
	// carried is true when appending: chunks that are now fill values may have had other values.
	carried bool
}

func openPrefix(ctx context.Context, name string, o *Options) (home, context.Context, error) {
	at, err := dest.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	p := &prefix{Prefix: at, journal: journalOf(o.Slice), carried: o.Append}
	held := ctx
	if _, err = p.isEmpty(ctx); err == nil && o.Slice.IsWhole() {
		p.claim, held, err = at.Claim(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, at.Close())
	}
	return p, held, nil
}

func (p *prefix) name(key string) string { return p.Name(key) }

func (p *prefix) takes([]string) error { return nil }

func (p *prefix) close(err error) error {
	if p.claim != nil {
		err = p.claim.Release(err)
	}
	return errors.Join(err, p.Close())
}

// isLost reports whether another process may have the prefix by now.
func (p *prefix) isLost() bool { return p.claim != nil && p.claim.IsLost() }

func (p *prefix) isEmpty(ctx context.Context) (bool, error) {
	names, err := p.Top(ctx)
	if err == nil && len(names) > 0 && !slices.Contains(names, stateFolder+"/") {
		err = foreign(p.Name(""))
	}
	return len(names) == 0, err
}

func (p *prefix) has(ctx context.Context, key string) (bool, error) { return p.Has(ctx, key) }

// maxDocument bounds the size of documents.
const maxDocument = 1 << 30

func (p *prefix) read(ctx context.Context, key string) ([]byte, error) {
	return p.Read(ctx, key, maxDocument)
}

func (p *prefix) write(ctx context.Context, key string, stored []byte) error {
	return p.Store(ctx, key, stored)
}

func (p *prefix) check(ctx context.Context, key string, r record) error {
	if r.size == 0 && !p.carried {
		return nil
	}
	id, err := p.Stat(ctx, key)
	if errors.Is(err, fs.ErrNotExist) && r.size == 0 {
		return nil
	}
	if err == nil && id.Size != r.size {
		err = otherSize(p.Name(key), r.size, id.Size)
	}
	return err
}

// isThere reports whether a document already has the data.
func (p *prefix) isThere(ctx context.Context, key string, data []byte) (bool, error) {
	old, err := p.read(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return bytes.Equal(old, data), err
}

func (p *prefix) replace(ctx context.Context, key string, data []byte) error {
	if same, err := p.isThere(ctx, key, data); same || err != nil {
		return err
	}
	return p.Store(ctx, key, data)
}

func (p *prefix) version(ctx context.Context, key string) (string, error) { return p.Version(ctx, key) }

func (p *prefix) publish(ctx context.Context, key string, data []byte, version string) error {
	if same, err := p.isThere(ctx, key, data); same || err != nil {
		return err
	}
	return p.Publish(ctx, key, bytes.NewReader(data), version)
}

func (p *prefix) remove(ctx context.Context, key string) error {
	if !p.carried {
		return nil
	}
	return p.RemoveThese(ctx, key)
}

func (p *prefix) clear(ctx context.Context) error {
	p.claim.Dirty()
	return p.Clear(ctx, identifying(segmentName(journalName, 0))...)
}

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
	*prefix
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

func (p *prefix) slices(ctx context.Context) (list []string, err error) {
	for key, err := range p.Walk(ctx, slicePrefix) {
		if err != nil {
			return nil, err
		}
		if folder := path.Dir(key); len(list) == 0 || list[len(list)-1] != folder {
			list = append(list, folder)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func (p *prefix) records(ctx context.Context, slice string) (all []byte, err error) {
	for {
		data, err := p.Read(ctx, segmentName(slice+sliceJournal, int64(len(all))), maxSegment)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, data...)
	}
}

func (p *prefix) begun(ctx context.Context, n int) ([]byte, error) {
	head, err := p.Read(ctx, segmentName(p.journal, 0), maxSegment)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return head[:min(n, len(head))], err
}

func (p *prefix) open(ctx context.Context) (*journal, error) {
	file, err := atomicfile.NewTemporary("")
	if err != nil {
		return nil, err
	}
	s := &segments{prefix: p, temporary: file}
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
	return s.RemoveThese(ctx, rest...)
}

// begin makes the segments equal to the valid part of the journal.
func (s *segments) begin(ctx context.Context, file *os.File) error {
	if s.claim != nil {
		s.claim.Dirty()
	}
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
			err = s.Store(ctx, segmentName(s.journal, s.saved), data)
		}
		s.saved += int64(len(data))
	}
	s.at = time.Now()
	return err
}

// removeJournal removes the segments. The first one goes first, because it marks the journal's existence.
func (p *prefix) removeJournal(ctx context.Context) error {
	if p.journal == journalName {
		if err := p.RemoveAll(ctx, p.Walk(ctx, slicePrefix)); err != nil {
			return err
		}
	}
	if err := p.RemoveThese(ctx, segmentName(p.journal, 0)); err != nil {
		return err
	}
	return p.RemoveAll(ctx, p.Walk(ctx, p.journal+"-"))
}

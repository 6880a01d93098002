package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
)

// Sources of refs that are no ranges of files.
const (
	refMissing = -1 // no values are stored
	refInline  = -2 // the offset is in the bytes that follow the refs
)

// refs answers with the stored ranges of all chunks of an array.
func (s *Server) refs(ctx context.Context, l *link, b *body, done func()) error {
	handle, number := b.u32(), b.u32()
	err := b.end()
	var found *refColumns
	if err == nil {
		found, err = s.refsOf(ctx, handle, number)
	}
	done()
	if err != nil {
		return s.fail(l, err)
	}
	head, err := json.Marshal(map[string]any{"sources": found.sources, "chunks": len(found.source) / 8})
	if err != nil {
		return s.fail(l, err)
	}
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(head)))
	return l.answer(statusDone, size, head, found.source, found.offset, found.size, found.inline)
}

func (s *Server) refsOf(ctx context.Context, handle, number uint32) (*refColumns, error) {
	at, err := s.datasets.get(ctx, handle)
	if err != nil {
		return nil, err
	}
	defer s.datasets.release(at)
	arrays := at.store.Arrays()
	if int64(number) >= int64(len(arrays)) {
		return nil, fmt.Errorf("%w: no array %d", errRequest, number)
	}
	if err := at.store.CheckListed(); err != nil {
		return nil, err
	}
	a := arrays[number]
	found := &refColumns{sources: []sourceAnswer{}, rows: map[int64]int64{}}
	for run, err := range a.Runs(ctx, grid.Whole(a.Grid().Counts())) {
		if err == nil {
			err = found.add(ctx, a, run)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// refColumns are the refs of chunks in C order, as columns of i64.
type refColumns struct {
	source, offset, size []byte
	inline               []byte
	sources              []sourceAnswer
	rows                 map[int64]int64 // indexes in sources of rows of the manifest
}

func (c *refColumns) add(ctx context.Context, a *store.Array, run *manifest.Run) error {
	switch {
	case run.Kind == manifest.Reencoded:
		why, err := a.Why(ctx, run.Coords)
		if err != nil {
			return err
		}
		return fmt.Errorf("%s: chunk %v is no range of a file, because it is re-encoded: %v: %w", a.Path(), run.Coords, why, errors.ErrUnsupported)
	case run.Kind == manifest.Missing:
		for range run.Chunks {
			c.put(refMissing, 0, 0)
		}
	case run.Source < 0 || run.Inline != nil:
		c.put(refInline, int64(len(c.inline)), int64(len(run.Inline)))
		c.inline = append(c.inline, run.Inline...)
	default:
		index, ok := c.rows[run.Source]
		if !ok {
			src, err := a.Store().Source(ctx, run.Source)
			if err != nil {
				return err
			}
			index = int64(len(c.sources))
			c.rows[run.Source] = index
			c.sources = append(c.sources, answerOf(src))
		}
		for i, offset := range run.Offsets {
			c.put(index, offset, run.Sizes[i])
		}
	}
	return nil
}

func (c *refColumns) put(source, offset, size int64) {
	c.source = binary.LittleEndian.AppendUint64(c.source, uint64(source))
	c.offset = binary.LittleEndian.AppendUint64(c.offset, uint64(offset))
	c.size = binary.LittleEndian.AppendUint64(c.size, uint64(size))
}

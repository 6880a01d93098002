package points

import (
	"context"
	"iter"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/table"
)

// mergeFactor says which older tables are merged into a new one. From the last table on, each table is merged if it has
// fewer rows than the new table, times this factor. So n runs leave about log n tables, and each row is rewritten about log n times.
const mergeFactor = 2

// smallTables returns the last tables of access points. They are merged with the new points of chunks.
func (m *maker) smallTables(snap *manifest.Snapshot, chunks []found) (small []manifest.Table) {
	rows := int64(0) // of the new table, at most
	for _, c := range chunks {
		rows += c.Size/m.Every + 1
	}
	var tables []manifest.Table
	for _, t := range snap.Tables {
		if t.Kind == manifest.Points {
			tables = append(tables, t)
		}
	}
	slices.SortFunc(tables, func(a, b manifest.Table) int { return int(max(min(a.First-b.First, 1), -1)) })
	for _, t := range slices.Backward(tables) {
		if t.Rows >= mergeFactor*rows {
			break
		}
		rows += t.Rows
		small = append(small, t)
	}
	return small
}

// merger yields the access points of several tables in the order of refs.
type merger struct {
	heads []*head // the newest table first
}

// head is the next chunk of a table.
type head struct {
	chunk *table.ChunkPoints // nil at the end
	err   error
	next  func() (*table.ChunkPoints, error, bool)
	stop  func()
}

// newMerger begins with tables, the newest first.
func newMerger(ctx context.Context, r *table.Reader, tables []manifest.Table) *merger {
	m := &merger{}
	for _, t := range tables {
		h := &head{}
		h.next, h.stop = iter.Pull2(r.ScanPoints(ctx, t.First, t.Rows))
		h.step()
		m.heads = append(m.heads, h)
	}
	return m
}

func (h *head) step() {
	h.chunk, h.err, _ = h.next()
}

func (m *merger) stop() {
	for _, h := range m.heads {
		h.stop()
	}
}

// before writes the chunks before a ref, and skips the chunk of the ref itself, which is replaced.
func (m *merger) before(ref int64, write func(...*table.ChunkPoints) error) error {
	return m.upTo(func(next int64) bool { return next < ref }, func(next int64) bool { return next == ref }, write)
}

// rest writes all remaining chunks.
func (m *merger) rest(write func(...*table.ChunkPoints) error) error {
	return m.upTo(func(int64) bool { return true }, func(int64) bool { return false }, write)
}

// upTo writes chunks as long as isWritten or isSkipped accepts the next ref. Of chunks with the same ref it writes that of
// the newest table. A damaged table has no more chunks: their points can be found again.
func (m *merger) upTo(isWritten, isSkipped func(ref int64) bool, write func(...*table.ChunkPoints) error) error {
	for {
		var least *head
		for _, h := range m.heads {
			if h.chunk != nil && h.err == nil && (least == nil || h.chunk.Ref < least.chunk.Ref) {
				least = h
			}
		}
		if least == nil {
			return nil
		}
		c := least.chunk
		switch {
		case isWritten(c.Ref):
			if err := write(c); err != nil {
				return err
			}
		case !isSkipped(c.Ref):
			return nil
		}
		for _, h := range m.heads {
			if h.chunk != nil && h.err == nil && h.chunk.Ref == c.Ref {
				h.step()
			}
		}
	}
}

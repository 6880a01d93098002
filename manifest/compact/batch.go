package compact

import (
	"bufio"
	"context"
	"errors"
	"hash/crc32"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/patches"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
)

// batch is a file of chunks that is being written, and the rows of its table.
type batch struct {
	file   *repo.TableWriter
	buffer *bufio.Writer
	bytes  int64
	most   int64 // the size in bytes at which it is committed
	rows   []table.Patch
	runs   []run
}

// run is the rows of one array in a batch.
type run struct {
	array     int
	row, rows int64
}

const (
	bufferBytes = 256 << 10
	// mostRows bounds the memory of a batch of small chunks.
	mostRows = 1 << 20
	// A batch has at least 1/batchShare of the bytes of all compacted chunks, so that the number of files grows only
	// with the logarithm of their total size.
	batchShare = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// add appends a chunk of an array to the batch.
func (c *compaction) add(ctx context.Context, array int, number int64, data []byte) error {
	if c.batch == nil {
		file, err := c.repo.NewTable(ctx, manifest.Chunks)
		if err != nil {
			return err
		}
		c.batch = &batch{file: file, buffer: bufio.NewWriterSize(file, bufferBytes), most: max(c.opts.BatchBytes, c.kept()/batchShare)}
	}
	b := c.batch
	if _, err := b.buffer.Write(data); err != nil {
		return err
	}
	if len(b.runs) == 0 || b.runs[len(b.runs)-1].array != array {
		b.runs = append(b.runs, run{array: array, row: int64(len(b.rows))})
	}
	b.runs[len(b.runs)-1].rows++
	b.rows = append(b.rows, table.Patch{Chunk: number, Offset: b.bytes, Length: int64(len(data)), Checksum: crc32.Checksum(data, castagnoli)})
	b.bytes += int64(len(data))
	c.result.Bytes += int64(len(data))
	if b.bytes >= b.most || len(b.rows) >= mostRows {
		return c.commit(ctx)
	}
	return nil
}

// kept returns the size of all compacted chunks.
func (c *compaction) kept() (bytes int64) {
	for _, t := range c.planned.Tables {
		if t.Kind == manifest.Chunks {
			bytes += t.Bytes
		}
	}
	return bytes
}

// commit flushes the batch to disk and adds its chunks to their arrays.
func (c *compaction) commit(ctx context.Context) error {
	b := c.batch
	if b == nil {
		return nil
	}
	c.batch = nil
	defer b.file.Abort() // does nothing after Commit
	if err := b.buffer.Flush(); err != nil {
		return err
	}
	chunks, err := b.file.Commit()
	if err != nil {
		return err
	}
	chunks.Rows = int64(len(b.rows))
	places, err := c.writeTable(ctx, b.rows)
	if err != nil {
		return err
	}
	patches.List(c.planned, chunks)
	patches.List(c.planned, places)
	for _, r := range b.runs {
		if err := c.addRun(r, places.Name, chunks.Name); err != nil {
			return err
		}
	}
	return c.repo.SaveDraft(ctx, draftName(c.opts.Slice), c.planned)
}

// writeTable writes the table with the locations of the chunks of a batch.
func (c *compaction) writeTable(ctx context.Context, rows []table.Patch) (t manifest.Table, err error) {
	file, err := c.repo.NewTable(ctx, manifest.Patches)
	if err != nil {
		return t, err
	}
	defer file.Abort()
	buffer := bufio.NewWriterSize(file, bufferBytes)
	w := table.NewPatches(buffer)
	if err := errors.Join(w.Append(rows...), w.Close(), buffer.Flush()); err != nil {
		return t, err
	}
	if t, err = file.Commit(); err != nil {
		return t, err
	}
	t.Rows = int64(len(rows))
	return t, nil
}

// addRun adds a run of chunks to its array.
func (c *compaction) addRun(r run, places, chunks string) error {
	a := &c.planned.Arrays[r.array]
	g, err := a.Schema.Grid()
	if err != nil {
		return err
	}
	a.Patches = append(slices.Clip(a.Patches), manifest.Patched{
		Table: places, Row: r.row, Rows: r.rows, File: chunks,
		Counts: slices.Clone(g.Counts()), Shift: make([]int64, g.Rank()), Limit: slices.Clone(g.Counts()),
	})
	return nil
}

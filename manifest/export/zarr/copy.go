package zarr

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"varve/codec"
	"varve/grid"
	"varve/manifest/export/internal/progress"
	"varve/manifest/internal/home"
)

// counts are the counters of a Result, for concurrent use.
type counts struct{ verbatim, inner, encoded, missing, resumed, bytes atomic.Int64 }

// run copies all chunks that are not yet copied, verifies them and publishes the copy.
func (c *copier) run(ctx context.Context) (result *Result, err error) {
	if c.journal, err = c.home.open(ctx); err != nil {
		return nil, err
	}
	result, err = c.write(ctx)
	isSlice := !c.opts.Slice.IsWhole() // the whole needs its journal
	if err = c.journal.close(ctx, err, err != nil || isSlice); err != nil || isSlice {
		return result, err
	}
	return result, c.home.removeJournal(ctx)
}

// write is run with the journal open.
func (c *copier) write(ctx context.Context) (*Result, error) {
	if err := c.begin(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", c.home.Name(""), err)
	}
	version, err := c.home.version(ctx, c.documents[len(c.documents)-1].key)
	if err != nil {
		return nil, err
	}
	if err := c.adopt(ctx, c.noteAdopted); err != nil {
		return nil, err
	}
	if err := c.copyAll(ctx); err != nil {
		return nil, err
	}
	if err := c.verify(ctx); err != nil {
		return nil, err
	}
	if err := c.removeBlocks(ctx, c.blocks); err != nil {
		return nil, err
	}
	if !c.opts.Slice.IsWhole() {
		return c.result(), c.home.replace(ctx, sliceFolder(c.opts.Slice)+sliceDone, nil)
	}
	if err := c.publish(ctx, version); err != nil {
		return nil, err
	}
	b, err := json.Marshal(c.state())
	if err != nil {
		return nil, err
	}
	if err := c.home.replace(ctx, stateName, b); err != nil {
		return nil, err
	}
	return c.result(), nil
}

func (c *copier) result() *Result {
	return &Result{Arrays: len(c.arrays), Verbatim: c.verbatim.Load(), Inner: c.inner.Load(), Encoded: c.encoded.Load(), Missing: c.missing.Load(),
		Resumed: c.resumed.Load(), Bytes: c.bytes.Load(), Appended: c.opts.Append, Extensions: c.extensions()}
}

// begin starts the journal, or continues it if it belongs to the same copy.
func (c *copier) begin(ctx context.Context) error {
	var sizes []int64
	for _, t := range c.arrays {
		sizes = append(sizes, t.grid.Chunks())
	}
	keys := []string{stateName}
	for _, d := range c.documents {
		keys = append(keys, d.key)
	}
	if err := c.home.takes(keys); err != nil {
		return err
	}
	return c.journal.begin(ctx, c.identity(), sizes)
}

// copyAll copies boxes of chunks, concurrently within the memory limit.
func (c *copier) copyAll(ctx context.Context) (err error) {
	plan, total, err := c.plan(ctx)
	if err != nil {
		return err
	}
	if c.opts.Planned != nil {
		c.opts.Planned(plan)
	}
	for _, t := range c.arrays {
		if t.passes == nil || t.passes.from == nil {
			continue
		}
		n, err := t.passes.from.area.Elements()
		if err != nil {
			return err
		}
		total += n
	}
	if c.blocks, err = c.openBlocks(ctx); err != nil {
		return err
	}
	c.seen = progress.New(c.opts.Progress, total)
	c.memory = semaphore.NewWeighted(c.opts.Memory)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Workers)
	for _, t := range c.arrays {
		switch {
		case t.passes == nil && t.from < t.to: // it is empty
			c.missing.Add(t.to - t.from)
			c.seen.Add(t.to - t.from)
		case t.passes == nil:
		case t.passes.from == nil:
			err = c.eachBox(ctx, g, t, t.passes.to, (*box).copy)
		default:
			err = c.copyTwice(ctx, t)
		}
		if err != nil {
			return cmp.Or(g.Wait(), err) // a worker that failed cancelled ctx, so its error is the cause of the others
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	c.seen.Finish()
	return nil
}

// isDone reports whether an earlier, stopped copy has all chunks of an array.
func (c *copier) isDone(t *target) bool {
	coords := make([]int64, t.grid.Rank())
	for n := t.from; n < t.to; n++ {
		if !c.journal.has(t.number, n) && t.grid.Coords(n, coords) && t.wanted(coords) {
			return false
		}
	}
	return true
}

// copyTwice copies an array in two passes. It returns when all chunks are copied.
func (c *copier) copyTwice(ctx context.Context, t *target) error {
	for _, pass := range []struct {
		boxes *boxing
		do    func(*box, context.Context) error
	}{{t.passes.from, (*box).spread}, {t.passes.to, (*box).copy}} {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(c.opts.Workers)
		err := c.eachBox(ctx, g, t, pass.boxes, pass.do)
		if err = cmp.Or(g.Wait(), err); err != nil {
			return err
		}
	}
	return nil
}

// eachBox calls do for all boxes of an array, concurrently within the memory limit.
func (c *copier) eachBox(ctx context.Context, g *errgroup.Group, t *target, boxes *boxing, do func(*box, context.Context) error) error {
	for at := range boxes.all() {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := &box{copier: c, target: t, passes: t.passes, at: slices.Clone(at)}
		g.Go(func() error {
			if err := c.memory.Acquire(ctx, t.passes.bytes); err != nil {
				return err
			}
			defer c.memory.Release(t.passes.bytes)
			if err := do(b, ctx); err != nil {
				return fmt.Errorf("%s: %w", t.spec.Path, err)
			}
			return nil
		})
	}
	return nil
}

// isEmpty reports whether no chunk of the array is stored, and the copy has no files of an earlier one. A shape costs nothing to
// declare, so each of millions of missing chunks must not be looked at.
func (t *target) isEmpty(ctx context.Context) (bool, error) {
	if t.fill || t.old != nil || t.grid.Chunks() == 0 {
		return false, nil
	}
	isStored, err := t.source.HasStored(ctx, grid.Whole(t.source.Grid().Shape()))
	return !isStored, err
}

// box is a box of chunks of one array. The workers that copy its chunks share its elements.
type box struct {
	*copier
	target *target
	passes *passes
	at     []int64 // its coordinates among the boxes

	once    sync.Once // reads the elements
	failure error
	region  grid.Region
	elems   codec.Elems
}

// spread is the first of two passes: it reads a box of stored chunks and writes its temporary blocks.
func (b *box) spread(ctx context.Context) error {
	if err := b.writeBlocks(ctx, b.at); err != nil {
		return err
	}
	n, err := b.passes.from.chunks(b.at).Elements()
	b.seen.Add(n)
	return err
}

// copy copies the chunks of the box that are wanted and not yet copied.
func (b *box) copy(ctx context.Context) error {
	chunks := b.passes.to.chunks(b.at)
	n, err := chunks.Elements()
	if err != nil {
		return err
	}
	defer b.free()
	const shares = 4 // of each worker, because chunks take different times
	each := n
	if b.passes.workers > 1 {
		each = n/int64(shares*b.passes.workers) + 1
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.passes.workers)
	for part := range split(chunks, each) {
		g.Go(func() error {
			w := &work{box: b}
			return errors.Join(w.do(ctx, part), w.closeFile())
		})
	}
	return g.Wait()
}

// load reads the elements of the box on the first call.
func (b *box) load(ctx context.Context) error {
	b.once.Do(func() {
		if b.region, b.failure = b.target.grid.RegionOf(b.passes.to.chunks(b.at)); b.failure != nil {
			return
		}
		if b.passes.from == nil {
			b.failure = b.readSource(ctx)
			return
		}
		b.elems = b.room(b.target.schema.Form(b.region.Shape))
		b.failure = b.readBlocks(ctx)
	})
	return b.failure
}

// readSource reads the elements of the box's region.
func (b *box) readSource(ctx context.Context) error {
	b.elems = b.room(b.target.schema.Form(b.region.Shape))
	return b.target.source.ReadRegion(ctx, b.region, b.elems)
}

// room returns memory for the elements of a box. The last large box leaves its memory for the next one: with new memory, both
// would exist until the next garbage collection.
func (b *box) room(form codec.Form) codec.Elems {
	n := form.Bytes()
	if form.Type.Varies() || n < spareBytes {
		return codec.NewElems(form)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.spare
	if b.spare = nil; cap(e) < n {
		if e != nil {
			e = nil
			runtime.GC()
		}
		e = make([]byte, max(int64(n), b.passes.box)) // enough for the boxes of both passes
	}
	return codec.Elems{Fixed: e[:n]}
}

// spareBytes is the size from which the memory of boxes is used again.
const spareBytes = 8 << 20

// free leaves the memory of the box to the next one.
func (b *box) free() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cap(b.elems.Fixed) >= spareBytes && cap(b.elems.Fixed) > cap(b.spare) {
		b.spare = b.elems.Fixed
	}
	b.elems = codec.Elems{}
}

// work copies some chunks of a box.
type work struct {
	*box
	records []record
	shard   shard       // the source shard that was opened last
	file    opened      // the source file that was opened last
	chunked codec.Elems // memory for a chunk
	encoded []byte      // memory for its encoded form
}

// do copies the chunks of a region that belong to the copy and are not copied yet.
func (w *work) do(ctx context.Context, part grid.Region) error {
	chunks, err := w.target.grid.WalkChunks(part)
	if err != nil {
		return err
	}
	seen := int64(0)
	for chunks.Next() {
		number, _ := w.target.grid.Number(chunks.Coords)
		if number < w.target.from || number >= w.target.to {
			continue
		}
		seen++
		if !w.target.wanted(chunks.Coords) {
			continue
		}
		if w.journal.has(w.target.number, number) {
			w.resumed.Add(1)
			continue
		}
		if err := w.copy(ctx, chunks, number); err != nil {
			return fmt.Errorf("chunk %v: %w", chunks.Coords, errors.Join(err, w.journal.add(ctx, w.records)))
		}
	}
	w.seen.Add(seen)
	return w.journal.add(ctx, w.records)
}

// copy copies one chunk.
func (w *work) copy(ctx context.Context, at *grid.Walker, number int64) error {
	// The same cells and shape: the stored bytes can be copied from file to file.
	if coords, ok := w.target.coincides(at.Region, at.Codec); ok && !w.target.apart {
		r, done, err := w.copyDirect(ctx, coords, at)
		if err != nil {
			return err
		}
		if done {
			w.verbatim.Add(1)
			r.array, r.chunk = uint32(w.target.number), number
			return w.note(ctx, r)
		}
	}
	stored, err := w.chunk(ctx, at)
	if err != nil {
		return err
	}
	return w.store(ctx, at.Coords, number, stored)
}

// chunk returns the encoded bytes of a chunk, or nil if it is not stored.
func (w *work) chunk(ctx context.Context, at *grid.Walker) ([]byte, error) {
	if w.target.sharded() {
		if b, ok, err := w.assemble(ctx, at); ok || err != nil {
			return b, err
		}
	} else if c, ok, err := w.stored(ctx, at.Region, at.Codec); err != nil || ok && (c.bytes != nil || !w.target.fill) {
		if n := int64(min(len(c.bytes), 1)); c.isReencoded {
			w.counts.encoded.Add(n)
		} else {
			w.verbatim.Add(n)
		}
		return c.bytes, err
	}
	p, err := w.target.pipeline(at.Codec)
	if err != nil {
		return nil, err
	}
	elems, err := w.elements(ctx, p, at.Region)
	if err != nil {
		return nil, err
	}
	if !w.target.fill && p.Form().IsFill(elems) {
		return nil, nil
	}
	w.counts.encoded.Add(1)
	w.encoded, err = p.Encode(w.encoded[:0], elems)
	return w.encoded, err
}

// elements returns the elements of a chunk, padded with the fill value beyond the array. They are valid until the next call.
func (w *work) elements(ctx context.Context, p *codec.Pipeline, region grid.Region) (codec.Elems, error) {
	if err := w.load(ctx); err != nil {
		return codec.Elems{}, err
	}
	if form := p.Form(); form.Type.Varies() || form.Bytes() != len(w.chunked.Fixed) {
		w.chunked = codec.NewElems(form)
	}
	elems := w.chunked
	if !sameShape(region.Shape, p.Form().Shape) {
		elems.SetFill(p.Form())
	}
	return elems, w.copyElements(elems, grid.Region{Origin: region.Origin, Shape: p.Form().Shape}, region)
}

func sameShape(a, b []int64) bool {
	for k := range a {
		if a[k] != b[k] {
			return false
		}
	}
	return true
}

// copyElements copies the elements of a chunk from the box.
func (w *work) copyElements(dst codec.Elems, into, region grid.Region) error {
	if unit := w.target.unit(); unit > 0 {
		return grid.Copy(grid.Window[byte]{Data: dst.Fixed, Region: into}, grid.Window[byte]{Data: w.elems.Fixed, Region: w.region}, region, unit)
	}
	return grid.Copy(grid.Window[[]byte]{Data: dst.Var, Region: into}, grid.Window[[]byte]{Data: w.elems.Var, Region: w.region}, region, 1)
}

// store writes the file of a chunk.
func (w *work) store(ctx context.Context, coords []int64, number int64, stored []byte) error {
	r := record{array: uint32(w.target.number), chunk: number, size: int64(len(stored)), sum: crc32.Checksum(stored, castagnoli)}
	key := w.target.key(coords)
	var err error
	if len(stored) == 0 {
		// The file may exist from an earlier append.
		w.missing.Add(1)
		err = w.home.remove(ctx, key)
	} else {
		err = w.home.Put(ctx, key, stored, w.home.how)
	}
	if err != nil {
		return err
	}
	return w.note(ctx, r)
}

// note queues a record for the journal, so that several are written at once.
func (w *work) note(ctx context.Context, r record) error {
	w.bytes.Add(r.size)
	w.records = append(w.records, r)
	if len(w.records) < recordsKept {
		return nil
	}
	err := w.journal.add(ctx, w.records)
	w.records = w.records[:0]
	return err
}

const recordsKept = 64 // records per write

// key returns the key of a chunk.
func (t *target) key(coords []int64) string {
	return path.Join(strings.TrimPrefix(t.spec.Path, "/"), string(t.keys.Append(nil, coords)))
}

// adopt calls do with the records of slices of this copy, if it is the whole. isVerified is true if the slice read its files
// again after it had written them.
func (c *copier) adopt(ctx context.Context, do func(r record, isVerified bool) error) error {
	if !c.opts.Slice.IsWhole() {
		return nil
	}
	found, err := c.home.slices(ctx)
	for _, s := range found {
		records, err := c.home.records(ctx, s)
		if err != nil {
			return err
		}
		rest, ok := bytes.CutPrefix(records, c.journalHead())
		if !ok {
			continue // it was stopped before it wrote anything
		}
		isVerified, err := home.Has(ctx, c.home, s+sliceDone)
		if err != nil {
			return err
		}
		if _, err := c.journal.eachOf(bytes.NewReader(rest), func(r record) error { return do(r, isVerified) }); err != nil {
			return err
		}
	}
	return err
}

// noteAdopted notes that a slice has copied a chunk.
func (c *copier) noteAdopted(r record, _ bool) error {
	c.journal.note(r)
	return nil
}

// verify reads every written file again and compares it with its record. Of files that a slice has verified it compares the
// size.
func (c *copier) verify(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Workers)
	var batch []record
	flush := func() {
		records := batch
		batch = nil
		g.Go(func() error { return c.checkAll(ctx, records) })
	}
	all := func(r record) error {
		if batch = append(batch, r); len(batch) >= recordsKept {
			flush()
		}
		return ctx.Err()
	}
	_, err := c.journal.each(all)
	if err == nil {
		err = c.adopt(ctx, func(r record, isVerified bool) error {
			r.isVerified = isVerified
			return all(r)
		})
	}
	flush()
	return cmp.Or(g.Wait(), err)
}

// checkAll checks the files of several records.
func (c *copier) checkAll(ctx context.Context, records []record) error {
	for _, r := range records {
		err := ctx.Err()
		if err == nil {
			err = c.check(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check checks the file of a record.
func (c *copier) check(ctx context.Context, r record) error {
	t := c.arrays[r.array]
	coords := make([]int64, t.grid.Rank())
	if !t.grid.Coords(r.chunk, coords) {
		return fmt.Errorf("the journal has a record of chunk %d of %s, which has %d chunks", r.chunk, t.spec.Path, t.grid.Chunks())
	}
	return c.home.check(ctx, t.key(coords), r)
}

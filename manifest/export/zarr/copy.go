package zarr

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"path"
	"slices"
	"strings"
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
func (c *copier) copyAll(ctx context.Context) error {
	total := int64(0)
	for _, t := range c.arrays {
		total += t.grid.Chunks()
	}
	from, to := c.opts.Slice.Range(total)
	c.seen = progress.New(c.opts.Progress, to-from)
	memory := semaphore.NewWeighted(c.opts.Memory)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Workers)
	// A worker that fails cancels ctx, so its error is the cause of others.
	failure := func(t *target, err error) error {
		return cmp.Or(g.Wait(), fmt.Errorf("%s: %w", t.spec.Path, err))
	}
	for _, t := range c.arrays {
		t.from, t.to = max(from, 0), min(to, t.grid.Chunks())
		from, to = from-t.grid.Chunks(), to-t.grid.Chunks()
		if t.from >= t.to {
			continue
		}
		if isEmpty, err := t.isEmpty(ctx); err != nil {
			return failure(t, err)
		} else if isEmpty {
			c.missing.Add(t.to - t.from)
			c.seen.Add(t.to - t.from)
			continue
		}
		plan, err := t.plan(c.opts)
		if err != nil {
			return failure(t, err)
		}
		for box := range plan.boxes(t.grid) {
			if ctx.Err() != nil {
				return cmp.Or(g.Wait(), ctx.Err()) // the first error cancelled the others
			}
			if !t.meets(box) {
				continue
			}
			w := &work{copier: c, target: t, box: box}
			g.Go(func() error {
				if err := memory.Acquire(ctx, plan.bytes); err != nil {
					return err
				}
				defer memory.Release(plan.bytes)
				if err := errors.Join(w.do(ctx), w.closeFile()); err != nil {
					return fmt.Errorf("%s: %w", t.spec.Path, err)
				}
				return nil
			})
		}
	}
	return g.Wait()
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

// meets reports whether a box may have chunks of the slice.
func (t *target) meets(box grid.Region) bool {
	last := slices.Clone(box.Origin)
	for k := range last {
		last[k] += box.Shape[k] - 1
	}
	first, _ := t.grid.Number(box.Origin)
	end, _ := t.grid.Number(last)
	return first < t.to && end >= t.from
}

// boxing is the number of chunks per box along each axis, and the memory of a box in bytes.
type boxing struct {
	step  []int64
	bytes int64
}

// wholeBytes is the approximate size of a box of chunks that are copied unchanged.
const wholeBytes = 32 << 20

// perElement is the assumed size in bytes of an element of varying length.
const perElement = 64

// plan chooses the size of boxes. It doubles the axis along which source chunks exceed a box the most, until
// none does or memory is used up, because a source chunk is decoded once for every box that it intersects.
func (t *target) plan(o *Options) (boxing, error) {
	p := boxing{step: make([]int64, t.grid.Rank())}
	from, to := make([]int64, t.grid.Rank()), make([]int64, t.grid.Rank())
	unit := t.unit()
	if unit == 0 {
		unit = perElement
	}
	p.bytes = unit
	for k := range p.step {
		p.step[k] = 1
		to[k] = largest(t.grid.Dim(k))
		from[k] = largest(t.source.Grid().Dim(k))
		if p.bytes > o.Memory/max(to[k], 1) {
			return p, fmt.Errorf("a chunk needs more than the memory limit of %d bytes; choose smaller chunks or raise the limit", o.Memory)
		}
		p.bytes *= max(to[k], 1)
	}
	budget := o.Memory / int64(o.Workers)
	if t.whole {
		budget = min(budget, wholeBytes) // keeps all workers busy
	}
	if p.bytes *= 2; p.bytes > o.Memory { // elements and their encoded form
		p.bytes = o.Memory
	}
	for p.bytes <= budget/2 {
		axis := -1
		for k := range p.step {
			if room := p.step[k] < t.grid.Counts()[k]; room && (t.whole || from[k] > p.step[k]*to[k]) && (axis < 0 || from[k]*p.step[axis]*to[axis] > from[axis]*p.step[k]*to[k]) {
				axis = k
			}
		}
		if axis < 0 {
			return p, nil
		}
		p.step[axis] *= 2
		p.bytes *= 2
	}
	return p, nil
}

// largest returns the longest edge of an axis.
func largest(d grid.Dimension) (n int64) {
	for e := range d.Unique() {
		n = max(n, e.Codec)
	}
	return n
}

// boxes yields the chunks of a grid as boxes of chunk coordinates.
func (p boxing) boxes(g *grid.Grid) iter.Seq[grid.Region] {
	return func(yield func(grid.Region) bool) {
		counts := g.Counts()
		if g.Chunks() == 0 {
			return
		}
		for at := grid.MakeRegion(g.Rank()); ; {
			for k := range counts {
				at.Shape[k] = min(p.step[k], counts[k]-at.Origin[k])
			}
			if !yield(at.Clone()) {
				return
			}
			k := g.Rank() - 1
			for ; k >= 0; k-- {
				if at.Origin[k] += p.step[k]; at.Origin[k] < counts[k] {
					break
				}
				at.Origin[k] = 0
			}
			if k < 0 {
				return
			}
		}
	}
}

// work is a box of chunks of one array.
type work struct {
	*copier
	target  *target
	box     grid.Region
	read    bool // whether elems has the elements of the box
	region  grid.Region
	elems   codec.Elems
	records []record
	shard   shard  // the source shard that was opened last
	file    opened // the source file that was opened last
}

// do copies the chunks of the box that are wanted and not yet copied.
func (w *work) do(ctx context.Context) error {
	chunks, err := w.target.grid.WalkChunks(w.box)
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
			w.encoded.Add(n)
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
	w.encoded.Add(1)
	return p.Encode(nil, elems)
}

// elements returns the elements of a chunk, padded with the fill value beyond the array.
func (w *work) elements(ctx context.Context, p *codec.Pipeline, region grid.Region) (codec.Elems, error) {
	if err := w.load(ctx); err != nil {
		return codec.Elems{}, err
	}
	elems := codec.NewElems(p.Form())
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

// load reads the elements of the box on the first call.
func (w *work) load(ctx context.Context) (err error) {
	if w.read {
		return nil
	}
	if w.region, err = w.target.grid.RegionOf(w.box); err != nil {
		return err
	}
	w.elems = codec.NewElems(w.target.schema.Form(w.region.Shape))
	w.read = true
	return w.target.source.ReadRegion(ctx, w.region, w.elems)
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

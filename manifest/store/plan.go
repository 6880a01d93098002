package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/mosaic"
	"varve/readers/source"
)

// job reads a part of one stored chunk into a target.
type job struct {
	mosaic.Part
	repeatShape []int64 // the shape that Box has after repeating the part along the axes that it lacks; nil if it does not repeat
	pipe        *codec.Pipeline
	ref         manifest.Ref
	into        *target

	source     int64 // row; -1 if no source is read
	span       codec.Range
	isAlone    bool              // decodeAlone reads only the bytes that it needs
	spans      *codec.SpanReader // set if the part is decoded at access points; windows reads their windows
	windows    codec.Windows
	isReusable bool          // cache the decoded chunk, because other jobs will need the rest of it
	decoded    *codec.Elems  // the decoded chunk, if the cache had it
	patch      *patchedChunk // set if the part belongs to a compacted chunk; then Fit is nil

	// isNarrowed says that Codec, ref and pipe describe only a run of elements that contains the part,
	// instead of the whole stored chunk.
	isNarrowed bool
}

const (
	// roundJobs and roundBytes limit the work that is planned together. Only chunks that are planned
	// together can be fetched together.
	roundJobs  = 4096
	roundBytes = 64 << 20
	// pieceBytes is the size of the parts in which an uncompressed chunk is read.
	pieceBytes = 2 << 20
	// nearBatch and farBatch limit the bytes of one fetch from local and remote sources. A single chunk
	// may be larger.
	nearBatch = 256 << 10
	farBatch  = 8 << 20
	// nearGap and farGap are the largest gaps between two chunks that are still fetched with one read.
	nearGap = 16 << 10
	farGap  = 256 << 10
)

// planner makes jobs for regions, and batches of jobs.
type planner struct {
	a        *Array
	m        *mosaic.Mosaic
	out      func(*batch) error
	jobs     []*job
	size     int64   // bytes of the elements of the jobs
	pool     []int64 // memory for the regions of jobs
	poolSize int     // numbers in the last pool, about
	refs     []manifest.Ref
}

// add plans to read a region of the array into a target.
func (p *planner) add(ctx context.Context, t *target, r grid.Region) error {
	covered, err := p.m.Covers(ctx, r)
	if err != nil {
		return err
	}
	t.hasGaps = !covered
	t.left.Store(1) // one more than the jobs, so that the target is not complete before all jobs are planned
	if len(p.a.spec.Patches) > 0 {
		err = p.addChunks(ctx, t, r)
	} else {
		err = p.addParts(ctx, t, r)
	}
	if err != nil {
		return err
	}
	// The target fills elements without a tile when its first job begins. This job ensures that there is
	// at least one.
	p.jobs = append(p.jobs, &job{into: t, source: -1})
	return p.flush(ctx, false)
}

// addParts plans the parts of tiles in a region.
func (p *planner) addParts(ctx context.Context, t *target, r grid.Region) error {
	for part, err := range p.m.Parts(ctx, r) {
		if err != nil {
			return err
		}
		if err := p.addPart(ctx, part, t); err != nil {
			return err
		}
	}
	return nil
}

// addPart adds a job, or several if the stored chunk is large and can be read in pieces.
func (p *planner) addPart(ctx context.Context, part *mosaic.Part, t *target) error {
	once, again := withoutRepeats(part)
	part = &once
	rows := p.pieceRows(part, t)
	if rows == 0 {
		p.push(part, again, t)
		return p.flush(ctx, false)
	}
	cut := *part
	axis, boxAxis := firstLong(part.Within.Shape), firstLong(part.Box.Shape)
	for at := int64(0); at < part.Within.Shape[axis]; at += rows {
		n := min(rows, part.Within.Shape[axis]-at)
		cut.Box, cut.Within = part.Box.Clone(), part.Within.Clone()
		cut.Box.Origin[boxAxis] += at
		cut.Box.Shape[boxAxis] = n
		if again != nil {
			again = slices.Clone(again)
			again[boxAxis] = n
		}
		cut.Within.Origin[axis] += at
		cut.Within.Shape[axis] = n
		p.push(&cut, again, t)
		if err := p.flush(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

// withoutRepeats returns the part at only the first index of each axis that its variable lacks, and the shape
// of its box with all indices. again is nil if no axis is missing.
func withoutRepeats(part *mosaic.Part) (once mosaic.Part, again []int64) {
	once = *part
	for k, n := range part.Box.Shape {
		if n == 1 || part.Fit.HasAxis(k) {
			continue
		}
		if again == nil {
			again = slices.Clone(part.Box.Shape)
			once.Box = part.Box.Clone()
		}
		once.Box.Shape[k] = 1
	}
	return once, again
}

// firstLong returns the first axis that is longer than 1, or 0 if there is none.
func firstLong(shape []int64) int {
	return max(slices.IndexFunc(shape, func(n int64) bool { return n > 1 }), 0)
}

// pieceRows returns the length along the first long axis of the pieces in which a part is read, or 0 to read it
// as a whole. Only uncompressed chunks can be read in pieces.
func (p *planner) pieceRows(part *mosaic.Part, t *target) int64 {
	_, straight := part.Fit.Order()
	if part.Row < 0 || !straight || part.Reversed != nil || !part.Fit.IsRaw() || len(part.Within.Shape) == 0 {
		return 0
	}
	n, err := part.Within.Elements()
	unit := int64(part.Fit.Variable.Type.Size)
	if err != nil || n <= pieceBytes/unit || p.mayVerify(part, t, n*unit) {
		return 0
	}
	long := part.Within.Shape[firstLong(part.Within.Shape)]
	return max(pieceBytes/unit/(n/long), 1)
}

// mayVerify reports whether a part of this size is read as a whole because its chunk may have a checksum. It must not be
// large, unless it is read directly into the target.
func (p *planner) mayVerify(part *mosaic.Part, t *target, size int64) bool {
	if !p.a.store.snapshot.Checksums || !part.IsWhole() {
		return false
	}
	if size <= verifiedBytes {
		return true
	}
	_, _, isContiguous := contiguousRange(t.region, part.Box)
	return isContiguous && part.Fit.Conversion.Identity()
}

func (p *planner) push(part *mosaic.Part, again []int64, t *target) {
	j := &job{Part: *part, repeatShape: again, into: t, source: -1}
	j.Box, j.Within = p.clone(part.Box), p.clone(part.Within)
	j.Codec = p.numbers(part.Codec)
	p.enter(j)
}

// enter adds a job to the present round.
func (p *planner) enter(j *job) {
	j.into.left.Add(1)
	p.jobs = append(p.jobs, j)
	if n, err := j.Box.Elements(); err == nil {
		p.size += min(n, math.MaxInt64/64/max(int64(j.into.unit), 24)) * int64(max(j.into.unit, 24))
	}
}

func (p *planner) clone(r grid.Region) grid.Region {
	return grid.Region{Origin: p.numbers(r.Origin), Shape: p.numbers(r.Shape)}
}

// numbers copies a list into memory that many jobs share, which saves many small allocations.
func (p *planner) numbers(from []int64) []int64 {
	if len(p.pool) < len(from) {
		// Each pool is twice as large as the one before it, so that a small read allocates little.
		p.poolSize = min(max(2*p.poolSize, 64), 4096)
		p.pool = make([]int64, p.poolSize+len(from))
	}
	to := p.pool[:len(from):len(from)]
	p.pool = p.pool[len(from):]
	copy(to, from)
	return to
}

// flush makes batches of the present jobs, if there are enough of them or last is set.
func (p *planner) flush(ctx context.Context, last bool) error {
	if !last && len(p.jobs) < roundJobs && p.size < roundBytes {
		return nil
	}
	jobs := p.jobs
	p.jobs, p.size = nil, 0
	if err := p.readRefs(ctx, jobs); err != nil {
		return err
	}
	decoded := int64(0)
	for _, j := range jobs {
		if err := p.prepare(ctx, j); err != nil {
			return err
		}
	}
	p.limitSpans(jobs)
	for _, j := range jobs {
		if !j.isAlone && j.source >= 0 {
			decoded += max(int64(j.pipe.Form().Bytes()), 0)
		}
	}
	// If the chunks do not fit into the cache together, each would be removed before it is used again.
	if decoded > p.a.store.cache.limit/2 {
		for _, j := range jobs {
			j.isReusable = false
		}
	}
	return p.emit(ctx, jobs)
}

// readRefs reads the refs of the jobs. It reads consecutive rows together.
func (p *planner) readRefs(ctx context.Context, jobs []*job) error {
	for i := 0; i < len(jobs); {
		if !jobs[i].hasRef() {
			i++
			continue
		}
		end := i + 1
		for end < len(jobs) && jobs[end].hasRef() && jobs[end].Row == jobs[end-1].Row+1 {
			end++
		}
		p.refs = slices.Grow(p.refs[:0], end-i)[:end-i]
		if err := p.a.store.tables.ReadRefs(ctx, jobs[i].Row, p.refs); err != nil {
			return err
		}
		for k, ref := range p.refs {
			jobs[i+k].ref = ref
		}
		i = end
	}
	return nil
}

func (j *job) hasRef() bool { return j.Fit != nil && j.Row >= 0 }

// key returns the key of the decoded chunk in the cache. Negative numbers are compacted chunks, others
// are rows of refs.
func (j *job) key(a *Array) key {
	if j.patch != nil {
		return key{a, -1 - j.patch.number, true}
	}
	return key{a, j.Row, true}
}

// prepare determines which bytes a job reads. Its ref must be known.
func (p *planner) prepare(ctx context.Context, j *job) (err error) {
	if !j.hasRef() || !j.ref.Stored() {
		return nil
	}
	if j.pipe, err = j.Pipeline(j.ref.Mask); err != nil {
		return err
	}
	if _, inline := j.ref.Inline(); inline {
		return nil
	}
	// Larger numbers could overflow when batches are formed.
	if j.ref.Size < 0 || j.ref.Offset > math.MaxInt64/2 || j.ref.Size > math.MaxInt64/4 {
		return fmt.Errorf("%s: ref %d: %w: %d bytes at offset %d", p.a.Path(), j.Row, codec.ErrCorrupt, j.ref.Size, j.ref.Offset)
	}
	if err := j.narrow(); err != nil {
		return err
	}
	strided := j.Fit.Variable.Storage.Layout == manifest.Strided && !j.isNarrowed
	j.isAlone = strided || !j.IsWhole() && !j.isNarrowed && j.pipe.Partial() != codec.WholeChunks || j.isDirect()
	j.isReusable = !j.HasAllData && !j.isAlone && !j.isNarrowed && p.a.store.cache.limit > 0
	if j.isReusable {
		if e, ok := p.a.store.cache.peek(j.key(p.a)); ok {
			j.decoded = &e
			return nil
		}
	}
	j.source = p.m.SourceOf(j.Tile, j.ref)
	j.span = codec.Range{Offset: j.ref.Offset, Length: j.ref.Size}
	if j.isAlone || j.isNarrowed {
		return nil
	}
	if j.spans = p.spansOf(ctx, j); j.spans != nil {
		j.isAlone, j.isReusable = true, false
	}
	return nil
}

// isDirect reports whether a job is a long run of bytes that can be read directly into the target.
func (j *job) isDirect() bool {
	if !j.Fit.IsRaw() || j.ref.Size < pieceBytes/32 || !j.isPlain() {
		return false
	}
	_, _, ok := contiguousRange(j.into.region, j.Box)
	return ok
}

// batch is the work of one fetch: jobs whose bytes are near each other in one source, or one job that
// reads no source.
type batch struct {
	jobs  []*job
	src   manifest.Source // of the jobs, if they read one
	span  codec.Range     // the range that is fetched
	isFar bool
}

// isNothing reports whether the batch reads nothing and only begins a target.
func (b *batch) isNothing() bool {
	j := b.jobs[0]
	return len(b.jobs) == 1 && j.Fit == nil && j.patch == nil
}

// emit sorts jobs by the location of their bytes and passes them on in batches.
func (p *planner) emit(ctx context.Context, jobs []*job) error {
	slices.SortStableFunc(jobs, func(i, j *job) int {
		return cmp.Or(cmp.Compare(i.source, j.source), cmp.Compare(i.span.Offset, j.span.Offset))
	})
	var src manifest.Source
	far, source := false, int64(-1)
	for i := 0; i < len(jobs); {
		first := jobs[i]
		if first.source != source && first.source >= 0 {
			var err error
			if src, err = p.a.store.Source(ctx, first.source); err != nil {
				return err
			}
			source, far = first.source, isFar(src.URL)
		}
		b := &batch{src: src, span: first.span, isFar: far && first.source >= 0}
		end := i + 1
		for end < len(jobs) && b.joins(jobs[end-1], jobs[end]) {
			b.span.Length = max(b.span.End(), jobs[end].span.End()) - b.span.Offset
			end++
		}
		b.jobs = jobs[i:end:end]
		if err := p.out(b); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// joins reports whether a job's bytes are fetched together with the bytes of the job before it.
func (b *batch) joins(before, j *job) bool {
	if j.source != before.source || j.source < 0 || j.isAlone || before.isAlone {
		return false
	}
	gap, most := int64(nearGap), int64(nearBatch)
	if b.isFar {
		gap, most = farGap, farBatch
	}
	end := b.span.End()
	return j.span.Offset < end || j.span.Offset-end <= gap && max(j.span.End(), end)-b.span.Offset <= most
}

func isFar(url string) bool {
	scheme, _, _ := strings.Cut(url, "://")
	return source.IsURL(url) && scheme != "file" && scheme != "local"
}

package icechunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/readers/icechunk/file"
)

// bench has the buffers with which one worker writes manifests, reused from one manifest to the next.
type bench struct {
	*writer
	encoder *zstd.Encoder
	arrays  []*arrayRefs
	used    int
	tail    tail
	buffer  []byte
	file    []byte
	kept    []*keptChunk

	places map[int64]placed // by source whose location is in the tail
	last   int64            // the source of the previous ref
	place  placed
}

// keptChunk is a chunk whose bytes the repository stores itself. Several are re-encoded concurrently, so its
// record is set when all chunks of the manifest are done.
type keptChunk struct {
	array  *arrayRefs
	record int
	inline []byte
	id     objectID // if not inline
	length int
}

// do writes one manifest, unless it would be empty.
func (b *bench) do(ctx context.Context, j *job) error {
	b.used, b.tail.data, b.last, b.kept = 0, b.tail.data[:0], -1, b.kept[:0]
	clear(b.places)
	group, inner := errgroup.WithContext(ctx)
	var failed error
	for _, p := range j.parts {
		if failed = b.part(inner, group, j, p); failed != nil {
			break
		}
	}
	// Prefer the error of a worker to the cancellation that it caused.
	if err := group.Wait(); err != nil && (failed == nil || errors.Is(failed, context.Canceled)) {
		failed = err
	}
	if failed != nil {
		return failed
	}
	b.settle(&j.count)
	arrays := b.arrays[:b.used]
	for i, a := range arrays {
		j.parts[i].refs = a.n
		j.info.refs += uint32(a.n)
	}
	if j.info.refs == 0 {
		return nil
	}
	return b.save(ctx, j, slices.DeleteFunc(slices.Clone(arrays), func(a *arrayRefs) bool { return a.n == 0 }))
}

// maxReserved bounds the refs for which memory is reserved in advance.
const maxReserved = 1 << 16

// array returns a buffer for the refs of a part.
func (b *bench) array(p *part) *arrayRefs {
	if b.used == len(b.arrays) {
		b.arrays = append(b.arrays, &arrayRefs{})
	}
	a := b.arrays[b.used]
	a.reset(p.node, p.box.Rank(), int(min(chunks(p.box), maxReserved)))
	b.used++
	return a
}

func (b *bench) save(ctx context.Context, j *job, arrays []*arrayRefs) (err error) {
	if b.buffer, err = encodeManifest(b.buffer, j.id, arrays, b.tail.data); err != nil {
		return err
	}
	b.file = b.encoder.EncodeAll(b.buffer, append(b.file[:0], header(file.Manifest)...))
	j.info.id, j.info.size = j.id, uint64(len(b.file))
	return b.add(ctx, b.file, manifestsFolder, j.id)
}

// countEvery is the number of quick refs per progress update.
const countEvery = 1 << 10

// part adds the records of one array.
func (b *bench) part(ctx context.Context, group *errgroup.Group, j *job, p *part) error {
	a := b.array(p)
	numbers := make([]int64, 0, min(chunks(p.box), maxReserved))
	seen := int64(0) // refs not yet reported as progress
	for l, err := range p.array.chunks.Locations(ctx, p.box) {
		if err != nil {
			return fmt.Errorf("%s: %w", p.array.spec.Path, err)
		}
		if l.Kind != manifest.Reencoded {
			seen++
		}
		if seen == countEvery {
			b.seen.Add(seen)
			seen = 0
		}
		if l.Kind == manifest.Missing {
			continue
		}
		if err := b.record(ctx, group, j, p, a, l); err != nil {
			return fmt.Errorf("%s: chunk %v: %w", p.array.spec.Path, l.Coords, err)
		}
		if p.isNew(l.Coords) {
			n, _ := p.array.grid.Number(l.Coords)
			numbers = append(numbers, n)
		}
	}
	b.seen.Add(seen)
	// Parts of one array in several workers share the log.
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range numbers {
		p.log.add(n)
	}
	return nil
}

// isNew reports whether the repository did not contain the chunk before.
func (p *part) isNew(coords []int64) bool { return p.axis < 0 || coords[p.axis] >= p.fresh }

// record adds the record of one chunk.
func (b *bench) record(ctx context.Context, group *errgroup.Group, j *job, p *part, a *arrayRefs, l *manifest.Location) error {
	if l.Kind == manifest.Reencoded {
		return b.reencode(ctx, group, p, b.reserve(a, l.Coords), slices.Clone(l.Coords))
	}
	if l.Source < 0 {
		return b.keep(ctx, b.reserve(a, l.Coords), l.Inline)
	}
	if l.Size <= 0 || l.Offset < 0 {
		return corruptf("%d bytes at %d of source %d", l.Size, l.Offset, l.Source)
	}
	// Consecutive chunks usually have the same source, so the last one is cached.
	if l.Source != b.last {
		if err := b.find(ctx, l.Source); err != nil {
			return err
		}
	}
	putVirtual(a.next(b.place.kind, l.Coords), b.place, l.Offset, l.Size)
	j.count.Virtual++
	if b.place.kind == virtual {
		j.count.Unguarded++
	}
	return nil
}

// find sets the location that refs of a source use, and caches it for this manifest.
func (b *bench) find(ctx context.Context, row int64) error {
	if p, ok := b.places[row]; ok {
		b.last, b.place = row, p
		return nil
	}
	s, err := b.in.source(ctx, row)
	if err != nil {
		return err
	}
	where, err := location(s.URL)
	if err != nil {
		return err
	}
	b.reach.add(where)
	p := placed{location: b.tail.put([]byte(where))}
	var etag string
	if p.kind, p.check, etag = check(s, where); p.kind == tagged {
		p.check = b.tail.put([]byte(etag))
	}
	b.last, b.place, b.places[row] = row, p, p
	return nil
}

// reserve adds a record that settle sets later.
func (b *bench) reserve(a *arrayRefs, coords []int64) *keptChunk {
	a.next(dropped, coords)
	k := &keptChunk{array: a, record: a.added() - 1}
	b.kept = append(b.kept, k)
	return k
}

// reencode starts re-encoding a chunk in the background.
func (b *bench) reencode(ctx context.Context, group *errgroup.Group, p *part, k *keptChunk, coords []int64) error {
	select {
	case b.reencoded <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	group.Go(func() error {
		defer func() { <-b.reencoded }()
		defer b.seen.Add(1)
		stored, err := p.array.chunks.Chunk(ctx, coords)
		if err == nil {
			err = b.keep(ctx, k, stored)
		}
		if err != nil {
			return fmt.Errorf("%s: chunk %v: %w", p.array.spec.Path, coords, err)
		}
		return nil
	})
	return nil
}

// keep stores the bytes of a chunk: in the manifest if they are few, otherwise as an object. Empty means that
// the chunk is missing.
func (w *writer) keep(ctx context.Context, k *keptChunk, stored []byte) (err error) {
	if k.length = len(stored); k.length <= w.inline {
		k.inline = bytes.Clone(stored)
		return nil
	}
	if k.id, err = w.ids.object(); err != nil {
		return err
	}
	return w.add(ctx, stored, chunksFolder, k.id)
}

// settle sets the records of the re-encoded chunks.
func (b *bench) settle(count *Counts) {
	for _, k := range b.kept {
		switch {
		case k.length == 0:
			// All elements turned out to be the fill value: the record stays dropped.
			k.array.n--
		case k.inline != nil:
			putInline(k.array.set(k.record, inlined), b.tail.put(k.inline))
			count.Inline++
		default:
			putNative(k.array.set(k.record, native), k.id, k.length)
			count.Native++
		}
	}
}

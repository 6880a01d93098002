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

// manifestWorker writes one manifest after another. It reuses its buffers.
type manifestWorker struct {
	*writer
	encoder *zstd.Encoder
	arrays  []*arrayRefs
	used    int
	tail    tail
	buffer  []byte
	file    []byte
	kept    []*keptChunk

	sources map[int64]sourceRecord // by source whose location is in the tail
	last    int64                  // the source of the previous ref
	source  sourceRecord
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
func (m *manifestWorker) do(ctx context.Context, j *job) error {
	m.used, m.tail.data, m.last, m.kept = 0, m.tail.data[:0], -1, m.kept[:0]
	clear(m.sources)
	group, inner := errgroup.WithContext(ctx)
	var failed error
	for _, p := range j.parts {
		if failed = m.part(inner, group, j, p); failed != nil {
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
	m.fillReserved(&j.count)
	arrays := m.arrays[:m.used]
	for i, a := range arrays {
		j.parts[i].refs = a.n
		j.info.refs += uint32(a.n)
	}
	if j.info.refs == 0 {
		return nil
	}
	return m.save(ctx, j, slices.DeleteFunc(slices.Clone(arrays), func(a *arrayRefs) bool { return a.n == 0 }))
}

// maxReserved bounds the refs for which memory is reserved in advance.
const maxReserved = 1 << 16

// array returns a buffer for the refs of a part.
func (m *manifestWorker) array(p *part) *arrayRefs {
	if m.used == len(m.arrays) {
		m.arrays = append(m.arrays, &arrayRefs{})
	}
	a := m.arrays[m.used]
	a.reset(p.node, p.box.Rank(), int(min(chunks(p.box), maxReserved)))
	m.used++
	return a
}

func (m *manifestWorker) save(ctx context.Context, j *job, arrays []*arrayRefs) (err error) {
	if m.buffer, err = encodeManifest(m.buffer, j.id, arrays, m.tail.data); err != nil {
		return err
	}
	m.file = m.encoder.EncodeAll(m.buffer, append(m.file[:0], header(file.Manifest)...))
	j.info.id, j.info.size = j.id, uint64(len(m.file))
	return m.add(ctx, m.file, manifestsFolder, j.id)
}

// countEvery is the number of quick refs per progress update.
const countEvery = 1 << 10

// part adds the records of one array.
func (m *manifestWorker) part(ctx context.Context, group *errgroup.Group, j *job, p *part) error {
	a := m.array(p)
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
			m.seen.Add(seen)
			seen = 0
		}
		if l.Kind == manifest.Missing {
			continue
		}
		if err := m.record(ctx, group, j, p, a, l); err != nil {
			return fmt.Errorf("%s: chunk %v: %w", p.array.spec.Path, l.Coords, err)
		}
		if p.isNew(l.Coords) {
			n, _ := p.array.grid.Number(l.Coords)
			numbers = append(numbers, n)
		}
	}
	m.seen.Add(seen)
	// Parts of one array in several workers share the log.
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range numbers {
		p.log.add(n)
	}
	return nil
}

// isNew reports whether the repository did not contain the chunk before.
func (p *part) isNew(coords []int64) bool { return p.axis < 0 || coords[p.axis] >= p.fresh }

// record adds the record of one chunk.
func (m *manifestWorker) record(ctx context.Context, group *errgroup.Group, j *job, p *part, a *arrayRefs, l *manifest.Location) error {
	if l.Kind == manifest.Reencoded {
		return m.reencode(ctx, group, p, m.reserve(a, l.Coords), slices.Clone(l.Coords))
	}
	if l.Source < 0 {
		return m.keep(ctx, m.reserve(a, l.Coords), l.Inline)
	}
	if l.Size <= 0 || l.Offset < 0 {
		return corruptf("%d bytes at %d of source %d", l.Size, l.Offset, l.Source)
	}
	// Consecutive chunks usually have the same source, so the last one is cached.
	if l.Source != m.last {
		if err := m.find(ctx, l.Source); err != nil {
			return err
		}
	}
	putVirtual(a.next(m.source.kind, l.Coords), m.source, l.Offset, l.Size)
	j.count.Virtual++
	if m.source.kind == virtual {
		j.count.Unguarded++
	}
	return nil
}

// find sets the location that refs of a source use, and caches it for this manifest.
func (m *manifestWorker) find(ctx context.Context, row int64) error {
	if p, ok := m.sources[row]; ok {
		m.last, m.source = row, p
		return nil
	}
	s, err := m.in.source(ctx, row)
	if err != nil {
		return err
	}
	where, err := location(s.URL)
	if err != nil {
		return err
	}
	p := sourceRecord{location: m.tail.put([]byte(m.reach.reference(where)))}
	var etag string
	if p.kind, p.check, etag = check(s, where); p.kind == tagged {
		p.check = m.tail.put([]byte(etag))
	}
	m.last, m.source, m.sources[row] = row, p, p
	return nil
}

// reserve adds a record that fillReserved sets later.
func (m *manifestWorker) reserve(a *arrayRefs, coords []int64) *keptChunk {
	a.next(dropped, coords)
	k := &keptChunk{array: a, record: a.added() - 1}
	m.kept = append(m.kept, k)
	return k
}

// reencode starts re-encoding a chunk in the background.
func (m *manifestWorker) reencode(ctx context.Context, group *errgroup.Group, p *part, k *keptChunk, coords []int64) error {
	select {
	case m.reencoded <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	group.Go(func() error {
		defer func() { <-m.reencoded }()
		defer m.seen.Add(1)
		stored, err := p.array.chunks.Chunk(ctx, coords)
		if err == nil {
			err = m.keep(ctx, k, stored)
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

// fillReserved sets the records of the re-encoded chunks.
func (m *manifestWorker) fillReserved(count *Counts) {
	for _, k := range m.kept {
		switch {
		case k.length == 0:
			// All elements turned out to be the fill value: the record stays dropped.
			k.array.n--
		case k.inline != nil:
			putInline(k.array.set(k.record, inlined), m.tail.put(k.inline))
			count.Inline++
		default:
			putNative(k.array.set(k.record, native), k.id, k.length)
			count.Native++
		}
	}
}

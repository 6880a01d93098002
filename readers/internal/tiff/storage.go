package tiff

import (
	"context"
	"iter"
	"math"
	"slices"

	"varve/grid"
	"varve/readers"
)

// setStorage sets where the pixels of an image are. The axes are those of shape.
func (m *image) setStorage(ctx context.Context, v *readers.Variable) error {
	s := &v.Storage
	if err := m.setPipeline(s, v.Type); err != nil {
		return err
	}
	n, ok := m.chunks()
	offsets, counts := m.lookup(m.offsetsTag()), m.lookup(m.countsTag())
	switch {
	case !ok:
		return readers.Corruptf("IFD %s has more tiles or strips than a file can hold", m.path)
	case offsets == nil:
		return nil // no pixels are stored
	case offsets.count < n:
		return m.fail(m.offsetsTag(), readers.Corruptf("%d positions of %d tiles or strips", offsets.count, n))
	case counts != nil && counts.count < n:
		return m.fail(m.countsTag(), readers.Corruptf("%d sizes of %d tiles or strips", counts.count, n))
	case m.rawSize(m.rows) > math.MaxInt64/2:
		return readers.Corruptf("IFD %s: a tile or strip of %d × %d pixels of %d samples takes more than 2^62 bytes", m.path, m.columns, m.rows, m.pixel())
	}
	if m.compression == uncompressed && n == 1 && !m.tiled && !m.isPacked() && len(s.Pipeline.Filters) == 0 && m.bits != 24 {
		return m.setContiguous(ctx, s)
	}
	s.Layout, s.Index, s.InOrder = readers.Chunked, "strips", true
	if m.tiled {
		s.Index = "tiles"
	}
	if err := m.setGrid(s); err != nil {
		return err
	}
	s.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) { m.refs(ctx, n, yield) }
	}
	return nil
}

func (m *image) offsetsTag() uint16 {
	if m.tiled || m.lookup(stripOffsets) == nil && m.lookup(tileOffsets) != nil {
		return tileOffsets
	}
	return stripOffsets
}

func (m *image) countsTag() uint16 {
	if m.offsetsTag() == tileOffsets && m.lookup(tileByteCounts) != nil {
		return tileByteCounts
	}
	return stripByteCounts
}

// setContiguous is for an image in one strip: any rows of it are a range of bytes.
func (m *image) setContiguous(ctx context.Context, s *readers.Storage) error {
	at, err := m.number(ctx, m.offsetsTag(), 0)
	if err != nil || at == 0 {
		return err
	}
	size := m.rawSize(m.rows)
	if end := uint64(m.file.src.Size()); at > end || size > end-at {
		return m.fail(m.offsetsTag(), readers.Corruptf("file is truncated: %d bytes of pixels at offset %d, but it has %d; fetch it again", size, at, end))
	}
	s.Layout, s.Offset, s.Bytes = readers.Contiguous, int64(at), size
	return nil
}

// shape returns the lengths of the axes of an image: planes of samples, planes of a volume, rows, columns and samples of
// a pixel, as far as there are any.
func (m *image) shape() (shape []uint64, names []string) {
	add := func(name string, n uint64) { names, shape = append(names, name), append(shape, n) }
	if m.separate {
		add("band", uint64(m.samples))
	}
	if m.depth > 1 {
		add("z", m.depth)
	}
	add("y", m.height)
	add("x", m.width)
	if m.pixel() > 1 {
		add("band", m.pixel())
	}
	return shape, names
}

// setGrid sets the shapes of tiles or strips.
func (m *image) setGrid(s *readers.Storage) error {
	var shape []uint64
	if m.separate {
		shape = append(shape, 1)
	}
	if m.depth > 1 {
		shape = append(shape, m.depthOfTile)
	}
	shape = append(shape, m.rows, m.columns)
	if m.pixel() > 1 {
		shape = append(shape, m.pixel())
	}
	if m.tiled || m.height%m.rows == 0 {
		s.ChunkShape = shape
		return nil
	}
	// The last strip has only the rows that are left.
	lengths, names := m.shape()
	dims := make([]grid.Dimension, len(shape))
	for k := range shape {
		edge, length := int64(shape[k]), int64(lengths[k])
		var err error
		if dims[k], err = grid.NewFixed(edge, length); names[k] == "y" {
			dims[k], err = grid.NewVarying([]grid.Run{grid.Times(edge, length/edge), grid.Times(length%edge, 1)}, length)
		}
		if err != nil {
			return readers.Corruptf("IFD %s: %w", m.path, err)
		}
	}
	g, err := grid.New(dims...)
	if err != nil {
		return readers.Corruptf("IFD %s: %w", m.path, err)
	}
	s.Grid = g
	return nil
}

// refs yields the position of each tile or strip that is stored. A position or a size of 0 stands for one that is not.
func (m *image) refs(ctx context.Context, n uint64, yield func(*readers.Ref, error) bool) {
	layers, down, across := m.counts()
	places := m.places(n)
	ref := readers.Ref{}
	for i := range n {
		at, size, err := places.next(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		if at == 0 || size == 0 {
			continue
		}
		y := i / across % down
		ref.Index = ref.Index[:0]
		if m.separate {
			ref.Index = append(ref.Index, i/across/down/layers)
		}
		if m.depth > 1 {
			ref.Index = append(ref.Index, i/across/down%layers)
		}
		ref.Index = append(ref.Index, y, i%across)
		if m.pixel() > 1 {
			ref.Index = append(ref.Index, 0)
		}
		if m.compression == uncompressed {
			// Writers may pad the last strip to the size of the others.
			size = min(size, m.rawSize(m.rowsOf(y)))
		}
		if end := uint64(m.file.src.Size()); at > end || size > end-at {
			yield(nil, m.fail(m.offsetsTag(), readers.Corruptf("file is truncated: tile or strip %d has %d bytes at offset %d, but the file has %d; fetch it again", i, size, at, end)))
			return
		}
		ref.Offset, ref.Size = int64(at), size
		if !yield(&ref, nil) {
			return
		}
	}
}

// places reads the lists of offsets and byte counts, a part at a time.
type places struct {
	m              *image
	offsets, sizes *entry
	n, done        uint64
	at, size       []uint64
}

// placesRead is the number of positions that are read at once.
const placesRead = 1 << 13

func (m *image) places(n uint64) *places {
	return &places{m: m, offsets: m.lookup(m.offsetsTag()), sizes: m.lookup(m.countsTag()), n: n}
}

// next returns the offset and the size of the next tile or strip.
func (p *places) next(ctx context.Context) (at, size uint64, err error) {
	if len(p.at) == 0 {
		count := min(placesRead, p.n-p.done)
		if p.at, err = p.read(ctx, p.offsets, count); err != nil {
			return 0, 0, p.m.fail(p.m.offsetsTag(), err)
		}
		if p.sizes == nil {
			p.size = p.m.guessSizes(p.at)
		} else if p.size, err = p.read(ctx, p.sizes, count); err != nil {
			return 0, 0, p.m.fail(p.m.countsTag(), err)
		}
		p.done += count
	}
	at, size = p.at[0], p.size[0]
	p.at, p.size = p.at[1:], p.size[1:]
	return at, size, nil
}

func (p *places) read(ctx context.Context, e *entry, count uint64) ([]uint64, error) {
	f := p.m.file
	n := e.typ.size()
	b, err := f.read(ctx, e.at+p.done*n, count*n)
	if err != nil {
		return nil, err
	}
	list, ok := integers(f.order, e.typ, b)
	if !ok || uint64(len(list)) != count {
		return nil, readers.Corruptf("values of type %d are not integers", e.typ)
	}
	return list, ctx.Err()
}

// guessSizes returns the sizes of tiles or strips for a file without their sizes, as libtiff does: those of the pixels,
// or what is left up to the next tile or strip, or the end of the file.
func (m *image) guessSizes(at []uint64) []uint64 {
	sizes := make([]uint64, len(at))
	sorted := slices.Sorted(slices.Values(at))
	for i, from := range at {
		if m.compression == uncompressed {
			sizes[i] = m.rawSize(m.rows)
			continue
		}
		end := uint64(m.file.src.Size())
		if k, _ := slices.BinarySearch(sorted, from+1); k < len(sorted) {
			end = min(end, sorted[k])
		}
		sizes[i] = max(end, from) - from
	}
	return sizes
}

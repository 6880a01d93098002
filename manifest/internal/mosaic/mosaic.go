package mosaic

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/convert"
	"varve/zarrjson"
)

// Files provides the headers and refs of sources by their rows.
type Files interface {
	// Header returns the header of a source, or nil if there is no such row. Sources with equal
	// headers share one pointer. It is called only for sources whose tiles meet the region of
	// interest.
	Header(ctx context.Context, row int64) (*manifest.FileHeader, error)
	// Row returns the row of the source's first ref.
	Row(row int64) int64
}

// Mosaic is one array: its schema and its tiles. It may be used by any number of goroutines.
type Mosaic struct {
	spec       *manifest.Array
	schema     *zarrjson.Array
	grid       *grid.Grid
	layout     *Layout
	files      Files
	fill       []byte // one element: the value of positions that no tile covers
	layoutAxes []int  // the layout's axis for each axis of the array, or -1
	axes       []int  // the array's axis for each axis of the layout
	known      convert.Known

	pipe      pipelines // of the schema
	fits      bounded[*manifest.FileHeader, *Fit]
	fitsByKey bounded[fitKey, *Fit]
}

// New returns the mosaic of an array with the tiles of a layout.
func New(a *manifest.Array, l *Layout, files Files) (*Mosaic, error) {
	m := &Mosaic{spec: a, schema: a.Schema, layout: l, files: files}
	var err error
	if m.grid, err = a.Schema.Grid(); err != nil {
		return nil, m.wrap(err)
	}
	if len(a.Dims) != m.grid.Rank() {
		return nil, m.wrap(corruptf("%d dimensions are named, but the schema has %d", len(a.Dims), m.grid.Rank()))
	}
	if err := m.findAxes(); err != nil {
		return nil, m.wrap(err)
	}
	m.fill = a.Schema.Fill
	if t := a.Schema.DataType.Type(); m.fill == nil && !t.Varies() {
		m.fill = make([]byte, t.Size)
	}
	m.pipe.of = func(shape []int64, _ uint32) (*codec.Pipeline, error) {
		return m.layout.shared.pipelines.New(m.schema.Codecs, m.schema.Form(shape))
	}
	return m, nil
}

// ReuseConversions sets conversions that other arrays have made already. Call it before any other method.
func (m *Mosaic) ReuseConversions(known convert.Known) { m.known = known }

// findAxes finds the array's axis for each axis of the layout.
func (m *Mosaic) findAxes() error {
	m.layoutAxes = make([]int, m.grid.Rank())
	for k := range m.layoutAxes {
		m.layoutAxes[k] = -1
	}
	for j, dim := range m.layout.dims {
		k := slices.Index(m.spec.Dims, dim)
		if k < 0 {
			return corruptf("tiles are placed along %s, which is not one of the dimensions %v", dim, m.spec.Dims)
		}
		m.layoutAxes[k] = j
		m.axes = append(m.axes, k)
	}
	return nil
}

func (m *Mosaic) wrap(err error) error { return fmt.Errorf("%s: %w", m.spec.Path, err) }

// Grid returns the chunk grid of the schema.
func (m *Mosaic) Grid() *grid.Grid { return m.grid }

// File returns the row of a tile's source.
func (m *Mosaic) File(tile int32) int64 { return m.layout.file(tile) }

// header returns the header of a tile's source.
func (m *Mosaic) header(ctx context.Context, tile int32) (*manifest.FileHeader, error) {
	row := m.layout.file(tile)
	h, err := m.files.Header(ctx, row)
	if err == nil && h == nil {
		err = corruptf("tile %d uses source %d, which does not exist", tile, row)
	}
	if err != nil {
		return nil, m.wrap(err)
	}
	return h, nil
}

// fit returns the fit of a header's variable, or nil if the header does not have the variable.
func (m *Mosaic) fit(h *manifest.FileHeader) (*Fit, error) {
	if f, ok := m.fits.load(h); ok {
		return f.orNone()
	}
	f, err := m.newFit(h)
	if err != nil {
		return nil, m.wrap(err)
	}
	return m.fits.loadOrStore(h, f).orNone()
}

// fitKey identifies everything that a fit depends on. Headers that differ only in other variables have
// equal keys, because they share the pointer of this variable, or the pointer and its differences.
type fitKey struct {
	variable   *manifest.Variable // without the differences
	own        string             // see manifest.FileHeader.Own
	rowsBefore int64
	nameMarks  string // see Mosaic.nameMarks
}

// pipelines caches pipelines by chunk shape and filter mask.
type pipelines struct {
	of func(shape []int64, mask uint32) (*codec.Pipeline, error)

	mu     sync.RWMutex
	cached []maskedPipeline
}

type maskedPipeline struct {
	*codec.Pipeline
	mask uint32
}

// maxCached limits caches that nearly always have only a few entries.
const maxCached = 64

func (p *pipelines) get(shape []int64, mask uint32) (*codec.Pipeline, error) {
	p.mu.RLock()
	for _, q := range p.cached {
		if q.mask == mask && slices.Equal(q.Form().Shape, shape) {
			p.mu.RUnlock()
			return q.Pipeline, nil
		}
	}
	p.mu.RUnlock()
	q, err := p.of(slices.Clone(shape), mask)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// Drop the older half. The cache is rarely full, so a better rule would not pay.
	if len(p.cached) >= maxCached {
		p.cached = append(p.cached[:0:0], p.cached[maxCached/2:]...)
	}
	p.cached = append(p.cached, maskedPipeline{q, mask})
	return q, nil
}

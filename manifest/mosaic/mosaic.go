package mosaic

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/convert"
	"varve/zarrjson"
)

// Files tells what is in the sources that tiles name, by their rows.
type Files interface {
	// Header returns what is in a source, or nil if there is no such row. Sources with equal
	// headers share one. It is asked for those only whose tiles meet what is looked at.
	Header(ctx context.Context, row int64) (*manifest.Header, error)
	// Row is the first of the source's refs.
	Row(row int64) int64
}

// Mosaic is one array: its schema, and the tiles behind it. It may be used by any number of
// goroutines.
type Mosaic struct {
	spec   *manifest.Array
	schema *zarrjson.Array
	grid   *grid.Grid
	layout *Layout
	files  Files
	fill   []byte // one element of the schema: what cells in no tile read as
	placed []int  // the layout's axis of each of the array's, or -1
	axes   []int  // the array's axis of each of the layout's
	known  convert.Known

	pipe pipelines // of the schema
	fits sync.Map  // *manifest.Header → *Fit
	same sync.Map  // fitKey → *Fit
}

// New returns the mosaic of an array whose tiles are in a layout.
func New(a *manifest.Array, l *Layout, files Files) (*Mosaic, error) {
	m := &Mosaic{spec: a, schema: a.Schema, layout: l, files: files}
	var err error
	if m.grid, err = a.Schema.Grid(); err != nil {
		return nil, m.wrap(err)
	}
	if len(a.Dims) != m.grid.Rank() {
		return nil, m.wrap(corruptf("%d dimensions, the schema has %d", len(a.Dims), m.grid.Rank()))
	}
	if err := m.place(); err != nil {
		return nil, m.wrap(err)
	}
	m.fill = a.Schema.Fill
	if t := a.Schema.DataType.Type(); m.fill == nil && !t.Varies() {
		m.fill = make([]byte, t.Size)
	}
	m.pipe.of = func(shape []int64, _ uint32) (*codec.Pipeline, error) {
		return m.layout.common.pipelines.New(m.schema.Codecs, m.schema.Form(shape))
	}
	return m, nil
}

// Know has the mosaic use conversions that were made before. It comes before any other method.
func (m *Mosaic) Know(known convert.Known) { m.known = known }

// place finds the array's axes along which tiles are placed.
func (m *Mosaic) place() error {
	m.placed = make([]int, m.grid.Rank())
	for k := range m.placed {
		m.placed[k] = -1
	}
	for j, dim := range m.layout.dims {
		k := slices.Index(m.spec.Dims, dim)
		if k < 0 {
			return corruptf("tiles are placed along %s, which is none of %v", dim, m.spec.Dims)
		}
		m.placed[k] = j
		m.axes = append(m.axes, k)
	}
	return nil
}

func (m *Mosaic) wrap(err error) error { return fmt.Errorf("%s: %w", m.spec.Path, err) }

// Grid is how the schema is cut into chunks.
func (m *Mosaic) Grid() *grid.Grid { return m.grid }

// File is the row of a tile's source.
func (m *Mosaic) File(tile int32) int64 { return m.layout.file(tile) }

// header returns what is in a tile's source.
func (m *Mosaic) header(ctx context.Context, tile int32) (*manifest.Header, error) {
	row := m.layout.file(tile)
	h, err := m.files.Header(ctx, row)
	if err == nil && h == nil {
		err = corruptf("tile %d names source %d, which is not there", tile, row)
	}
	if err != nil {
		return nil, m.wrap(err)
	}
	return h, nil
}

// fit returns how the variable of a header fits the schema, or nil if the header has none.
func (m *Mosaic) fit(h *manifest.Header) (*Fit, error) {
	if f, ok := m.fits.Load(h); ok {
		return f.(*Fit).orNone()
	}
	f, err := m.newFit(h)
	if err != nil {
		return nil, m.wrap(err)
	}
	kept, _ := m.fits.LoadOrStore(h, f)
	return kept.(*Fit).orNone()
}

// fitKey is all that a fit depends on: headers that differ in other variables only have one fit, as
// they share this one.
type fitKey struct {
	variable *manifest.Variable
	skip     int64
	unnamed  string // of its axes, where the array says what these are
}

// pipelines keeps those of some codecs, by the shape of chunks and the mask of filters.
type pipelines struct {
	of func(shape []int64, mask uint32) (*codec.Pipeline, error)

	mu   sync.RWMutex
	kept []keptPipeline
}

type keptPipeline struct {
	*codec.Pipeline
	mask uint32
}

// maxKept is how many things are kept that nearly always are a few.
const maxKept = 64

func (p *pipelines) get(shape []int64, mask uint32) (*codec.Pipeline, error) {
	p.mu.RLock()
	for _, q := range p.kept {
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
	if len(p.kept) >= maxKept {
		p.kept = append(p.kept[:0:0], p.kept[maxKept/2:]...)
	}
	p.kept = append(p.kept, keptPipeline{q, mask})
	return q, nil
}

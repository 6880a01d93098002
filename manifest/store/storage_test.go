package store

import (
	"slices"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
)

// store stores the values of a variable in a random layout. It returns the stored bytes, and the values that
// reading them gives. It may change the variable's axes.
func (w *world) store(v *manifest.Variable, values codec.Elems) ([]storedChunk, codec.Elems) {
	kind := w.r.IntN(8)
	if w.agrees && w.r.IntN(2) == 0 {
		kind = 7
	}
	if w.typ.Varies() && kind < 3 {
		kind += 3
	}
	switch kind {
	case 0, 1:
		return w.strided(v, values), values
	case 2:
		v.Storage = manifest.Storage{Layout: manifest.Inline, Chunks: v.Shape, Codecs: w.codecs(v.Shape)}
		return []storedChunk{{bytes: w.encode(v.Storage.Codecs, v, v.Shape, values), inline: true}}, values
	case 3:
		if w.r.IntN(2) == 0 {
			v.Storage.Layout = manifest.Nothing
			fillElems(values, v.Fill.Value)
			return nil, values
		}
	case 4, 5:
		return w.turned(v, values)
	}
	return w.chunked(v, values)
}

// strided stores rows, with or without gaps.
func (w *world) strided(v *manifest.Variable, values codec.Elems) []storedChunk {
	endian := []string{"little", "big"}[w.r.IntN(2)]
	v.Storage = manifest.Storage{Layout: manifest.Strided, Codecs: []codec.Spec{spec("bytes", `{"endian":"`+endian+`"}`)}}
	all := w.encode(v.Storage.Codecs, v, v.Shape, values)
	if w.r.IntN(2) == 0 || len(v.Shape) == 0 {
		return []storedChunk{{bytes: all}}
	}
	row := int64(len(all)) / v.Shape[0]
	v.Storage.Stride = row + w.r.Int64N(20)
	var apart []byte
	for i := range v.Shape[0] {
		apart = append(apart, all[i*row:(i+1)*row]...)
		apart = append(apart, make([]byte, v.Storage.Stride-row)...)
	}
	return []storedChunk{{bytes: apart}}
}

func (w *world) encode(codecs []codec.Spec, v *manifest.Variable, shape []int64, e codec.Elems) []byte {
	p, err := codec.New(codecs, codec.Form{Type: v.Type, Shape: shape, Fill: v.Fill.Value})
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := p.Encode([]byte{}, e)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// turned stores a variable with another order of its axes, or without some axes of length 1.
func (w *world) turned(v *manifest.Variable, values codec.Elems) ([]storedChunk, codec.Elems) {
	order := w.r.Perm(len(v.Shape))
	if w.r.IntN(2) == 0 {
		slices.Sort(order)
	}
	order = slices.DeleteFunc(order, func(k int) bool { return v.Shape[k] == 1 && w.r.IntN(2) == 0 })
	u := *v
	u.Shape, u.Dims = nil, nil
	var from []int64 // the shape without the axes that are left out
	kept := slices.Sorted(slices.Values(order))
	for _, k := range kept {
		from = append(from, v.Shape[k])
	}
	var turn []int
	for _, k := range order {
		u.Shape = append(u.Shape, v.Shape[k])
		u.Dims = append(u.Dims, v.Dims[k])
		turn = append(turn, slices.Index(kept, k))
	}
	there := codec.NewElems(codec.Form{Type: w.typ, Shape: u.Shape})
	transposeElems(w.t, there, values, from, turn, w.typ)
	chunks, there := w.chunked(&u, there)
	back := codec.NewElems(codec.Form{Type: w.typ, Shape: v.Shape})
	undo := make([]int, len(turn))
	for i, k := range turn {
		undo[k] = i
	}
	transposeElems(w.t, back, there, u.Shape, undo, w.typ)
	*v = u
	return chunks, back
}

func transposeElems(t testing.TB, dst, src codec.Elems, shape []int64, order []int, typ codec.Type) {
	var err error
	if typ.Varies() {
		err = grid.Transpose(dst.Var, src.Var, shape, order, 1)
	} else {
		err = grid.Transpose(dst.Fixed, src.Fixed, shape, order, int64(typ.Size))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// chunked stores chunks. It leaves out some chunks, and skips filters for others.
func (w *world) chunked(v *manifest.Variable, values codec.Elems) (stored []storedChunk, written codec.Elems) {
	shape := make([]int64, len(v.Shape))
	for k, n := range v.Shape {
		shape[k] = 1 + w.r.Int64N(n+1)
	}
	g, err := w.spec.Schema.Grid()
	if err != nil {
		w.t.Fatal(err)
	}
	if c, ok := g.ChunkShape(); ok && len(c) == len(shape) && w.r.IntN(2) == 0 {
		copy(shape, c)
	}
	v.Storage = manifest.Storage{Layout: manifest.Chunked, Chunks: shape, Codecs: w.codecs(shape)}
	if w.r.IntN(2) == 0 {
		v.Storage.Codecs = w.spec.Schema.Codecs
	}
	if w.agrees && len(v.Shape) == len(w.shape) {
		w.agree(g, v)
	} else if w.r.IntN(4) == 0 && len(v.Shape) > 0 && v.Storage.Codecs[0].Name != "sharding_indexed" {
		v.Storage.Chunks = nil
		for _, n := range v.Shape {
			half := 1 + n/2
			v.Storage.Edges = append(v.Storage.Edges, [][2]int64{{half, 1}, {2, n}})
		}
	}
	v.Storage.Filters = w.r.IntN(len(v.Storage.Codecs))
	v.Storage.RawEdges = w.r.IntN(4) == 0
	if g, err = v.Grid(); err != nil {
		w.t.Fatal(err)
	}
	lost := []int{0, 3, 100}[w.r.IntN(3)]
	plain := newWindow(values, grid.Whole(v.Shape), w.typ)
	plain.region.Origin = make([]int64, len(v.Shape))
	for walk := g.Walk(); walk.Next(); {
		if w.r.IntN(lost+1) > 2 || lost == 3 && w.r.IntN(3) == 0 {
			plain.fill(walk.Region, v.Fill.Value)
			stored = append(stored, storedChunk{})
			continue
		}
		e := codec.NewElems(codec.Form{Type: w.typ, Shape: walk.Codec})
		w.randomize(e) // elements beyond the border may have any value
		to := newWindow(e, grid.Region{Origin: walk.Origin, Shape: walk.Codec}, w.typ)
		if err := to.copyFrom(&plain, walk.Region); err != nil {
			w.t.Fatal(err)
		}
		stored = append(stored, w.chunk(v, &walk.Chunk, e))
	}
	return stored, values
}

// agree gives a variable the codecs of the schema, and the chunk shape that the schema has at the origin of the
// tile, or longer chunks.
func (w *world) agree(g *grid.Grid, v *manifest.Variable) {
	coords, _, err := g.Locate(w.origin)
	if err != nil {
		w.t.Fatal(err)
	}
	c, _ := g.Chunk(coords)
	v.Storage.Codecs = w.spec.Schema.Codecs
	v.Storage.Chunks = slices.Clone(c.Codec)
	if len(c.Codec) > 0 && w.r.IntN(3) == 0 {
		v.Storage.Chunks[0] += w.r.Int64N(3)
	}
}

func (w *world) chunk(v *manifest.Variable, c *grid.Chunk, e codec.Elems) storedChunk {
	s := &v.Storage
	mask := uint32(0)
	if w.r.IntN(3) == 0 {
		mask = w.r.Uint32() & (1<<s.Filters - 1)
	}
	use := mask
	for k := range c.Codec {
		if s.RawEdges && c.Origin[k]+c.Codec[k] > v.Shape[k] {
			use = 1<<s.Filters - 1
		}
	}
	var codecs []codec.Spec
	for i, one := range s.Codecs {
		if f := i - (len(s.Codecs) - s.Filters); f < 0 || use>>f&1 == 0 {
			codecs = append(codecs, one)
		}
	}
	return storedChunk{bytes: w.encode(codecs, v, c.Codec, e), mask: mask, inline: w.r.IntN(10) == 0}
}

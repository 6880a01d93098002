package zarrjson

import (
	"iter"
	"slices"

	"varve/codec"
	"varve/grid"
)

// ChunkLayout says how an array is divided, as its metadata declares it, and which parts
// can be read and written alone.
type ChunkLayout struct {
	Declared *codec.Layout
	Read     codec.Granularity // the smallest parts that can be read alone: see codec.ReadGranularity
	Write    codec.Granularity // the smallest parts that can be written alone: see codec.WriteGranularity

	// ReadSizes and WriteSizes are, for each axis, the lengths of these parts within the
	// array's shape, run-length encoded: zarr-python's read_chunk_sizes and
	// write_chunk_sizes. An axis is nil if it has more than MaxSizeRuns runs.
	ReadSizes, WriteSizes [][]grid.Run
}

// MaxSizeRuns is the largest number of runs in ChunkLayout.
const MaxSizeRuns = 1 << 16

// ChunkLayout returns the layout of the array.
func (a *Array) ChunkLayout() (*ChunkLayout, error) {
	g, err := a.Grid()
	if err != nil {
		return nil, err
	}
	first := make([]int64, g.Rank())
	for axis := range first {
		for edge := range g.Dim(axis).Unique() {
			first[axis] = edge.Codec
			break
		}
	}
	p, err := codec.New(a.Codecs, a.Form(first))
	if err != nil {
		return nil, atPath("codecs", err)
	}
	l := &ChunkLayout{}
	if l.Declared, err = codec.DeclaredLayout(g, p); err == nil {
		l.Read, err = codec.ReadGranularity(g, p)
	}
	if err == nil {
		l.Write, err = codec.WriteGranularity(g, p)
	}
	if err == nil {
		l.ReadSizes, err = sizesWithin(g, l.Read.Layout)
	}
	if err == nil {
		l.WriteSizes, err = sizesWithin(g, l.Write.Layout)
	}
	return l, atPath("codecs", err)
}

// sizesWithin returns the lengths of the innermost chunks of a layout along each axis.
func sizesWithin(g *grid.Grid, l *codec.Layout) ([][]grid.Run, error) {
	all := make([][]grid.Run, g.Rank())
	for axis := range all {
		var inner []int64
		for _, level := range l.Levels()[1:] {
			size, _ := level.Chunks[axis].RegularSize() // inner chunks of a shard have one shape
			inner = append(inner, size)
		}
		runs, err := grid.ReadRuns(g.Dim(axis), inner...)
		if err != nil {
			return nil, err
		}
		all[axis] = collectAtMost(runs, MaxSizeRuns)
	}
	return all, nil
}

// collectAtMost returns nil if there are more runs than most.
func collectAtMost(runs iter.Seq[grid.Run], most int) []grid.Run {
	list := []grid.Run{}
	for run := range runs {
		if len(list) == most {
			return nil
		}
		list = append(list, run)
	}
	return list
}

// MarshalJSON returns the layout as JSON. An axis is a size, or a list of sizes and
// [size, count] runs, as in chunk_shapes; null if it has more than MaxSizeRuns runs.
//
//	{"regular": false, "sharded": true,
//	 "declared": [{"chunks": [[[60, 2], 20], 40]}, {"chunks": [20, 10]}],
//	 "readable": {"levels": [[[[60, 2], 20], 40], [20, 10]], "elements": false},
//	 "writable": {"levels": [[[[60, 2], 20], 40]], "elements": false},
//	 "read_chunk_sizes": [[[20, 7]], [[10, 12]]],
//	 "write_chunk_sizes": [[[60, 2], 20], [[40, 3]]]}
//
// A level with inner chunks also has "index_location" and "index_codecs".
func (l *ChunkLayout) MarshalJSON() ([]byte, error) {
	return encode(Compact, func(w *writer) error {
		w.begin('{')
		w.flag("regular", l.Declared.IsRegular())
		w.flag("sharded", l.Declared.IsSharded())
		w.name("declared")
		w.begin('[')
		for _, level := range l.Declared.Levels() {
			w.next()
			if err := writeLevel(w, level); err != nil {
				return err
			}
		}
		w.end(']')
		writeGranularity(w, "readable", l.Read)
		writeGranularity(w, "writable", l.Write)
		writeSizes(w, "read_chunk_sizes", l.ReadSizes)
		writeSizes(w, "write_chunk_sizes", l.WriteSizes)
		w.end('}')
		return nil
	})
}

func (w *writer) flag(name string, value bool) {
	w.name(name)
	if value {
		w.verbatim([]byte("true"))
	} else {
		w.verbatim([]byte("false"))
	}
}

func writeLevel(w *writer, l *codec.Layout) error {
	w.begin('{')
	w.name("chunks")
	writeLevelSizes(w, l)
	if isPadded(l) {
		w.name("encoded_chunks")
		w.begin('[')
		for _, s := range l.Chunks {
			w.next()
			writeAxisRuns(w, s, grid.CodecRuns)
		}
		w.end(']')
	}
	if l.Index != nil {
		w.name("index_location")
		w.text(map[bool]string{false: "end", true: "start"}[l.Index.First])
		w.name("index_codecs")
		if err := writeCodecs(w, l.Index.Codecs); err != nil {
			return err
		}
	}
	w.end('}')
	return nil
}

// isPadded reports whether chunks of a level decode to more than their data.
func isPadded(l *codec.Layout) bool {
	return slices.ContainsFunc(l.Chunks, func(s grid.Sizes) bool {
		return slices.ContainsFunc(s.Runs(), func(r grid.Run) bool { return r.Codec != r.Data })
	})
}

// writeLevelSizes writes the data sizes of a level.
func writeLevelSizes(w *writer, l *codec.Layout) {
	w.begin('[')
	for _, s := range l.Chunks {
		w.next()
		writeAxisRuns(w, s, grid.DataRuns)
	}
	w.end(']')
}

func writeAxisRuns(w *writer, s grid.Sizes, which func(iter.Seq[grid.Run]) iter.Seq[grid.Run]) {
	size, repeats := s.RegularSize()
	switch {
	case repeats:
		w.integer(size)
	case len(s.Runs()) > MaxSizeRuns:
		w.verbatim([]byte("null"))
	default:
		writeRuns(w, which(each(s.Runs())))
	}
}

func writeGranularity(w *writer, name string, g codec.Granularity) {
	w.name(name)
	w.begin('{')
	w.name("levels")
	w.begin('[')
	for _, level := range g.Levels() {
		w.next()
		writeLevelSizes(w, level)
	}
	w.end(']')
	w.flag("elements", g.Elements)
	w.end('}')
}

func writeSizes(w *writer, name string, axes [][]grid.Run) {
	w.name(name)
	w.begin('[')
	for _, runs := range axes {
		w.next()
		if runs == nil {
			w.verbatim([]byte("null"))
			continue
		}
		writeRuns(w, each(runs))
	}
	w.end(']')
}

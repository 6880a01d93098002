package grid

import (
	"errors"
	"fmt"
	"iter"
)

// Edge is a chunk's length along one axis. Codec is the length that the codec decodes,
// Data the number of decoded elements that belong to the array: 1 ≤ Data ≤ Codec.
type Edge struct {
	Codec, Data int64
}

// Full returns an edge without padding, as nearly all edges are.
func Full(size int64) Edge { return Edge{Codec: size, Data: size} }

func (e Edge) check() error {
	if e.Data < 1 {
		return fmt.Errorf("size %d: must be at least 1", e.Data)
	}
	if e.Codec < e.Data {
		return fmt.Errorf("codec size %d: must be at least the data size %d", e.Codec, e.Data)
	}
	return nil
}

// Run is a sequence of Count equal edges.
type Run struct {
	Edge
	Count int64
}

// Times returns a run of count edges of one size, [size, count] in a document. A
// Dimension checks it.
func Times(size, count int64) Run { return Run{Full(size), count} }

// Compress run-length encodes a list of sizes: 10, 10, 20 become [10, 2], [20, 1].
func Compress(sizes ...int64) []Run {
	var runs []Run
	for _, size := range sizes {
		if last := len(runs) - 1; last >= 0 && runs[last].Data == size {
			runs[last].Count++
			continue
		}
		runs = append(runs, Times(size, 1))
	}
	return runs
}

// Expand yields the edges of runs one by one. Counts may be huge: the caller decides when
// to stop.
func Expand(runs iter.Seq[Run]) iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		for run := range runs {
			for range run.Count {
				if !yield(run.Edge) {
					return
				}
			}
		}
	}
}

// Merge yields runs with equal neighbours merged: the canonical run-length encoding. Two
// runs whose counts add up to more than an int64 holds are not merged.
func Merge(runs iter.Seq[Run]) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		var pending Run
		for run := range runs {
			if joined, fits := add(pending.Count, run.Count); fits && run.Edge == pending.Edge {
				pending.Count = joined
				continue
			}
			if pending.Count > 0 && !yield(pending) {
				return
			}
			pending = run
		}
		if pending.Count > 0 {
			yield(pending)
		}
	}
}

// CodecRuns yields the codec sizes of runs as edges without padding, merged: the field
// encoded_chunk_shapes.
func CodecRuns(runs iter.Seq[Run]) iter.Seq[Run] {
	return Merge(func(yield func(Run) bool) {
		for run := range runs {
			if !yield(Times(run.Codec, run.Count)) {
				return
			}
		}
	})
}

// DataRuns yields the data sizes of runs as edges without padding, merged: the field
// chunk_shapes.
func DataRuns(runs iter.Seq[Run]) iter.Seq[Run] {
	return Merge(func(yield func(Run) bool) {
		for run := range runs {
			if !yield(Times(run.Data, run.Count)) {
				return
			}
		}
	})
}

// Zip joins data sizes and codec sizes that were declared separately. Both must have the
// same number of edges, and no codec size may be below its data size. It takes one step
// for each run, not for each edge.
func Zip(data, codec []Run) ([]Run, error) {
	if err := checkSameCount(data, codec); err != nil {
		return nil, err
	}
	var runs []Run
	var i, j int
	var usedData, usedCodec, edge int64
	for i < len(data) {
		n := min(data[i].Count-usedData, codec[j].Count-usedCodec)
		joined := Edge{Codec: codec[j].Data, Data: data[i].Data}
		if err := joined.check(); err != nil {
			return nil, fmt.Errorf("edge %d: %w", edge, err)
		}
		runs = append(runs, Run{joined, n})
		edge += n
		// At least one of the two runs ends here, so the loop takes at most one step per
		// run of either list.
		if usedData += n; usedData == data[i].Count {
			i, usedData = i+1, 0
		}
		if usedCodec += n; usedCodec == codec[j].Count {
			j, usedCodec = j+1, 0
		}
	}
	return runs, nil
}

func checkSameCount(data, codec []Run) error {
	d, _, err := Sum(data)
	if err != nil {
		return fmt.Errorf("data sizes: %w", err)
	}
	c, _, err := Sum(codec)
	if err != nil {
		return fmt.Errorf("codec sizes: %w", err)
	}
	if c != d {
		return fmt.Errorf("%d codec sizes for %d data sizes: there must be as many", c, d)
	}
	return nil
}

var errNoEdges = errors.New("no edges: at least one is needed; a zero extent is declared with one size that repeats")

// Sum checks runs and returns the number of their edges and the sum of their data sizes.
// Sizes, counts and the number of runs must be at least 1; sums that overflow an int64
// are errors.
func Sum(runs []Run) (edges, length int64, err error) {
	if len(runs) == 0 {
		return 0, 0, errNoEdges
	}
	for i, run := range runs {
		if err := run.check(); err != nil {
			return 0, 0, fmt.Errorf("run %d: %w", i, err)
		}
		if run.Count < 1 {
			return 0, 0, fmt.Errorf("run %d: count %d: must be at least 1", i, run.Count)
		}
		data, fits := mul(run.Data, run.Count)
		if fits {
			length, fits = add(length, data)
		}
		if !fits {
			return 0, 0, fmt.Errorf("run %d: %d edges of %d: the sum passes 2^63−1", i, run.Count, run.Data)
		}
		edges += run.Count // no more than length, as every edge is at least 1
	}
	return edges, length, nil
}

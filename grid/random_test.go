package grid_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"varve/fixtures/soak"
	"varve/grid"
)

// rounds runs a property test with n seeds, or with the seeds that the package soak selects.
func rounds(t *testing.T, n int, test func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for seed := range soak.Seeds(t, n) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { test(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

// axisModel is one dimension without run lengths or prefix sums: a list of edges.
type axisModel struct {
	edges  []grid.Edge
	extent int64
}

// chunkOf returns the number of the chunk that contains an index, and where it begins.
func (m axisModel) chunkOf(index int64) (chunk, offset int64) {
	for i, e := range m.edges {
		if index < offset+e.Data {
			return int64(i), offset
		}
		offset += e.Data
	}
	panic("index past the edges")
}

// chunks returns the number of edges that begin before the extent.
func (m axisModel) chunks() int64 {
	n, offset := int64(0), int64(0)
	for _, e := range m.edges {
		if offset < m.extent {
			n++
		}
		offset += e.Data
	}
	return n
}

func randomEdge(r *rand.Rand) grid.Edge {
	e := grid.Full(1 + r.Int64N(4))
	if r.IntN(5) == 0 {
		e.Codec += r.Int64N(3)
	}
	return e
}

func randomRuns(r *rand.Rand) []grid.Run {
	runs := make([]grid.Run, 1+r.IntN(4))
	for i := range runs {
		runs[i] = grid.Run{Edge: randomEdge(r), Count: 1 + r.Int64N(3)}
	}
	return runs
}

func expand(runs []grid.Run) (edges []grid.Edge, length int64) {
	for _, run := range runs {
		for range run.Count {
			edges = append(edges, run.Edge)
			length += run.Data
		}
	}
	return edges, length
}

// randomAxis returns a dimension of a random type and its model.
func randomAxis(t testing.TB, r *rand.Rand) (grid.Dimension, axisModel) {
	t.Helper()
	switch r.IntN(3) {
	case 0:
		return randomFixed(t, r)
	case 1:
		runs := randomRuns(r)
		edges, length := expand(runs)
		m := axisModel{edges, r.Int64N(length + 1)}
		if r.IntN(2) == 0 {
			m.extent = length
		}
		d, err := grid.NewVarying(runs, m.extent)
		check(t, err)
		return d, m
	}
	runs := randomRuns(r)
	period, _ := expand(runs)
	m := axisModel{nil, r.Int64N(20)}
	for length := int64(0); length < m.extent || len(m.edges) == 0; {
		e := period[len(m.edges)%len(period)]
		m.edges = append(m.edges, e)
		length += e.Data
	}
	d, err := grid.NewTiled(runs, m.extent)
	check(t, err)
	return d, m
}

func randomFixed(t testing.TB, r *rand.Rand) (grid.Dimension, axisModel) {
	size, extent := 1+r.Int64N(6), r.Int64N(15)
	d, err := grid.NewFixed(size, extent)
	check(t, err)
	m := axisModel{nil, extent}
	for length := int64(0); length < extent; length += size {
		m.edges = append(m.edges, grid.Full(size))
	}
	return d, m
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// arrayModel is a small array whose elements are their C-order positions plus one, cut
// into chunks by the models of its axes.
type arrayModel struct {
	grid   *grid.Grid
	axes   []axisModel
	shape  []int64
	chunks map[string]*chunkModel
}

type chunkModel struct {
	shape []int64 // codec shape
	data  []int32 // −1 for elements without data
}

func randomArray(t testing.TB, r *rand.Rand) *arrayModel {
	t.Helper()
	a := &arrayModel{chunks: map[string]*chunkModel{}, shape: []int64{}}
	var dims []grid.Dimension
	for range r.IntN(4) {
		d, m := randomAxis(t, r)
		dims = append(dims, d)
		a.axes = append(a.axes, m)
		a.shape = append(a.shape, m.extent)
	}
	g, err := grid.New(dims...)
	check(t, err)
	a.grid = g
	return a
}

// each calls do with every index of a shape, in C order.
func each(shape []int64, do func(index []int64)) {
	index := make([]int64, len(shape))
	var walk func(k int)
	walk = func(k int) {
		if k == len(shape) {
			do(index)
			return
		}
		for index[k] = 0; index[k] < shape[k]; index[k]++ {
			walk(k + 1)
		}
	}
	walk(0)
}

func flatten(shape, index []int64) int64 {
	n := int64(0)
	for k, i := range index {
		n = n*shape[k] + i
	}
	return n
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, length := range shape {
		n *= length
	}
	return n
}

// chunkOf returns the model of the chunk that contains an element, and the element's
// position in it. A chunk is created when it is first used.
func (a *arrayModel) chunkOf(index []int64) (c *chunkModel, place int64) {
	coords, within, codec := make([]int64, len(index)), make([]int64, len(index)), make([]int64, len(index))
	for k, m := range a.axes {
		chunk, offset := m.chunkOf(index[k])
		coords[k], within[k], codec[k] = chunk, index[k]-offset, m.edges[chunk].Codec
	}
	key := fmt.Sprint(coords)
	if a.chunks[key] == nil {
		c := &chunkModel{codec, make([]int32, product(codec))}
		for i := range c.data {
			c.data[i] = -1
		}
		a.chunks[key] = c
	}
	return a.chunks[key], flatten(codec, within)
}

// fill sets every element of every chunk to its value.
func (a *arrayModel) fill() {
	each(a.shape, func(index []int64) {
		c, place := a.chunkOf(index)
		c.data[place] = int32(flatten(a.shape, index)) + 1
	})
}

package main

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"varve/grid"
)

// gridRows measures memory and speed of package grid, for which there is no peer.
func gridRows() []row {
	const runs, edges = 1_000_000, 10_000_000
	equal := must(grid.NewVarying([]grid.Run{grid.Times(30, edges)}, 30*edges))
	perAxis := heap(1000, func() any {
		return must(grid.NewVarying([]grid.Run{grid.Times(30, edges)}, 30*edges))
	})
	list := make([]grid.Run, runs)
	extent := int64(0)
	for i := range list {
		list[i] = grid.Times(int64(20+i%13), edges/runs)
		extent += list[i].Count * list[i].Data
	}
	perRun := heap(1, func() any { return must(grid.NewVarying(list, extent)) }) / runs
	axis := must(grid.NewVarying(list, extent))
	return []row{
		{name: "axis of 10M equal chunks", ours: perAxis, unit: "B", bar: 200, isMaximum: true},
		{name: "1M runs, a run", ours: perRun, unit: "B", bar: 24.1, isMaximum: true},
		{name: "lookup in 1M runs", ours: 1e9 / lookups(axis, extent), unit: "ns", bar: 150, isMaximum: true},
		{name: "walk, equal chunks", ours: walk(equal) / 1e6, unit: "M/s", bar: 20},
		{name: "walk, 1M runs", ours: walk(axis) / 1e6, unit: "M/s", bar: 20},
		{name: "walk, allocations a chunk", ours: walkAllocations(axis), unit: "", bar: 0.001, isMaximum: true},
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the arguments are constants
	}
	return v
}

// heap returns the heap bytes per value that make1 returns, averaged over n values.
func heap(n int, make1 func() any) float64 {
	keep := make([]any, n)
	var before, after runtime.MemStats
	runtime.GC() // garbage of earlier rows must not be counted
	runtime.ReadMemStats(&before)
	for i := range keep {
		keep[i] = make1()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(keep)
	return float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
}

// lookups returns the number of random indices per second for which axis.Find returns the chunk.
func lookups(axis grid.Dimension, extent int64) float64 {
	r := rand.New(rand.NewPCG(3, 14))
	indices := make([]int64, 1<<16)
	for i := range indices {
		indices[i] = r.Int64N(extent)
	}
	return perSecond(len(indices), func(b *testing.B) {
		for b.Loop() {
			for _, index := range indices {
				if _, err := axis.Find(index); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// plane returns a grid of axis and a second dimension of three chunks.
func plane(axis grid.Dimension) *grid.Grid {
	return must(grid.New(axis, must(grid.NewFixed(100, 300))))
}

// walk returns the number of chunks of plane(axis) that a walk visits per second.
func walk(axis grid.Dimension) float64 {
	g := plane(axis)
	return perSecond(int(g.Chunks()), func(b *testing.B) {
		for b.Loop() {
			n := int64(0)
			for w := g.Walk(); w.Next(); {
				n++
			}
			if n != g.Chunks() {
				b.Fatalf("visited %d chunks of %d", n, g.Chunks())
			}
		}
	})
}

func walkAllocations(axis grid.Dimension) float64 {
	g := plane(axis)
	return testing.AllocsPerRun(1, func() {
		for w := g.Walk(); w.Next(); {
			continue
		}
	}) / float64(g.Chunks())
}

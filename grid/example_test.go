package grid_test

import (
	"fmt"
	"log"
	"slices"

	"varve/grid"
)

// A daily archive has one file per month: the edges along time repeat the lengths of the
// months of four years, and the other dimension has chunks of 100.
func ExampleNewTiled() {
	year := []int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	leap := slices.Clone(year)
	leap[1] = 29
	fourYears := slices.Concat(leap, year, year, year)

	time, err := grid.NewTiled(grid.Compress(fourYears...), 40*1461/4) // 40 years
	if err != nil {
		log.Fatal(err)
	}
	january, _ := time.DataSize(0)
	february, _ := time.DataSize(1)
	fmt.Println(time.Chunks(), "months, the first two of them", january, february)

	x, err := grid.NewFixed(100, 250)
	if err != nil {
		log.Fatal(err)
	}
	g, err := grid.New(time, x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Shape(), "in", g.Counts(), "chunks, regular:", g.IsRegular())
	// Output:
	// 480 months, the first two of them 31 29
	// [14610 250] in [480 3] chunks, regular: false
}

func ExampleGrid_Chunk() {
	g, err := grid.FromSizes([]int64{59, 250}, grid.List(31, 28, 31), grid.Every(100))
	if err != nil {
		log.Fatal(err)
	}
	c, ok := g.Chunk([]int64{1, 2})
	fmt.Println(c.Region, "of a buffer of", c.Codec, ok)

	_, ok = g.Chunk([]int64{2, 0}) // a cell past the extent
	fmt.Println(ok)

	coords, within, err := g.Locate([]int64{40, 120})
	fmt.Println(coords, within, err)
	// Output:
	// [31:59, 200:250] of a buffer of [28 100] true
	// false
	// [1 1] [9 20] <nil>
}

// Select rows 3, 58 and 30 of a chunked matrix, and every fourth column from 98 to 105.
func ExampleOrthogonal() {
	g, err := grid.FromSizes([]int64{59, 250}, grid.List(31, 28), grid.Every(100))
	if err != nil {
		log.Fatal(err)
	}
	x, err := grid.Orthogonal(g, grid.Indices(3, 58, 30), grid.Range(98, 106).By(4))
	if err != nil {
		log.Fatal(err)
	}
	out := make([]string, 6)
	for c := x.Project(); c.Next(); {
		// In a program the chunk's elements come from a codec.
		chunk := grid.Window[string]{Data: make([]string, c.Codec[0]*c.Codec[1]), Region: grid.Whole(c.Codec)}
		for i := range chunk.Data {
			row, column := int64(i)/c.Codec[1]+c.Origin[0], int64(i)%c.Codec[1]+c.Origin[1]
			chunk.Data[i] = fmt.Sprintf("%d,%d", row, column)
		}
		fmt.Println("chunk", c.Coords, "has", c.Count())
		if err := grid.Gather(&c.Projection, out, chunk, 1); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(x.Shape(), out)
	// Output:
	// chunk [0 0] has 2
	// chunk [0 1] has 2
	// chunk [1 0] has 1
	// chunk [1 1] has 1
	// [3 2] [3,98 3,102 58,98 58,102 30,98 30,102]
}

// A year's archive grows by two months. Their edges are given, so that each file is a
// chunk; without them the largest edge is repeated, and the last chunk is not full.
func ExampleGrid_ResizeAxis() {
	g, err := grid.FromSizes([]int64{59}, grid.List(31, 28))
	if err != nil {
		log.Fatal(err)
	}
	named, err := g.ResizeAxis(0, 120, grid.Append(grid.Compress(31, 30)...))
	if err != nil {
		log.Fatal(err)
	}
	repeated, err := g.ResizeAxis(0, 120, grid.Repeat())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(slices.Collect(grid.DataSizes(named.Dim(0))))
	fmt.Println(slices.Collect(grid.DataSizes(repeated.Dim(0))))
	// Output:
	// [31 28 31 30]
	// [31 28 31 30]
}

// Copy the part of a decoded chunk that a request covers to the request's buffer.
func ExampleCopyShared() {
	chunk := grid.Window[byte]{
		Data:   []byte("abcdefghi"),
		Region: grid.Region{Origin: []int64{3, 3}, Shape: []int64{3, 3}},
	}
	answer := grid.Window[byte]{
		Data:   []byte("........"),
		Region: grid.Region{Origin: []int64{4, 2}, Shape: []int64{2, 4}},
	}
	some, err := grid.CopyShared(answer, chunk, 1)
	fmt.Printf("%s %v %v\n", answer.Data, some, err)
	// Output:
	// .def.ghi true <nil>
}

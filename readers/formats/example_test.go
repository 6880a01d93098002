package formats_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

const month = "../../fixtures/demo/2021-01.nc"

// The content of a file: groups, variables and attributes, and the positions of its chunks.
func ExampleOpen() {
	ctx := context.Background()
	src, err := source.Open(ctx, month)
	if err != nil {
		panic(err)
	}
	defer src.Close()
	data, err := formats.Open(ctx, src, nil)
	if err != nil {
		panic(err)
	}
	data.Root.Walk(func(g *readers.Group) bool {
		fmt.Println(g.Path, data.Format)
		for _, v := range g.Variables {
			fmt.Println(v.Path, v.Type, v.Shape, v.Storage.Layout)
		}
		return true
	})
	t2m := data.Variable("t2m")
	if units := readers.Lookup(t2m.Attributes, "units"); units != nil && units.Err == nil {
		fmt.Printf("%s of type %s: %s\n", units.Name, units.Type, units.Texts)
	}
	chunks, bytes := 0, uint64(0)
	for ref, err := range t2m.Storage.Refs(ctx) {
		if err != nil {
			panic(err)
		}
		chunks++
		bytes += ref.Size
	}
	fmt.Println(chunks, "chunks of", t2m.Storage.ChunkShape, "take", bytes, "bytes")
	// Output:
	// / netCDF-4
	// /time <f8 [31] contiguous
	// /lat <f8 [6] contiguous
	// /lon <f8 [8] contiguous
	// /t2m <f4 [31 6 8] chunked
	// units of type |S4{nullterm,ascii}: [degC]
	// 4 chunks of [31 3 4] take 1947 bytes
}

// errors.Is distinguishes damaged from unsupported sources.
func ExampleOpen_errors() {
	ctx := context.Background()
	open := func(name string, content []byte) error {
		_, err := formats.Open(ctx, source.New(name, member{bytes.NewReader(content)}), nil)
		return err
	}
	whole, err := os.ReadFile(month)
	if err != nil {
		panic(err)
	}
	err = open("half.nc", whole[:len(whole)/2])
	var where *readers.Error
	fmt.Println(errors.Is(err, readers.ErrCorrupt), errors.As(err, &where) && where.Source == "half.nc", err)
	err = open("picture.gif", []byte("GIF89a"))
	text, _, _ := strings.Cut(err.Error(), " (") // and the list of formats
	fmt.Println(errors.Is(err, errors.ErrUnsupported), text)
	// Output:
	// true true half.nc: file is truncated: it has 6783 of 13567 bytes; fetch it again
	// true picture.gif: not a format that varve reads
}

package zarrstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"varve/codec"
	"varve/grid"
	"varve/manifest/zarrstore"
	"varve/zarrjson"
)

// create makes an array of bytes along time, whose chunks have the lengths of months.
func create(ctx context.Context, dir string) (*zarrstore.Array, error) {
	schema, err := zarrjson.ParseArray([]byte(`{"shape": [31], "data_type": "uint8", "fill_value": 255, "dimension_names": ["time"],
		"chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[31]]}},
		"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}], "zarr_format": 3, "node_type": "array"}`))
	if err != nil {
		return nil, err
	}
	return zarrstore.Create(ctx, dir, schema, nil)
}

// inFolder does something in a folder that is gone afterwards.
func inFolder(do func(ctx context.Context, dir string) error) {
	dir, err := os.MkdirTemp("", "varve")
	if err == nil {
		err = do(context.Background(), filepath.Join(dir, "t2m"))
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Println(err)
	}
}

// describe prints an array's shape and the lengths of its chunks.
func describe(a *zarrstore.Array) {
	d := a.Grid().Dim(0)
	fmt.Printf("shape %d, chunks", a.Shape())
	for i := range d.Chunks() {
		size, _ := d.CodecSize(i)
		fmt.Printf(" %d", size)
	}
	fmt.Println()
}

// A region of an array is written and read back; elements that were never written have the fill value.
func ExampleCreate() {
	inFolder(func(ctx context.Context, dir string) error {
		a, err := create(ctx, dir)
		if err != nil {
			return err
		}
		days := grid.Region{Origin: []int64{2}, Shape: []int64{3}}
		if err := a.WriteRegion(ctx, days, codec.Elems{Fixed: []byte{7, 8, 9}}); err != nil {
			return err
		}
		week := grid.Region{Origin: []int64{0}, Shape: []int64{7}}
		got := codec.NewElems(a.Schema().Form(week.Shape))
		if err := a.ReadRegion(ctx, week, got); err != nil {
			return err
		}
		fmt.Println(got.Fixed)
		return nil
	})
	// Output: [255 255 7 8 9 255 255]
}

// An array grows by a month, which is a chunk. It is one that others may have made.
func ExampleArray_Append() {
	inFolder(func(ctx context.Context, dir string) error {
		if _, err := create(ctx, dir); err != nil {
			return err
		}
		a, err := zarrstore.Open(ctx, dir, nil)
		if err != nil {
			return err
		}
		if err := a.Append(ctx, 0, 28, codec.Elems{Fixed: make([]byte, 28)}, zarrstore.EdgesOf(0, 28)); err != nil {
			return err
		}
		describe(a)
		return nil
	})
	// Output: shape [59], chunks 31 28
}

// Days are appended one by one. A chunk is written when its last day is there, and Flush writes the rest.
func ExampleArray_Stream() {
	inFolder(func(ctx context.Context, dir string) error {
		a, err := create(ctx, dir)
		if err != nil {
			return err
		}
		s, err := a.Stream(0, zarrstore.Growth{Axis: 0, Policy: grid.RepeatSize(28)})
		if err != nil {
			return err
		}
		for day := range byte(30) {
			if err := s.Append(ctx, 1, codec.Elems{Fixed: []byte{day}}); err != nil {
				return err
			}
		}
		describe(a)
		if err := s.Flush(ctx); err != nil {
			return err
		}
		describe(a)
		return nil
	})
	// Output:
	// shape [59], chunks 31 28
	// shape [61], chunks 31 28 28
}

// Room for two months is made, and then all after the tenth day cut off: the edge of the
// first chunk stays.
func ExampleArray_Resize() {
	inFolder(func(ctx context.Context, dir string) error {
		a, err := create(ctx, dir)
		if err != nil {
			return err
		}
		if err := a.Resize(ctx, []int64{31 + 28 + 31}, zarrstore.EdgesOf(0, 28, 31)); err != nil {
			return err
		}
		describe(a)
		if err := a.Resize(ctx, []int64{10}); err != nil {
			return err
		}
		describe(a)
		return nil
	})
	// Output:
	// shape [90], chunks 31 28 31
	// shape [10], chunks 31
}

// An array is copied into chunks of a week, in shards of four.
func ExampleArray_CopyFrom() {
	inFolder(func(ctx context.Context, dir string) error {
		from, err := create(ctx, dir)
		if err != nil {
			return err
		}
		if err := from.WriteRegion(ctx, grid.Whole([]int64{31}), codec.Elems{Fixed: make([]byte, 31)}); err != nil {
			return err
		}
		schema := *from.Schema()
		schema.ChunkGrid = zarrjson.RegularGrid(28)
		schema.Codecs = []codec.Spec{{Name: "sharding_indexed", Config: []byte(`{"chunk_shape": [7], "codecs": [{"name": "bytes"}],
			"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}`)}}
		to, err := zarrstore.Create(ctx, dir+"-weeks", &schema, nil)
		if err != nil {
			return err
		}
		if err := to.CopyFrom(ctx, from); err != nil {
			return err
		}
		describe(to)
		return to.Delete(ctx)
	})
	// Output: shape [31], chunks 28 28
}

// An existing array is opened, and two of its days are read.
func ExampleOpen() {
	inFolder(func(ctx context.Context, dir string) error {
		made, err := create(ctx, dir)
		if err != nil {
			return err
		}
		if err := made.WriteRegion(ctx, grid.Whole([]int64{2}), codec.Elems{Fixed: []byte{7, 8}}); err != nil {
			return err
		}

		a, err := zarrstore.Open(ctx, dir, nil)
		if err != nil {
			return err
		}
		defer a.Close()
		days, err := grid.Orthogonal(a.Grid(), grid.Indices(1, 30))
		if err != nil {
			return err
		}
		got := codec.NewElems(a.Schema().Form(days.Shape()))
		if err := a.Read(ctx, days, got); err != nil {
			return err
		}
		fmt.Println(a.Schema().DataType.Type(), a.Shape(), got.Fixed)
		return nil
	})
	// Output: uint8 [31] [8 255]
}

// Elements are little-endian, in C order, whatever the codecs make of them.
func ExampleArray_WriteRegion() {
	inFolder(func(ctx context.Context, dir string) error {
		schema, err := zarrjson.ParseArray([]byte(`{"shape": [4, 4], "data_type": "uint16", "fill_value": 0,
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 4]}}, "chunk_key_encoding": {"name": "default"},
			"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}],
			"zarr_format": 3, "node_type": "array"}`))
		if err != nil {
			return err
		}
		a, err := zarrstore.Create(ctx, dir, schema, nil)
		if err != nil {
			return err
		}
		var square []byte
		for _, v := range []uint16{1, 2, 3, 4} {
			square = binary.LittleEndian.AppendUint16(square, v)
		}
		middle := grid.Region{Origin: []int64{1, 1}, Shape: []int64{2, 2}}
		if err := a.WriteRegion(ctx, middle, codec.Elems{Fixed: square}); err != nil {
			return err
		}
		row := codec.NewElems(a.Schema().Form([]int64{1, 4}))
		if err := a.ReadRegion(ctx, grid.Region{Origin: []int64{2, 0}, Shape: []int64{1, 4}}, row); err != nil {
			return err
		}
		fmt.Println(row.Fixed)
		return nil
	})
	// Output: [0 0 3 0 4 0 0 0]
}

package store_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/store"
	"varve/readers/source"
)

// withStore calls do with an open manifest of three files, one for each month, and the folder of the files.
func withStore(do func(ctx context.Context, st *store.Store, dir string) error) {
	if err := tryWithStore(context.Background(), do); err != nil {
		fmt.Println(err)
	}
}

func tryWithStore(ctx context.Context, do func(ctx context.Context, st *store.Store, dir string) error) error {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	archive, out := filepath.Join(dir, "archive"), filepath.Join(dir, "t2m.varve")
	if err := os.CopyFS(archive, os.DirFS("../../fixtures/demo")); err != nil {
		return err
	}
	if _, err := ingest.Build(ctx, out, &ingest.Options{Sources: ingest.Sources{Names: []string{archive}, Match: "*.nc"}}); err != nil {
		return err
	}
	st, err := store.Open(ctx, out, &store.Options{Allow: []string{archive}})
	if err != nil {
		return err
	}
	defer st.Close()
	return do(ctx, st, archive)
}

// This example reads five days at one location, from two files of unequal length.
func ExampleArray_Read() {
	withStore(func(ctx context.Context, st *store.Store, _ string) error {
		t2m, err := st.Array("t2m")
		if err != nil {
			return err
		}
		fmt.Println(t2m.Schema().DataType.Type(), t2m.Grid().Shape())
		x, err := grid.Basic(t2m.Grid(), grid.Range(29, 34), grid.At(2), grid.At(5))
		if err != nil {
			return err
		}
		values := codec.NewElems(t2m.Schema().Form(x.Shape()))
		if err := t2m.Read(ctx, x, values); err != nil {
			return err
		}
		for at := 0; at < len(values.Fixed); at += 4 {
			fmt.Println(math.Float32frombits(binary.LittleEndian.Uint32(values.Fixed[at:])))
		}
		return nil
	})
	// Output:
	// float32 [90 6 8]
	// 1.25
	// -1.1875
	// 0.625
	// 0.375
	// 1.375
}

// This example prints the attributes of an array, and the lengths of its chunks along time.
func ExampleArray_Chunks() {
	withStore(func(ctx context.Context, st *store.Store, _ string) error {
		t2m, err := st.Array("t2m")
		if err != nil {
			return err
		}
		attributes := t2m.Attributes()
		for name, value := range attributes.All() {
			fmt.Printf("%s: %s\n", name, value)
		}
		layout, err := t2m.Chunks()
		if err != nil {
			return err
		}
		fmt.Println(layout.Declared)
		for length := range grid.DataSizes(t2m.Grid().Dim(0)) {
			fmt.Println(length, "days")
		}
		return nil
	})
	// Output:
	// long_name: "2 metre temperature"
	// units: "degC"
	// ([31,28,31], 3, 4)
	// 31 days
	// 28 days
	// 31 days
}

// This example prints the locations of chunks. It reads no source.
func ExampleArray_Locations() {
	withStore(func(ctx context.Context, st *store.Store, _ string) error {
		t2m, err := st.Array("t2m")
		if err != nil {
			return err
		}
		for l, err := range t2m.Locations(ctx, grid.Region{Origin: []int64{0, 0, 0}, Shape: []int64{3, 1, 1}}) {
			if err != nil {
				return err
			}
			if l.Kind != manifest.Verbatim {
				fmt.Println(l.Coords, l.Kind)
				continue
			}
			src, err := st.Source(ctx, l.Source)
			if err != nil {
				return err
			}
			fmt.Println(l.Coords, l.Kind, filepath.Base(src.URL), l.Offset, l.Size)
		}
		return nil
	})
	// Output:
	// [0 0 0] verbatim 2021-01.nc 1118 504
	// [1 0 0] verbatim 2021-02.nc 1094 469
	// [2 0 0] re-encoded
}

// This example distinguishes errors with errors.Is.
func ExampleStore_errors() {
	withStore(func(ctx context.Context, st *store.Store, archive string) error {
		_, err := st.Array("t3m")
		fmt.Println("no such array:", errors.Is(err, store.ErrNoArray))
		_, err = store.Open(ctx, archive, nil)
		fmt.Println("no manifest:", errors.Is(err, fs.ErrNotExist))

		t2m, err := st.Array("t2m")
		if err != nil {
			return err
		}
		if err := os.Truncate(filepath.Join(archive, "2021-02.nc"), 100); err != nil {
			return err
		}
		_, err = t2m.Chunk(ctx, []int64{1, 0, 0})
		fmt.Println("changed since it was scanned:", errors.Is(err, source.ErrChanged))
		_, err = t2m.Chunk(ctx, []int64{3, 0, 0})
		fmt.Println("no such chunk:", errors.Is(err, grid.ErrOutOfBounds))
		return nil
	})
	// Output:
	// no such array: true
	// no manifest: true
	// changed since it was scanned: true
	// no such chunk: true
}

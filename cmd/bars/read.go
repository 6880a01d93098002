package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"varve/codec"
	"varve/grid"
	"varve/manifest/store"
)

// readOnce prints the seconds that it takes to open a manifest and to read an array into one buffer.
// cmd/varve-python/bars.py compares the Python package with this.
func readOnce(ctx context.Context, out io.Writer, name, array string) error {
	begun := time.Now()
	st, err := store.Open(ctx, name, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	a, err := st.Array(array)
	if err != nil {
		return err
	}
	region := grid.Whole(a.Grid().Shape())
	if err := a.ReadRegion(ctx, region, codec.NewElems(a.Schema().Form(region.Shape))); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, time.Since(begun).Seconds())
	return err
}

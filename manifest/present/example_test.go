package present_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"varve/codec"
	"varve/manifest/ingest"
	"varve/manifest/present"
	"varve/manifest/store"
)

// withStore calls do with a manifest of three files with one month each.
func withStore(do func(ctx context.Context, st *store.Store) error) {
	if err := tryWithStore(context.Background(), do); err != nil {
		fmt.Println(err)
	}
}

func tryWithStore(ctx context.Context, do func(ctx context.Context, st *store.Store) error) error {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "t2m.varve")
	if _, err := ingest.Build(ctx, out, &ingest.Options{Sources: ingest.Sources{Names: []string{"../../fixtures/demo"}, Match: "*.nc"}}); err != nil {
		return err
	}
	st, err := store.Open(ctx, out, &store.Options{Allow: []string{"../../fixtures/demo"}})
	if err != nil {
		return err
	}
	defer st.Close()
	return do(ctx, st)
}

// Read three values by label and index, and the dates that belong to them.
func ExampleRead() {
	withStore(func(ctx context.Context, st *store.Store) error {
		part := present.Sel{Label: map[string]string{"lat": "45", "lon": "0"}, Index: map[string]string{"time": "[31,30,29]"}}
		t2m, err := present.Read[float64](ctx, st, "t2m", part)
		if err != nil {
			return err
		}
		days, err := present.Read[string](ctx, st, "time", present.Sel{Index: part.Index})
		if err != nil {
			return err
		}
		fmt.Println(t2m.Dims, t2m.Shape, t2m.Data)
		fmt.Println(days.Data)
		return nil
	})
	// Output:
	// [time] [3] [-0.25 1.625 -0.4375]
	// [2021-02-01 2021-01-31 2021-01-30]
}

// Select a region by index and by coordinate, and decode its elements: they are unpacked, and missing
// values become NaN.
func ExampleDecoder_Float64s() {
	withStore(func(ctx context.Context, st *store.Store) error {
		t2m, err := st.Array("t2m")
		if err != nil {
			return err
		}
		region := present.Whole(t2m)
		if err := region.ByIndex([]string{"time=29:32"}); err != nil {
			return err
		}
		if err := region.ByCoordinate(ctx, st, []string{"lat=45", "lon=0:5"}); err != nil {
			return err
		}
		x, err := region.Indexer()
		if err != nil {
			return err
		}
		elements := codec.NewElems(t2m.Schema().Form(x.Shape()))
		if err := t2m.Read(ctx, x, elements); err != nil {
			return err
		}
		decoder, err := present.NewDecoder(t2m, nil)
		if err != nil {
			return err
		}
		values := make([]float64, region.Count())
		decoder.Float64s(values, elements.Fixed)
		fmt.Println(x.Shape(), values)
		return nil
	})
	// Output:
	// [3 3] [-0.4375 0.375 0.5625 1.625 1.1875 -0.125 -0.25 0.8125 1.5625]
}

func ExampleMeasure() {
	withStore(func(ctx context.Context, st *store.Store) error {
		t2m, err := st.Array("t2m")
		if err != nil {
			return err
		}
		february := present.Whole(t2m)
		if err := february.ByCoordinate(ctx, st, []string{"time=2021-02"}); err != nil {
			return err
		}
		decoder, err := present.NewDecoder(t2m, nil)
		if err != nil {
			return err
		}
		stat, err := present.Measure(ctx, february, decoder)
		if err != nil {
			return err
		}
		fmt.Println(stat.Count, stat.Min, stat.Max)
		return nil
	})
	// Output:
	// 1344 -5.9375 8.3125
}

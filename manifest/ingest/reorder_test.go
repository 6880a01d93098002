package ingest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"varve/fixtures/classic"
	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/compact"
	"varve/manifest/export/zarr"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/store"
)

// gridFile writes a netCDF-3 file with one step. A value names its step, its latitude and its meridian. The array area has no
// steps, and the bounds of longitudes are 15 degrees to both sides.
func gridFile(t testing.TB, dir string, step int, lats, lons []float32) string {
	t.Helper()
	var values, area, bounds []float32
	for _, lon := range lons {
		bounds = append(bounds, lon-15, lon+15)
	}
	for _, lat := range lats {
		for _, lon := range lons {
			area = append(area, meridianOf(lat, lon))
			values = append(values, float32(step)*1e5+meridianOf(lat, lon))
		}
	}
	f := &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: 1, Records: true}, {Name: "lat", Length: len(lats)}, {Name: "lon", Length: len(lons)}, {Name: "nv", Length: 2}},
		Vars: []classic.Var{
			{Name: "lat", Dims: []string{"lat"}, Attributes: []classic.Attribute{{Name: "units", Value: "degrees_north"}}, Data: lats},
			{Name: "lon", Dims: []string{"lon"}, Attributes: []classic.Attribute{{Name: "units", Value: "degrees_east"}, {Name: "bounds", Value: "lon_bnds"}}, Data: lons},
			{Name: "lon_bnds", Dims: []string{"lon", "nv"}, Data: bounds},
			{Name: "area", Dims: []string{"lat", "lon"}, Data: area},
			{Name: "v", Dims: []string{"time", "lat", "lon"}, Data: values},
			{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: []float64{float64(step)}},
		},
	}
	b, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, filepath.Join(dir, fmt.Sprintf("%d.nc", step)), b)
}

func meridianOf(lat, lon float32) float32 {
	return 1000*(lat+90)/10 + float32(math.Mod(float64(lon)+360, 360))
}

// lonsFrom returns twelve longitudes.
func lonsFrom(first float32) (lons []float32) {
	for i := range 12 {
		lons = append(lons, first+float32(30*i))
	}
	return lons
}

func openTrusted(t testing.TB, out string) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// checkGrid compares all values of a store with the values that the files of some steps have.
func checkGrid(t *testing.T, what string, got map[string][]float64, steps []int, lats, lons []float32) {
	t.Helper()
	want := map[string][]float64{}
	add := func(name string, v float32) { want[name] = append(want[name], float64(v)) }
	for _, lat := range lats {
		add("/lat", lat)
	}
	for _, lon := range lons {
		add("/lon", lon)
		add("/lon_bnds", lon-15)
		add("/lon_bnds", lon+15)
	}
	for _, lat := range lats {
		for _, lon := range lons {
			add("/area", meridianOf(lat, lon))
		}
	}
	for _, step := range steps {
		add("/time", float32(step))
		for _, lat := range lats {
			for _, lon := range lons {
				add("/v", float32(step)*1e5+meridianOf(lat, lon))
			}
		}
	}
	if !sameValues(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestReordered: manifests whose files have other ranges of longitudes and other directions have all values at their
// coordinates, during all of their life.
func TestReordered(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	south, north := []float32{-20, -10, 0, 10, 20}, []float32{20, 10, 0, -10, -20}
	east, around := lonsFrom(0), lonsFrom(-180)
	for name, c := range map[string]struct {
		opts       plan.Options
		lats, lons []float32 // of the result
	}{
		"longitudes -180..180": {plan.Options{Longitudes: plan.Around0}, south, around},
		"longitudes 0..360":    {plan.Options{Longitudes: plan.From0To360}, south, east},
		"flip lat":             {plan.Options{Flip: map[string]plan.Direction{"lat": plan.UsualDirection}}, south, around},
		"both": {plan.Options{Longitudes: plan.From0To360, Flip: map[string]plan.Direction{"lat": plan.Decreasing}, Inline: new(int64)},
			north, east},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, dir := t.Context(), t.TempDir()
			out := filepath.Join(dir, "out.varve")
			write := func(step int) string {
				lats, lons := south, around
				if len(c.opts.Flip) > 0 && step%3 > 0 { // most files run the other way in the end
					lats = north
				}
				if c.opts.Longitudes != "" && step%2 == 1 {
					lons = east
				}
				return gridFile(t, dir, step, lats, lons)
			}
			options := func(steps ...int) *ingest.Options {
				o := &ingest.Options{Plan: c.opts, Writer: "test"}
				for _, s := range steps {
					o.Sources.Names = append(o.Sources.Names, write(s))
				}
				return o
			}
			check := func(what string, err error, steps ...int) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				checkGrid(t, what, valuesOf(t, openTrusted(t, out)), steps, c.lats, c.lons)
			}
			first := options(0)
			if name == "flip lat" { // the first append gives the option, and most files run the other way: what is there must stay
				first.Plan.Flip = nil
			}
			_, err := ingest.Build(ctx, out, first)
			check("build", err, 0)
			replan := options(1, 2)
			replan.Replan = true
			_, err = ingest.Append(ctx, out, replan)
			check("append", err, 0, 1, 2)
			_, err = ingest.Append(ctx, out, options(4, 5))
			check("append more", err, 0, 1, 2, 4, 5)
			_, err = compact.Compact(ctx, out, &compact.Options{Store: store.Options{Trusted: true}})
			check("compact", err, 0, 1, 2, 4, 5)
			_, err = ingest.Append(ctx, out, options(3))
			check("insert", err, 0, 1, 2, 3, 4, 5)
			_, err = ingest.Remove(ctx, out, func(files []*manifest.File) (gone []bool, err error) {
				for _, f := range files {
					gone = append(gone, filepath.Base(f.URL) == "2.nc")
				}
				return gone, nil
			}, &ingest.Options{Writer: "test"})
			check("remove", err, 0, 1, 3, 4, 5)

			st := openTrusted(t, out)
			if snap := st.Snapshot(); snap.Varve != manifest.VersionOfViews {
				t.Errorf("version %d, want %d", snap.Varve, manifest.VersionOfViews)
			}
			copied := filepath.Join(dir, "copy.zarr")
			if _, err := zarr.Write(ctx, st, copied, &zarr.Options{}); err != nil {
				t.Fatal(err)
			}
			again := filepath.Join(dir, "copy.varve")
			if _, err := ingest.Build(ctx, again, &ingest.Options{Sources: ingest.Sources{Names: []string{copied}}, Writer: "test"}); err != nil {
				t.Fatal(err)
			}
			checkGrid(t, "export", valuesOf(t, openTrusted(t, again)), []int{0, 1, 3, 4, 5}, c.lats, c.lons)
		})
	}
}

// TestPublishedDirections: appends keep the direction of each published dimension, whichever options are given with them.
func TestPublishedDirections(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	south, north, around := []float32{-20, -10, 0, 10, 20}, []float32{20, 10, 0, -10, -20}, lonsFrom(-180)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.varve")
	options := func(step int, lats []float32, flip map[string]plan.Direction) *ingest.Options {
		return &ingest.Options{Sources: ingest.Sources{Names: []string{gridFile(t, dir, step, lats, around)}}, Plan: plan.Options{Flip: flip}, Writer: "test", Replan: step > 0}
	}
	// The published direction is not the one of the first file. One length has no direction yet.
	if _, err := ingest.Build(t.Context(), out, options(0, north, map[string]plan.Direction{"lat": plan.Increasing, "time": plan.Decreasing})); err != nil {
		t.Fatal(err)
	}
	var stored plan.Options
	if err := json.Unmarshal(openTrusted(t, out).Snapshot().Options, &stored); err != nil {
		t.Fatal(err)
	}
	if stored.Flip["time"] != plan.Decreasing || stored.Flip["/lat"] != plan.Increasing {
		t.Errorf("stored: %v", stored.Flip)
	}
	steps := []int{0}
	for i, flip := range []map[string]plan.Direction{{"lon": plan.Increasing}, {"/lat": plan.UsualDirection}, {"/lat": plan.Increasing}, nil} {
		steps = slices.Insert(steps, 0, i+1) // times decrease
		if _, err := ingest.Append(t.Context(), out, options(i+1, north, flip)); err != nil {
			t.Fatalf("%v: %v", flip, err)
		}
		checkGrid(t, fmt.Sprint(flip), valuesOf(t, openTrusted(t, out)), steps, south, around)
	}
	if _, err := ingest.Curate(t.Context(), out, &plan.Curation{}, &ingest.Options{}); err != nil {
		t.Fatal(err)
	}
	checkGrid(t, "curate", valuesOf(t, openTrusted(t, out)), steps, south, around)
	for _, name := range []string{"lat", "/lat"} {
		var refused *plan.OptionError
		if _, err := ingest.Append(t.Context(), out, options(9, south, map[string]plan.Direction{name: plan.Decreasing})); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
}

// TestDecreasingSteps: files of one step each are in the direction that is named, also after appends.
func TestDecreasingSteps(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	lats, lons, dir := []float32{0, 10}, lonsFrom(0), t.TempDir()
	out := filepath.Join(dir, "out.varve")
	options := func(steps ...int) *ingest.Options {
		o := &ingest.Options{Plan: plan.Options{Flip: map[string]plan.Direction{"time": plan.Decreasing}}, Writer: "test"}
		for _, s := range steps {
			o.Sources.Names = append(o.Sources.Names, gridFile(t, dir, s, lats, lons))
		}
		return o
	}
	if _, err := ingest.Build(t.Context(), out, options(4, 5)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		step int
		want []int
	}{{3, []int{5, 4, 3}}, {6, []int{6, 5, 4, 3}}, {2, []int{6, 5, 4, 3, 2}}} {
		if _, err := ingest.Append(t.Context(), out, options(c.step)); err != nil {
			t.Fatal(err)
		}
		checkGrid(t, fmt.Sprint(c.step), valuesOf(t, openTrusted(t, out)), c.want, lats, lons)
	}
}

// TestReorderedAtRandom: files that begin at any meridian and run in any direction, with any chunks, have all values at their
// coordinates.
func TestReorderedAtRandom(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for seed := range soak.Seeds(t, 8) {
		r := rand.New(rand.NewPCG(seed, 0))
		lats, lons := []float32{-20, -10, 0, 10, 20}, lonsFrom(0)
		opts := plan.Options{Longitudes: plan.From0To360, Flip: map[string]plan.Direction{"/lat": plan.Increasing}, Rectilinear: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			opts.Longitudes, lons = plan.Around0, lonsFrom(-180)
		}
		if r.IntN(2) == 0 {
			opts.Flip["/lat"] = plan.Decreasing
			slices.Reverse(lats)
		}
		if r.IntN(3) == 0 {
			opts.Flip["lon"] = plan.Decreasing
			slices.Reverse(lons)
		}
		dir := t.TempDir()
		build := &ingest.Options{Plan: opts, Writer: "test"}
		var steps []int
		for step := range 1 + r.IntN(4) {
			steps = append(steps, step)
			y, x := slices.Clone(lats), lonsFrom(float32(30*(r.IntN(23)-12)))
			for _, list := range [][]float32{y, x} {
				if r.IntN(2) == 0 {
					slices.Reverse(list)
				}
			}
			if opts.Flip["lon"] == "" && x[0] > x[1] {
				slices.Reverse(x)
			}
			build.Sources.Names = append(build.Sources.Names, chunkedCopy(t, gridFile(t, dir, step, y, x), []int64{1 + r.Int64N(5)}, []int64{1 + r.Int64N(12)}))
		}
		out := filepath.Join(dir, "out.varve")
		if _, err := ingest.Build(t.Context(), out, build); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkGrid(t, fmt.Sprint("seed ", seed), valuesOf(t, openTrusted(t, out)), steps, lats, lons)
	}
}

// chunkedCopy copies a file to a Zarr store, whose array v has chunks of these lengths, and returns its name.
func chunkedCopy(t testing.TB, file string, lat, lon []int64) string {
	t.Helper()
	if _, err := ingest.Build(t.Context(), file+".varve", &ingest.Options{Sources: ingest.Sources{Names: []string{file}}, Writer: "test"}); err != nil {
		t.Fatal(err)
	}
	name := file + ".zarr"
	if _, err := zarr.Write(t.Context(), openTrusted(t, file+".varve"), name, &zarr.Options{Chunks: []zarr.Edges{{Array: "v", Dim: "lat", Sizes: lat}, {Array: "v", Dim: "lon", Sizes: lon}}}); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestAppendReversed: an append of a file whose latitudes run the other way than the published ones is refused without --flip, and its
// remedy gives all values at their coordinates.
func TestAppendReversed(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	south, north, around := []float32{-20, -10, 0, 10, 20}, []float32{20, 10, 0, -10, -20}, lonsFrom(-180)
	for name, old := range map[string]int{"after one file": 1, "after four files": 4} {
		dir := t.TempDir()
		out := filepath.Join(dir, "out.varve")
		options := func(lats []float32, steps ...int) *ingest.Options {
			o := &ingest.Options{Writer: "test"}
			for _, s := range steps {
				o.Sources.Names = append(o.Sources.Names, gridFile(t, dir, s, lats, around))
			}
			return o
		}
		steps := []int{0, 1, 2, 3, 4}[:old+1]
		if _, err := ingest.Build(t.Context(), out, options(north, steps[:old]...)); err != nil {
			t.Fatal(err)
		}
		opts := options(south, old)
		_, err := ingest.Append(t.Context(), out, opts)
		var refused *plan.Error
		if !errors.As(err, &refused) || refused.Findings[0].Code != report.DirectionDiffers || refused.Findings[0].Remedies[0].Setting != (report.Setting{Option: report.Flip, Value: "lat"}) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		opts.Plan.Flip, opts.Replan = map[string]plan.Direction{"lat": plan.UsualDirection}, true
		if _, err := ingest.Append(t.Context(), out, opts); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkGrid(t, name, valuesOf(t, openTrusted(t, out)), steps, north, around)
	}
}

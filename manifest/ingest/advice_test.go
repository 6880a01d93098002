package ingest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/internal/planner/plantest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
	"varve/manifest/scan"
)

// TestUnreadableBeside: for a file in a folder whose ending no readable file has, the pattern that leaves it out is
// advised first, and helps.
func TestUnreadableBeside(t *testing.T) {
	dir := t.TempDir()
	names := []string{filepath.Join(dir, writeNetCDF(t, dir, 0)), filepath.Join(dir, writeNetCDF(t, dir, 1))}
	readme := filepath.Join(dir, "README.md")
	writeText(t, readme, "# Data\n")
	for _, c := range []struct {
		name    string
		sources Sources
		want    string
	}{
		{"in a folder", Sources{Names: []string{dir}}, "match=*.nc | skip-broken"},
		{"named", Sources{Names: append(names, readme)}, "skip-broken"},
		{"by a pattern", Sources{Names: []string{filepath.Join(dir, "*")}}, "skip-broken"},
		{"in a folder, with a pattern", Sources{Names: []string{dir}, Match: "*"}, "skip-broken"},
		{"nothing else", Sources{Names: []string{readme}}, "skip-broken"},
	} {
		_, err := Check(t.Context(), &Options{Sources: c.sources})
		var broken *scan.BrokenError
		if !errors.As(err, &broken) {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := reporttest.Remedies(&UnreadableFindings(broken)[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	made, err := Check(t.Context(), &Options{Sources: Sources{Names: []string{dir}, Match: "*.nc"}})
	if err != nil || len(made.Snapshot.Arrays) == 0 {
		t.Errorf("with the pattern: %v", err)
	}
	// The pattern of the good files matches this one, too.
	writeText(t, filepath.Join(dir, "zz.nc"), "no data")
	_, err = Check(t.Context(), &Options{Sources: Sources{Names: []string{dir}}})
	var broken *scan.BrokenError
	if !errors.As(err, &broken) {
		t.Fatal(err)
	}
	var got []string
	for _, f := range UnreadableFindings(broken) {
		got = append(got, reporttest.Remedies(&f))
	}
	if want := []string{"match=*.nc | skip-broken", "skip-broken"}; !slices.Equal(got, want) {
		t.Errorf("two files: %q, want %q", got, want)
	}
}

// TestReplacedAdvice: an append of a file that was replaced advises a refresh, and not a new build.
func TestReplacedAdvice(t *testing.T) {
	dir := t.TempDir()
	names := []string{filepath.Join(dir, writeNetCDF(t, dir, 0)), filepath.Join(dir, writeNetCDF(t, dir, 1))}
	out := filepath.Join(t.TempDir(), "o.varve")
	if _, err := Build(t.Context(), out, &Options{Sources: Sources{Names: names}}); err != nil {
		t.Fatal(err)
	}
	_, err := Append(t.Context(), out, &Options{Sources: Sources{Names: names}})
	var refused *plan.Error
	if !errors.As(err, &refused) || reporttest.Remedies(&refused.Findings[0]) != "skip-known | refresh" {
		t.Fatalf("got %v", err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(names[1], later, later); err != nil {
		t.Fatal(err)
	}
	_, err = Append(t.Context(), out, &Options{Sources: Sources{Names: names}, SkipKnown: true})
	var advice *manifest.RemedyError
	if !errors.As(err, &advice) || len(advice.Remedies) != 1 || advice.Remedies[0].Option != string(report.Refresh) {
		t.Fatalf("got %v", err)
	}
	if _, err := Refresh(t.Context(), out, &Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Append(t.Context(), out, &Options{Sources: Sources{Names: names}, SkipKnown: true}); err != nil {
		t.Errorf("after a refresh: %v", err)
	}
}

// TestIndexFiles: index files of wgrib2, ecCodes and cfgrib are no sources, if their GRIB file is there, nor files beside images.
func TestIndexFiles(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  []string
	}{
		{[]string{"x.grib", "x.grib.idx"}, []string{"x.grib"}},
		{[]string{"x.grib2", "x.idx"}, []string{"x.grib2"}},
		{[]string{"x.grib", "x.grib.5b7b6.idx", "x.grib.923a8.idx"}, []string{"x.grib"}},
		{[]string{"x", "x.5b7b6.idx"}, []string{"x"}},
		{[]string{"y.grib", "x.grib.5b7b6.idx"}, []string{"y.grib", "x.grib.5b7b6.idx"}},
		{[]string{"x.grib", "x.grib.notes.idx"}, []string{"x.grib", "x.grib.notes.idx"}},
		{[]string{"x.tif", "x.tif.aux.xml", "x.tif.ovr", "x.tfw", "X.prj"}, []string{"x.tif", "X.prj"}},
		{[]string{"x.ovr", "y.TIF", "y.tfw", "y.TIF.msk"}, []string{"x.ovr", "y.TIF"}},
		{[]string{"x.grib", "x.grib.5b7b6.index"}, []string{"x.grib", "x.grib.5b7b6.index"}},
	} {
		if got := withoutSidecars(t.Context(), c.names); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v", c.names, got)
		}
	}
}

// TestForeignHeaders: a file is left out for a header beside it only if the header has the format whose data file it may be.
func TestForeignHeaders(t *testing.T) {
	for _, c := range []struct {
		data, header, text string
		isSource           bool
	}{
		{"b.dat", "b.hdr", "text", true},
		{"b", "b.hdr", "text", true},
		{"b.bil", "b.hdr", "BYTEORDER I\nNROWS 4\n", true},
		{"b.img", "b.HDR", "ENVIRONMENT\n", true},
		{"b.data", "b.meta", "title: x\n", true},
		{"b.raw", "b.nhdr", "NRRD", true},
		{"b.dat", "b.hdr", "ENVI\nsamples = 4\n", false},
		{"b.bin", "b.nhdr", "NRRD0004\n", false},
		{"b.data", "b.meta", " nDims = [   2 ];\n", false},
		{"b.img", "b.hdr", strings.Repeat("\x00", 344) + "ni1\x00", false},
	} {
		folder := t.TempDir()
		data, header := filepath.Join(folder, c.data), filepath.Join(folder, c.header)
		if err := errors.Join(os.WriteFile(data, []byte("CDF"), 0o600), os.WriteFile(header, []byte(c.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got := withoutSidecars(t.Context(), []string{data, header}); slices.Contains(got, data) != c.isSource || !slices.Contains(got, header) {
			t.Errorf("%s beside %q in %s: the sources are %v", c.data, c.text, c.header, got)
		}
	}
}

// TestGridTolerance: a scan keeps only digests of two-dimensional coordinates. Their values are read to say the tolerance. For other
// grids, none is advised.
func TestGridTolerance(t *testing.T) {
	const n = 40
	for _, c := range []struct {
		name  string
		moved float64
		want  string
	}{
		{"rounding", 3e-6, "tolerance=4e-06 | broadcast=lat=time | coords=first | drop=lat"},
		{"half a cell", .5, "broadcast=lat=time | separate-manifests | drop=lat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			opts := &Options{Plan: plan.Options{Inline: new(int64(64))}}
			for i := range 3 {
				lat := make([]float64, n*n)
				for k := range lat {
					if lat[k] = float64(k / n); i > 0 {
						lat[k] += c.moved
					}
				}
				name := filepath.Join(dir, fmt.Sprint(i, ".nc"))
				f := classic.File{Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "y", Length: n}, {Name: "x", Length: n}}, Vars: []classic.Var{
					{Name: "time", Dims: []string{"time"}, Data: []int32{int32(i)}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 1990-01-01"}}},
					{Name: "lat", Dims: []string{"y", "x"}, Data: lat, Attributes: []classic.Attribute{{Name: "units", Value: "degrees_north"}}},
					{Name: "v", Dims: []string{"time", "y", "x"}, Data: lat, Attributes: []classic.Attribute{{Name: "coordinates", Value: "lat"}}},
				}}
				if err := f.Write(name); err != nil {
					t.Fatal(err)
				}
				opts.Sources.Names = append(opts.Sources.Names, name)
			}
			_, err := Check(t.Context(), opts)
			var refused *plan.Error
			if !errors.As(err, &refused) || len(refused.Findings) != 1 || refused.Findings[0].Code != report.StaticDiffers {
				t.Fatalf("got %v", err)
			}
			r := refused.Findings[0].Remedies
			if got := reporttest.Remedies(&refused.Findings[0]); got != c.want {
				t.Fatalf("%s, want %s", got, c.want)
			}
			if err := plantest.SetOption(&opts.Plan, string(r[0].Option), r[0].Value); err != nil {
				t.Fatal(err)
			}
			made, err := Check(t.Context(), opts)
			if err != nil || len(made.Snapshot.Arrays) != 3 {
				t.Errorf("with %s: %v", r[0].Value, err)
			}
		})
	}
}

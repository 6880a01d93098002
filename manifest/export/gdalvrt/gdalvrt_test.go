package gdalvrt

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/fixtures/venv"
	"varve/grid"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/store"
)

// built returns the store of files.
func built(t *testing.T, p plan.Options, names ...string) *store.Store {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: names}, Plan: p, Writer: "test"}); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// wanted is an array as the script compares it.
type wanted struct {
	Path   string   `json:"path"`
	Dims   []string `json:"dims"`
	Shape  []int64  `json:"shape"`
	DType  string   `json:"dtype"`
	Values string   `json:"values"`
	Texts  []string `json:"texts"`

	Scale     float64   `json:"scale,omitempty"`
	NoData    float64   `json:"nodata,omitempty"`
	Transform []float64 `json:"transform,omitempty"`
	System    string    `json:"system,omitempty"`
}

// wantedOf writes the elements of an array, as varve reads them, to a file.
func wantedOf(t *testing.T, a *store.Array, dir string) (w wanted) {
	t.Helper()
	w = wanted{Path: a.Path(), Shape: append([]int64{}, a.Schema().Shape...), Dims: []string{}, Values: filepath.Join(dir, strings.ReplaceAll(a.Path(), "/", "_"))}
	for axis := range w.Shape {
		w.Dims = append(w.Dims, a.Schema().Dim(axis))
	}
	form := a.Schema().Form(w.Shape)
	elems := codec.NewElems(form)
	if err := a.ReadRegion(t.Context(), grid.Whole(w.Shape), elems); err != nil {
		t.Fatal(err)
	}
	w.DType = fmt.Sprintf("%s%d", map[codec.Kind]string{codec.Int: "i", codec.Uint: "u", codec.Float: "f"}[form.Type.Kind], form.Type.Size)
	if form.Type.Varies() {
		w.DType = "text"
		for _, text := range elems.Var {
			w.Texts = append(w.Texts, string(text))
		}
	}
	if err := os.WriteFile(w.Values, elems.Fixed, 0o644); err != nil {
		t.Fatal(err)
	}
	return w
}

// compare lets GDAL read a VRT of a store, and compares all arrays that it has with varve.
func compare(t *testing.T, st *store.Store, opts *Options, more map[string]wanted) *Result {
	t.Helper()
	dir := t.TempDir()
	if opts.Folder != "" {
		dir = opts.Folder
	}
	vrt, list := filepath.Join(dir, "a.vrt"), filepath.Join(dir, "list.json")
	f, err := os.Create(vrt)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Write(t.Context(), f, st, opts)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	all := []wanted{}
	for _, a := range st.Arrays() {
		if slices.ContainsFunc(r.Omitted, func(o Omission) bool { return o.Path == a.Path() && o.Part == Values }) {
			continue
		}
		w := wantedOf(t, a, t.TempDir())
		extra := more[a.Path()]
		w.Scale, w.NoData, w.Transform, w.System = extra.Scale, extra.NoData, extra.Transform, extra.System
		all = append(all, w)
	}
	if len(all) != r.Arrays {
		t.Errorf("%d arrays are compared, and the VRT has %d", len(all), r.Arrays)
	}
	data, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(list, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	venv.Run(t, "rasterio and netCDF4", "testdata/gdal.py", "check", vrt, list)
	return r
}

// TestInteropGDAL compares the values that GDAL reads from VRTs with varve's own.
func TestInteropGDAL(t *testing.T) {
	dir := t.TempDir()
	venv.Run(t, "rasterio and netCDF4", "testdata/gdal.py", "make", dir)
	file := func(name string) string { return filepath.Join(dir, name) }
	globe := wanted{Transform: []float64{0, 1, 0, 50.5, 0, -1}, System: `"WGS 84"`}
	t.Run("months", func(t *testing.T) {
		st := built(t, plan.Options{Missing: plan.AbsentFill}, file("month0.nc"), file("month1.nc"))
		packed := globe
		packed.Scale, packed.NoData = 0.5, -1
		first := globe
		first.NoData = -9
		r := compare(t, st, &Options{InlineElements: -1}, map[string]wanted{"/f4": globe, "/packed": packed, "/first": first})
		for _, o := range r.Omitted {
			if o.Path != "/calendar" {
				t.Errorf("left out: %+v", o)
			}
		}
		if r.Sources < 24 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("members", func(t *testing.T) {
		st := built(t, plan.Options{NewDims: []plan.NewDim{{Name: "member", Pattern: `member(\d)`}}}, file("member0.nc"), file("member1.nc"), file("member2.nc"))
		r := compare(t, st, &Options{Folder: dir}, map[string]wanted{"/v": globe})
		if r.Sources != 3 || len(r.Omitted) > 0 {
			t.Errorf("%+v", r)
		}
	})
}

// sample writes a file with a variable of a type, with attributes.
func sample(t *testing.T, data any, attributes ...classic.Attribute) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.nc")
	f := &classic.File{Dims: []classic.Dim{{Name: "x", Length: 4}}, Vars: []classic.Var{{Name: "v", Dims: []string{"x"}, Data: data, Attributes: attributes}}}
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRefused checks arrays whose elements GDAL would not read as they are.
func TestRefused(t *testing.T) {
	unsigned := classic.Attribute{Name: "_Unsigned", Value: "true"}
	scale := func(f float64) classic.Attribute { return classic.Attribute{Name: "scale_factor", Value: []float64{f}} }
	zarr := t.TempDir()
	for name, data := range map[string]string{"zarr.json": `{"zarr_format":3,"node_type":"group","attributes":{}}`,
		"v/zarr.json": `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":7,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"dimension_names":["x"]}`} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(zarr, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(zarr, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what, why string
		plan      plan.Options
		files     []string
	}{
		{"unsigned", "_Unsigned", plan.Options{}, []string{sample(t, []int16{-1, 2, 3, 4}, unsigned)}},
		{"another packing", "another type, packing or units", plan.Options{Concat: []string{"x"}}, []string{sample(t, []int16{1, 2, 3, 4}, scale(1)), sample(t, []int16{1, 2, 3, 4}, scale(2))}},
		{"another format", "only netCDF and HDF5 files are sources", plan.Options{}, []string{zarr}},
	} {
		t.Run(c.what, func(t *testing.T) {
			st := built(t, c.plan, c.files...)
			_, err := Write(t.Context(), io.Discard, st, &Options{InlineElements: -1})
			if err == nil || !strings.Contains(err.Error(), c.why) || !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("without values: %v", err)
			}
			var out bytes.Buffer
			r, err := Write(t.Context(), &out, st, nil)
			if err != nil || r.Inline != 1 || r.Sources != 0 || !strings.Contains(out.String(), "<InlineValues ") {
				t.Errorf("with values: %+v, %v\n%s", r, err, out.String())
			}
		})
	}
}

// TestXML checks that names and texts are escaped, and that the document is well-formed.
func TestXML(t *testing.T) {
	name := sample(t, []float32{1, 2, 3, 4}, classic.Attribute{Name: "long_name", Value: "a <b> & \"c\"\n"}, classic.Attribute{Name: "numbers", Value: []float64{1, 2.5}})
	st := built(t, plan.Options{}, name)
	var out bytes.Buffer
	if _, err := Write(t.Context(), &out, st, nil); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Group struct {
			Name  string `xml:"name,attr"`
			Array struct {
				DataType   string
				Attributes []struct {
					Name     string `xml:"name,attr"`
					DataType string
					Value    []string
				} `xml:"Attribute"`
				Source struct{ SourceFilename, SourceArray string }
			}
		}
	}
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err, out.String())
	}
	a := got.Group.Array
	if got.Group.Name != "/" || a.DataType != "Float32" || a.Source.SourceFilename != name || a.Source.SourceArray != "/v" || len(a.Attributes) != 2 ||
		a.Attributes[0].Value[0] != "a <b> & \"c\"\n" || a.Attributes[1].DataType != "Float64" || !slices.Equal(a.Attributes[1].Value, []string{"1.0", "2.5"}) {
		t.Errorf("%+v\n%s", got, out.String())
	}
}

// TestFilename checks the names by which GDAL opens sources.
func TestFilename(t *testing.T) {
	for url, want := range map[string]string{
		"/archive/a.nc": "/archive/a.nc", "https://host/a.nc": "/vsicurl/https://host/a.nc", "s3://bucket/a b.nc": "/vsis3/bucket/a b.nc",
		"gs://bucket/a.nc": "/vsigs/bucket/a.nc", "az://container/a.nc": "/vsiaz/container/a.nc", "ftp://host/a.nc": "", "/archive/a.nc.gz|gzip:": "", "s3://bucket/a.zip|zip:a.nc": "",
	} {
		w := &writer{opts: &Options{}}
		if name, isRelative, err := w.filename(url); name != want || isRelative || (err != nil) != (want == "") {
			t.Errorf("%s: %s, %t, %v", url, name, isRelative, err)
		}
	}
	w := &writer{opts: &Options{Folder: filepath.FromSlash("/work/out")}}
	if name, isRelative, err := w.filename("/work/archive/a.nc"); name != "../archive/a.nc" || !isRelative || err != nil {
		t.Errorf("%s, %t, %v", name, isRelative, err)
	}
}

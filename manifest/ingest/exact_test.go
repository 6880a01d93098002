package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest/plan"
)

// TestInexact: lossy codecs of the files are declared only if no chunk has to be re-encoded with
// them.
func TestInexact(t *testing.T) {
	const packed = `{"id":"fixedscaleoffset","scale":10,"offset":0,"dtype":"<f4","astype":"<i2"}`
	dir := t.TempDir()
	var all []string
	for i, filter := range []string{packed, packed, ""} {
		at := filepath.Join(dir, fmt.Sprintf("%d.zarr", i))
		writeStore(t, at, i, filter)
		all = append(all, at)
	}
	for name, sources := range map[string][]string{"same codecs": all[:2], "different codecs": all} {
		out := filepath.Join(dir, name+".varve")
		made, err := Build(context.Background(), out, &Options{Sources: Sources{Names: sources}})
		if err != nil {
			t.Fatal(err)
		}
		checkExact(t, name, made, len(sources) == 2)
	}
	grown := filepath.Join(dir, "same codecs.varve")
	made, err := Append(context.Background(), grown, &Options{Sources: Sources{Names: all[2:]}})
	if err != nil {
		t.Fatal(err)
	}
	checkExact(t, "appended", made, false)
}

func checkExact(t *testing.T, name string, made *Result, kept bool) {
	t.Helper()
	for _, a := range made.Snapshot.Arrays {
		if a.Path != "/v" {
			continue
		}
		if got := a.Schema.Codecs[0].Name == "numcodecs.fixedscaleoffset"; got != kept || kept && a.Chunks.Reencoded > 0 {
			t.Errorf("%s: the codecs are %v, and %d chunks are re-encoded; want the lossy codec: %v", name, a.Schema.Codecs, a.Chunks.Reencoded, kept)
		}
	}
}

// writeStore writes a Zarr group with two steps of a field, with a filter or without.
func writeStore(t *testing.T, at string, i int, filter string) {
	t.Helper()
	array := func(name, dtype, filters, attributes string, chunk []byte) {
		document := fmt.Sprintf(`{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":%q,"order":"C","compressor":null,"fill_value":null,"filters":%s}`, dtype, filters)
		for file, text := range map[string]string{".zarray": document, ".zattrs": attributes, "0": string(chunk)} {
			writeText(t, filepath.Join(at, name, file), text)
		}
	}
	writeText(t, filepath.Join(at, ".zgroup"), `{"zarr_format":2}`)
	steps := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(2*i)), uint32(2*i+1))
	array("time", "<i4", "null", `{"_ARRAY_DIMENSIONS":["time"],"units":"days since 2000-01-01"}`, steps)
	filters, values := "null", []byte(nil)
	for _, x := range []float32{1.23, 4.56} {
		if filter != "" {
			filters, values = "["+filter+"]", binary.LittleEndian.AppendUint16(values, uint16(int16(10*x)))
		} else {
			values = binary.LittleEndian.AppendUint32(values, math.Float32bits(x))
		}
	}
	array("v", "<f4", filters, `{"_ARRAY_DIMENSIONS":["time"]}`, values)
}

func writeText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestStrictEdges: chunk lengths that the user chose do not override strict.
func TestStrictEdges(t *testing.T) {
	dir := t.TempDir()
	var all []string
	for i := range 2 {
		all = append(all, filepath.Join(dir, fmt.Sprintf("%d.zarr", i)))
		writeStore(t, all[i], i, "")
	}
	for n, ok := range map[int64]bool{2: true, 4: false} {
		o := Options{Sources: Sources{Names: all}, Plan: plan.Options{Strict: true, Inline: new(int64(0)), Schemas: []plan.Override{{Array: "v", Chunks: map[string][]int64{"time": {n}}}}}}
		_, err := Build(context.Background(), filepath.Join(dir, fmt.Sprint(n)), &o)
		var refused *plan.Error
		if ok != (err == nil) || !ok && (!errors.As(err, &refused) || refused.Findings[0].Array != "/v" || refused.Findings[0].Files.Len() != 2) {
			t.Errorf("chunks of %d: %v", n, err)
		}
	}
}

// TestStrictAppends: an append to a strict manifest plans only the new files, and refuses new chunks that have to be
// re-encoded as a build of all files does.
func TestStrictAppends(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	var all []string
	for i := range 4 {
		all = append(all, filepath.Join(dir, fmt.Sprintf("%d.nc", i)))
		f := classic.File{Dims: []classic.Dim{{Name: "time", Length: 2}}, Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Data: []int32{int32(2 * i), int32(2*i + 1)}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}},
			{Name: "v", Dims: []string{"time"}, Data: []float32{float32(i), 1}}}}
		if err := f.Write(all[i]); err != nil {
			t.Fatal(err)
		}
	}
	// A chunk of four steps has the steps of two files.
	for name, edges := range map[string][]int64{"verbatim": {2}, "re-encoded": {2, 2, 4}} {
		plans := plan.Options{Strict: true, Inline: new(int64(0)), Schemas: []plan.Override{{Array: "v", Chunks: map[string][]int64{"time": edges}}}}
		options := func(names ...string) *Options { return &Options{Sources: Sources{Names: names}, Plan: plans} }
		whole, wholeErr := Build(t.Context(), filepath.Join(dir, name+" at once"), options(all...))
		out := filepath.Join(dir, name)
		if _, err := Build(t.Context(), out, options(all[:2]...)); err != nil {
			t.Fatal(err)
		}
		made, err := Append(t.Context(), out, optionsFor(all[2:]...))
		if wholeErr == nil {
			if err != nil || len(made.Report.Findings) > 0 || facts(t, made.Snapshot) != facts(t, whole.Snapshot) {
				t.Errorf("%s: %v, %+v", name, err, made)
			}
			continue
		}
		var atOnce, appended *plan.Error
		if !errors.As(wholeErr, &atOnce) || !errors.As(err, &appended) || !reflect.DeepEqual(contentsOf(atOnce), contentsOf(appended)) {
			t.Errorf("%s: %v, but a build of all files: %v", name, err, wholeErr)
		}
	}
}

// contentsOf returns findings, in a form that can be compared.
func contentsOf(e *plan.Error) (list []string) {
	for _, f := range e.Findings {
		list = append(list, fmt.Sprint(f.Code, f.Array, f.Effect, f.Args, f.Count, f.Of, slices.Collect(f.Files.All())))
	}
	return list
}

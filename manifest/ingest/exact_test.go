package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

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

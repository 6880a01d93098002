package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// writeLargeDay writes a Zarr store of one day: v has one chunk of 5 MB.
func writeLargeDay(t *testing.T, folder, compressor string, day int) string {
	t.Helper()
	const lats, lons = 1000, 1250
	rng := rand.New(rand.NewPCG(uint64(day), 1))
	elements := make([]byte, 4*lats*lons)
	for i := range lats * lons {
		binary.LittleEndian.PutUint32(elements[4*i:], uint32(i+rng.IntN(1000)))
	}
	var stored bytes.Buffer
	var err error
	if compressor == "zlib" {
		z := zlib.NewWriter(&stored)
		_, err = z.Write(elements)
		err = errors.Join(err, z.Close())
	} else {
		var e *zstd.Encoder
		if e, err = zstd.NewWriter(nil); err == nil {
			stored.Write(e.EncodeAll(elements, nil))
			err = e.Close()
		}
	}
	name := filepath.Join(folder, fmt.Sprintf("%s%d.zarr", compressor, day))
	for file, text := range map[string]string{
		".zgroup":      `{"zarr_format":2}`,
		"time/.zarray": `{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":"<i8","compressor":null,"filters":null,"fill_value":null,"order":"C"}`,
		"time/.zattrs": `{"_ARRAY_DIMENSIONS":["time"],"units":"days since 2000-01-01"}`,
		"time/0":       string(binary.LittleEndian.AppendUint64(nil, uint64(day))),
		"v/.zarray": fmt.Sprintf(`{"zarr_format":2,"shape":[1,%d,%d],"chunks":[1,%[1]d,%[2]d],"dtype":"<i4","compressor":{"id":%q,"level":1},"filters":null,"fill_value":null,"order":"C"}`,
			lats, lons, compressor),
		"v/.zattrs": `{"_ARRAY_DIMENSIONS":["time","lat","lon"]}`,
		"v/0.0.0":   stored.String(),
	} {
		name := filepath.Join(name, file)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// indexOf returns the JSON of the index command.
func indexOf(t *testing.T, args ...string) (doc struct {
	Snapshot *string
	Chunks   int
	Whole    []string
}) {
	t.Helper()
	text, err := runCommand(t, t.Context(), append([]string{"index", "--json"}, args...)...)
	if err == nil {
		err = json.Unmarshal([]byte(text), &doc)
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return doc
}

// TestAutoIndex checks that new chunks get access points if the manifest has some, or if the command line says so.
func TestAutoIndex(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	files, out := filepath.Join(dir, "files"), filepath.Join(dir, "v.varve")
	do := func(args ...string) {
		t.Helper()
		if text, err := runCommand(t, t.Context(), args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
	}
	missing := func(n int) {
		t.Helper()
		if doc := indexOf(t, out); doc.Chunks != n || (doc.Snapshot == nil) != (n == 0) {
			t.Errorf("%d chunks were without access points, want %d", doc.Chunks, n)
		}
	}
	writeLargeDay(t, files, "zlib", 0)
	do("build", out, files, "--index", "auto")
	missing(0)
	do("append", out, writeLargeDay(t, files, "zlib", 1))
	missing(0)
	do("append", out, writeLargeDay(t, files, "zlib", 2), "--index", "none")
	missing(1)
	writeLargeDay(t, files, "zlib", 3)
	do("sync", out, files)
	missing(0)
	do("index", out, "--remove")
	do("append", out, writeLargeDay(t, files, "zlib", 4))
	missing(5)
	do("build", out, files, "--force")
	missing(5)
	if _, err := runCommand(t, t.Context(), "append", out, files, "--index", "some"); !errors.As(err, new(usageError)) {
		t.Errorf("--index some: %v", err)
	}
}

// TestIndexWhole checks that an array is left out whose chunks cannot be read in parts, unless it is named.
func TestIndexWhole(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	out := filepath.Join(dir, "v.varve")
	source := writeLargeDay(t, dir, "zstd", 0)
	if text, err := runCommand(t, t.Context(), "build", out, source, "--index", "auto"); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if doc := indexOf(t, out); doc.Chunks != 0 || !slices.Equal(doc.Whole, []string{"/v"}) {
		t.Errorf("got %+v", doc)
	}
	if doc := indexOf(t, out, "v"); doc.Chunks != 1 || len(doc.Whole) != 0 {
		t.Errorf("the array is named: got %+v", doc)
	}
}

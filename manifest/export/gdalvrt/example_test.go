package gdalvrt_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"varve/fixtures/classic"
	"varve/manifest/export/gdalvrt"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// A VRT names the parts of arrays in files.
func ExampleWrite() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for i := range 2 {
		f := &classic.File{Dims: []classic.Dim{{Name: "time", Length: 1, Records: true}, {Name: "x", Length: 3}}, Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Data: []float64{float64(i)}}, {Name: "v", Dims: []string{"time", "x"}, Data: []float32{1, 2, 3}},
		}}
		if err := f.Write(filepath.Join(dir, fmt.Sprintf("%d.nc", i))); err != nil {
			log.Fatal(err)
		}
	}
	out := filepath.Join(dir, "v.varve")
	if _, err := ingest.Build(ctx, out, &ingest.Options{Sources: ingest.Sources{Names: []string{filepath.Join(dir, "*.nc")}}}); err != nil {
		log.Fatal(err)
	}
	st, err := store.Open(ctx, out, &store.Options{Trusted: true})
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	var vrt bytes.Buffer
	r, err := gdalvrt.Write(ctx, &vrt, st, &gdalvrt.Options{Folder: dir})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d arrays, %d parts of files\n", r.Arrays, r.Sources)
	for line := range bytes.Lines(vrt.Bytes()) {
		if bytes.Contains(line, []byte("<SourceFilename")) {
			fmt.Printf("%s\n", bytes.TrimSpace(line))
		}
	}
	// Output:
	// 2 arrays, 2 parts of files
	// <SourceFilename relativetoVRT="1">0.nc</SourceFilename>
	// <SourceFilename relativetoVRT="1">1.nc</SourceFilename>
}

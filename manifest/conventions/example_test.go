package conventions_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"varve/fixtures/classic"
	"varve/manifest/conventions"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// An array of longitudes and latitudes gets its transform and its system.
func ExampleDescribe() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	units := func(u string) []classic.Attribute { return []classic.Attribute{{Name: "units", Value: u}} }
	f := &classic.File{Dims: []classic.Dim{{Name: "lat", Length: 2}, {Name: "lon", Length: 3}}, Vars: []classic.Var{
		{Name: "lat", Dims: []string{"lat"}, Attributes: units("degrees_north"), Data: []float64{50.5, 49.5}},
		{Name: "lon", Dims: []string{"lon"}, Attributes: units("degrees_east"), Data: []float64{0.5, 1.5, 2.5}},
		{Name: "v", Dims: []string{"lat", "lon"}, Data: make([]float32, 6)},
	}}
	name, out := filepath.Join(dir, "a.nc"), filepath.Join(dir, "a.varve")
	if err := f.Write(name); err != nil {
		log.Fatal(err)
	}
	if _, err := ingest.Build(ctx, out, &ingest.Options{Sources: ingest.Sources{Names: []string{name}}}); err != nil {
		log.Fatal(err)
	}
	st, err := store.Open(ctx, out, &store.Options{Trusted: true})
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	d, err := conventions.Describe(ctx, st, conventions.Names)
	if err != nil {
		log.Fatal(err)
	}
	for name, value := range d.Arrays["/v"].Select("spatial:transform", "proj:code") {
		fmt.Printf("%s %s\n", name, value)
	}
	// Output:
	// spatial:transform [1,0,0,0,-1,51]
	// proj:code "EPSG:4326"
}

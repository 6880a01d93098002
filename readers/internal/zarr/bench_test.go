package zarr

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"varve/readers/readertest"
)

// BenchmarkRefs lists the chunks of an array with many files.
func BenchmarkRefs(b *testing.B) {
	const rows, columns = 20, 1000
	dir := b.TempDir()
	for i := range rows {
		row := filepath.Join(dir, "c", fmt.Sprint(i))
		if err := os.MkdirAll(row, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range columns {
			if err := os.WriteFile(filepath.Join(row, fmt.Sprint(j)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	doc := array3("shape", fmt.Sprintf("[%d,%d]", rows, columns), "chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[1,1]}}`)
	if err := os.WriteFile(filepath.Join(dir, "zarr.json"), []byte(doc), 0o644); err != nil {
		b.Fatal(err)
	}
	v := readertest.Open(b, Format{}, dir).Root.Variables[0]
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range v.Storage.Refs(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != rows*columns {
			b.Fatalf("%d refs", n)
		}
	}
	b.ReportMetric(float64(rows*columns)*float64(b.N)/b.Elapsed().Seconds(), "refs/s")
}

package icechunk

import (
	"context"
	"testing"
)

// BenchmarkRefs reads refs with locations that are compressed with a dictionary.
func BenchmarkRefs(b *testing.B) {
	_, found := variables(b, "many", "")
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range found["/v"].Storage.Refs(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "refs/s")
}

package scan_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"varve/fixtures/system"
	"varve/manifest"
	"varve/manifest/scan"
	"varve/readers/source"
)

// archives returns the files that match a pattern below the folder in VARVE_ARCHIVES. If there are none, it
// skips the benchmark.
func archives(b *testing.B, pattern string) []string {
	b.Helper()
	dir := os.Getenv("VARVE_ARCHIVES")
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if dir == "" || err != nil || len(files) == 0 {
		b.Skip("VARVE_ARCHIVES names no folder with " + pattern)
	}
	return files
}

// discard is a sink that only counts rows.
type discard struct{ rows, inline int64 }

func (d *discard) Append(refs *manifest.RefColumns) error {
	d.rows += int64(len(refs.Offsets))
	return nil
}

func (d *discard) FilePoints(context.Context, int64, *manifest.Source, *source.Points) error {
	return nil
}

func (d *discard) Inline([]byte) (int64, error) {
	d.inline++
	return d.inline - 1, nil
}

// BenchmarkScan scans complete archives.
func BenchmarkScan(b *testing.B) {
	for _, pattern := range []string{"many_small/*.nc", "refs/*.nc", "wide_file/*.nc", "netcdf3/*.nc", "one_huge_index/*.h5"} {
		b.Run(filepath.Dir(pattern), func(b *testing.B) {
			names := archives(b, pattern)
			b.ReportAllocs()
			var d discard
			cpu := system.ProcessorTime(b)
			for b.Loop() {
				if _, err := scan.Scan(context.Background(), names, &scan.Options{Sink: &d}); err != nil {
					b.Fatal(err)
				}
			}
			used := (system.ProcessorTime(b) - cpu).Seconds()
			files := float64(b.N * len(names))
			b.ReportMetric(files/b.Elapsed().Seconds(), "files/s")
			b.ReportMetric(files/used, "files/cpu-s")
			b.ReportMetric(float64(d.rows)/used/1e6, "Mrefs/cpu-s")
		})
	}
}

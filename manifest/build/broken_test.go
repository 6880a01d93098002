package build

import (
	"fmt"
	"io"
	"testing"

	"varve/manifest/report"
	"varve/manifest/scan"
)

// TestManyBroken: of many files that cannot be read some are named with their reasons, and the rest
// counted.
func TestManyBroken(t *testing.T) {
	for _, n := range []int{0, 1, shownBroken, shownBroken + 1, 100 * shownBroken} {
		var list []scan.Broken
		for i := range n {
			list = append(list, scan.Broken{URL: fmt.Sprintf("/%d.nc", i), Err: io.ErrUnexpectedEOF})
		}
		var r report.Report
		addBroken(&r, list, report.Dropped)
		count := int64(0)
		for _, f := range r.Findings {
			count += f.Count
		}
		if len(r.Findings) > shownBroken+1 || count != int64(n) {
			t.Errorf("%d findings of %d files for %d", len(r.Findings), count, n)
		}
	}
}

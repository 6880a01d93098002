package zarr

import (
	"path/filepath"
	"testing"

	"varve/readers/readertest"
)

func TestConformance(t *testing.T) {
	var samples []readertest.FolderSample
	for _, name := range []string{"v3", "sharded", "rectilinear", "v2", "v3_consolidated", "v2_consolidated", "root_array"} {
		samples = append(samples, readertest.ReadFolder(t, name, filepath.Join(fixtureDir, name)))
	}
	readertest.RunFolder(t, Format{}, samples...)
}

package zarr

import (
	"path/filepath"
	"testing"

	"varve/readers/readertest"
)

func TestConformance(t *testing.T) {
	var samples []readertest.FolderSample
	names := []string{"sharded", "v3_consolidated", "v2_consolidated", "root_array"}
	if !testing.Short() {
		names = append(names, "v3", "rectilinear", "v2")
	}
	for _, name := range names {
		samples = append(samples, readertest.ReadFolder(t, name, filepath.Join(fixtureDir, name)))
	}
	readertest.RunFolder(t, Info(), samples...)
}

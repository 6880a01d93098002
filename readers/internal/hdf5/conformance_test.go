package hdf5_test

import (
	"os"
	"path/filepath"
	"testing"

	"varve/readers/internal/hdf5"
	"varve/readers/readertest"
)

// TestConformance runs the conformance suite of readers over sample files that together contain
// every structure.
func TestConformance(t *testing.T) {
	var samples []readertest.Sample
	for _, name := range []string{
		"superblock1.h5", "superblock2.h5", "links_dense.h5", "index_fixed.h5", "filter_masks.h5",
	} {
		data, err := os.ReadFile(filepath.Join("../../../fixtures/hdf5", name))
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, readertest.Sample{Name: name, Data: data})
	}
	readertest.Run(t, hdf5.Info(), samples...)
}

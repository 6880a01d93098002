package kerchunk

import (
	"os"
	"path/filepath"
	"testing"

	"varve/readers/readertest"
)

func TestConformanceJSON(t *testing.T) {
	dir, _ := fixtures(t)
	inline, err := os.ReadFile(filepath.Join(dir, "inline.json"))
	if err != nil {
		t.Fatal(err)
	}
	samples := []readertest.Sample{
		{Name: "inline.json", Data: inline},
		{Name: "version0.json", Data: []byte("{" + group + "," + array + `,"x/0":"ab","x/1":"base64:AAA="}`)},
	}
	readertest.Run(t, Info(), samples...)
}

func TestConformanceParquet(t *testing.T) {
	dir, _ := fixtures(t)
	var samples []readertest.FolderSample
	for _, name := range []string{"combined.parq", "combined_pyarrow.parq", "rectilinear.parq"} {
		samples = append(samples, readertest.ReadFolder(t, name, filepath.Join(dir, name)))
	}
	readertest.RunFolder(t, Info(), samples...)
}

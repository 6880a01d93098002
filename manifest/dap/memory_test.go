package dap

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"varve/manifest/export/netcdf"
)

// TestMemory checks that an answer of 64 MB needs memory for some blocks only, in both protocols.
func TestMemory(t *testing.T) {
	const rows, columns = 4096, 4096
	name := filepath.Join(t.TempDir(), "large.nc")
	f := netcdf.File{Dimensions: []netcdf.Dimension{{Name: "y", Length: rows}, {Name: "x", Length: columns}}, Variables: []netcdf.Variable{{Name: "v", Dimensions: []int{0, 1}, Type: netcdf.Float}}}
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	row := bytesOf(t, make([]float32, columns))
	err = f.Write(out, func(_ int, w io.Writer) error {
		for range rows {
			if _, err := w.Write(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, "large", name)
	for protocol, of := range map[string]func() (*Answer, error){
		"DAP2": func() (*Answer, error) { return d.DODS(t.Context(), "v", noLimit) },
		"DAP4": func() (*Answer, error) { return d.Data(t.Context(), "/v", true, noLimit) },
	} {
		a, err := of()
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n := &counter{}
		if err := a.Write(t.Context(), n); err != nil || n.bytes != a.Size {
			t.Fatalf("%d bytes of %d, %v", n.bytes, a.Size, err)
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
			t.Errorf("%s: an answer of %d bytes allocates %d", protocol, a.Size, got)
		} else {
			t.Logf("%s: %d of %d bytes", protocol, got, a.Size)
		}
	}
}

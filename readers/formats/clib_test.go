package formats_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// clibFiles lists the files that fixtures/clib writes, in the order of its expected.jsonl.
var clibFiles = []string{"classic.nc", "netcdf4.nc", "netcdf4_classic.nc", "offset64.nc", "plain.h5"}

// clibVariable is a variable as netcdf-c reads it.
type clibVariable struct {
	Shape  []uint64  `json:"shape"`
	Values []float64 `json:"values"`
}

type clibFile struct {
	Variables map[string]clibVariable `json:"variables"`
}

// TestCLibraries reads stored files of netcdf-c and libhdf5 and compares with these libraries.
func TestCLibraries(t *testing.T) {
	raw, err := os.ReadFile("../../fixtures/clib/expected.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	compareFiles(t, "../../fixtures/clib", raw)
}

// TestInteropCLibraries lets the C libraries write the files again and report their content.
// VARVE_CLIB names fixtures/clib, built with -tags clib.
func TestInteropCLibraries(t *testing.T) {
	clib := os.Getenv("VARVE_CLIB")
	if clib == "" {
		t.Skip("VARVE_CLIB is not set: it names fixtures/clib, built with -tags clib, cgo, libnetcdf-dev and libhdf5-dev")
	}
	dir := t.TempDir()
	if out, err := exec.Command(clib, "write", dir).CombinedOutput(); err != nil {
		t.Fatalf("clib write: %v\n%s", err, out)
	}
	args := []string{"read"}
	for _, name := range clibFiles {
		args = append(args, filepath.Join(dir, name))
	}
	out, err := exec.Command(clib, args...).Output()
	if err != nil {
		t.Fatalf("clib read: %v", err)
	}
	compareFiles(t, dir, out)
}

func compareFiles(t *testing.T, dir string, expected []byte) {
	t.Helper()
	lines, values := bufio.NewScanner(bytes.NewReader(expected)), 0
	for _, name := range clibFiles {
		var want clibFile
		if !lines.Scan() {
			t.Fatalf("nothing is expected of %s", name)
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		got := readNumbers(t, filepath.Join(dir, name))
		if len(got) != len(want.Variables) {
			t.Errorf("%s: %d variables, netcdf-c has %d", name, len(got), len(want.Variables))
		}
		for label, w := range want.Variables {
			g := got[label]
			if !slices.Equal(g.Shape, w.Shape) || !slices.Equal(g.Values, w.Values) {
				t.Errorf("%s: %s is %v %v, netcdf-c reads %v %v", name, label, g.Shape, g.Values, w.Shape, w.Values)
			}
			values += len(w.Values)
		}
	}
	if values < 500 {
		t.Errorf("only %d values were compared", values)
	}
}

// readNumbers returns all variables at the root of a file, as numbers.
func readNumbers(t *testing.T, name string) map[string]clibVariable {
	t.Helper()
	src, err := source.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dataset, err := formats.Open(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]clibVariable{}
	for _, v := range dataset.Root.Variables {
		value, err := v.ReadAll(t.Context(), 1<<20)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, v.Path, err)
		}
		numbers, err := toFloats(v.Type, value.Data)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, v.Path, err)
		}
		out[v.Name] = clibVariable{v.Shape, numbers}
	}
	return out
}

func toFloats(t *readers.Type, b []byte) ([]float64, error) {
	var out []float64
	for ; len(b) >= t.Size; b = b[t.Size:] {
		switch kind := fmt.Sprint(t.Class == readers.Float, t.Size); kind {
		case "false 1":
			out = append(out, float64(int8(b[0])))
		case "false 2":
			out = append(out, float64(int16(binary.LittleEndian.Uint16(b))))
		case "false 4":
			out = append(out, float64(int32(binary.LittleEndian.Uint32(b))))
		case "true 4":
			out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		case "true 8":
			out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		default:
			return nil, fmt.Errorf("clib writes no variables of type %v", t)
		}
	}
	return out, nil
}

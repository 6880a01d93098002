package hdf4_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"varve/fixtures/venv"
	"varve/readers"
	"varve/readers/internal/hdf4"
	"varve/readers/source"
)

const fixtures = "../../../fixtures/hdf4"

// expected holds the HDF library's description of a file, as describe.py prints it.
type expected struct {
	Error      string
	Attributes map[string]any
	Datasets   []expectedDataset
}

type expectedDataset struct {
	Name       string
	DType      string
	Dims       []string
	Shape      []uint64
	Attributes map[string]any
	Values     string
	Error      string
}

func open(t *testing.T, name string) (*readers.Dataset, error) {
	t.Helper()
	src, err := source.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return hdf4.Format{}.Open(t.Context(), src)
}

func TestFixtures(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(fixtures, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := decode(t, raw)
	files, err := filepath.Glob(filepath.Join(fixtures, "*.hdf"))
	if err != nil || len(files) != len(all) {
		t.Fatalf("%d files, %d expected (%v)", len(files), len(all), err)
	}
	for name, want := range all {
		compare(t, filepath.Join(fixtures, name), want)
	}
}

func decode(t *testing.T, raw []byte) map[string]expected {
	t.Helper()
	var all map[string]expected
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestInteropPyhdf reads the fixtures, and the files of VARVE_HDF4, with the HDF library and
// compares.
func TestInteropPyhdf(t *testing.T) {
	python := venv.Python(t, "pyhdf")
	if err := exec.Command(python, "-c", "import pyhdf").Run(); err != nil {
		t.Skipf("%s has no pyhdf", python)
	}
	files, err := filepath.Glob(filepath.Join(fixtures, "*.hdf"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join(fixtures, "describe.py"))
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("VARVE_HDF4"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(more) == 0 {
			t.Fatalf("VARVE_HDF4 = %s: no files (%v)", dir, err)
		}
		files = append(files, more...)
	}
	for _, name := range files {
		cmd := exec.Command(python, script, filepath.Base(name))
		cmd.Dir = filepath.Dir(name) // the library looks for external files where it runs
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("describe.py %s: %v\n%s", name, err, out)
		}
		compare(t, name, decode(t, out)[filepath.Base(name)])
	}
}

func compare(t *testing.T, name string, want expected) {
	t.Run(filepath.Base(name), func(t *testing.T) {
		data, err := open(t, name)
		if want.Error != "" {
			t.Skipf("the library says %q; varve %v", want.Error, err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range data.Problems {
			t.Logf("problem: %v", p.Err)
		}
		if got := plainAttributes(data.Root.Attributes); !reflect.DeepEqual(got, want.Attributes) {
			t.Errorf("attributes are %v\nwant %v", got, want.Attributes)
		}
		list := data.Root.Variables
		for _, w := range want.Datasets {
			if len(list) > 0 && isEmptyScale(list[0].Name, w) {
				continue
			}
			if len(list) == 0 {
				t.Errorf("there is no %s", w.Name)
				continue
			}
			got := plainVariable(t, list[0], &w)
			if list = list[1:]; !reflect.DeepEqual(got, w) {
				t.Errorf("got  %+v\nwant %+v", got, w)
			}
		}
		if len(list) > 0 {
			t.Errorf("the library has no %s", list[0].Name)
		}
	})
}

// isEmptyScale reports whether the library shows a variable for a dimension without a scale: it
// intends to show dimensions with a scale or a text, but also shows these.
func isEmptyScale(got string, want expectedDataset) bool {
	return got != want.Name && strings.HasPrefix(want.Name, "fakeDim") && len(want.Attributes) == 0
}

func plainVariable(t *testing.T, v *readers.Variable, want *expectedDataset) expectedDataset {
	out := expectedDataset{Name: v.Name, DType: plainType(v.Type), Dims: []string{}, Shape: append([]uint64{}, v.Shape...), Attributes: plainAttributes(v.Attributes)}
	if clean := strings.ReplaceAll(want.Name, "/", "_"); v.Name == clean || strings.HasPrefix(v.Name, clean+"_") {
		out.Name = want.Name // slashes separate groups, and a repeated name gets a number
	}
	for i, d := range v.Dims {
		name := d.Name[strings.LastIndexByte(d.Name, '#')+1:]
		if i < len(want.Dims) && name == strings.ReplaceAll(want.Dims[i], "/", "_") {
			name = want.Dims[i]
		}
		out.Dims = append(out.Dims, name)
	}
	value, err := v.ReadAll(context.Background(), 1<<28)
	if want.Error != "" {
		out.Error = want.Error
		t.Logf("%s: the library says %q; varve %v", v.Path, want.Error, err)
		return out
	}
	if errors.Is(err, errors.ErrUnsupported) {
		out.Values = want.Values // docs/reference/formats.md lists the samples with unsupported values
		t.Logf("%s: %v", v.Path, err)
		return out
	}
	if err != nil {
		t.Errorf("%s: %v", v.Path, err)
	}
	sum := sha256.Sum256(value.Data)
	out.Values = hex.EncodeToString(sum[:])
	return out
}

func plainType(t *readers.Type) string {
	name := strings.TrimLeft(t.String(), "<>|")
	name, _, _ = strings.Cut(name, "{")
	return name
}

// plainAttributes converts attributes to the values that encoding/json decodes.
func plainAttributes(list []readers.Attribute) map[string]any {
	out := map[string]any{}
	for _, a := range list {
		switch {
		case a.Err != nil:
			out[a.Name] = a.Err.Error()
		case a.Type.Class == readers.String:
			text := make([]rune, len(a.Texts[0])) // pyhdf takes every byte for a character
			for i, b := range a.Texts[0] {
				text[i] = rune(b)
			}
			out[a.Name] = string(text)
		default:
			out[a.Name] = append([]any{plainType(a.Type)}, numbers(a.Value)...)
		}
	}
	return out
}

func numbers(v readers.Value) []any {
	var out []any
	little := *v.Type
	little.Order = readers.LittleEndian
	for b := v.Data; len(b) >= little.Size; b = b[little.Size:] {
		bits := little.Uint64(b[:little.Size])
		switch {
		case little.Class == readers.Float && little.Size == 4:
			out = append(out, float64(math.Float32frombits(uint32(bits))))
		case little.Class == readers.Float:
			out = append(out, math.Float64frombits(bits))
		case little.Signed:
			out = append(out, float64(int64(bits)))
		default:
			out = append(out, float64(bits))
		}
	}
	return out
}

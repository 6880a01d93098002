package present

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve/fixtures/venv"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// interopCase is a region that both varve and xarray read.
type interopCase struct {
	Calendar string         `json:"calendar"`
	Array    string         `json:"array"`
	Isel     string         `json:"isel"`
	Sel      map[string]any `json:"sel"` // a label, or a list of two
	Decode   bool           `json:"decode"`
	File     string         `json:"file,omitempty"`
	Stat     *Statistics    `json:"stat,omitempty"`
}

// TestInteropXarray: xarray reads the same values from the sources and from the files that varve wrote.
func TestInteropXarray(t *testing.T) {
	python := venv.Python(t, "xarray and netCDF4")
	dir := t.TempDir()
	runPython(t, python, "make", dir)
	var cases []interopCase
	for _, calendar := range []string{"standard", "noleap", "360_day"} {
		opts := &ingest.Options{}
		for month := range 3 {
			opts.Sources.Names = append(opts.Sources.Names, filepath.Join(dir, fmt.Sprintf("%s_%d.nc", calendar, month)))
		}
		st := opened(t, filepath.Join(dir, calendar+".varve"), opts)
		for _, c := range regions() {
			if strings.Contains(c.Isel+fmt.Sprint(c.Sel), "station") && c.Array != "at" {
				continue
			}
			c.Calendar = calendar
			cases = append(cases, writeCases(t, st, dir, c, len(cases))...)
		}
	}
	b, err := json.Marshal(cases)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cases.json"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := runPython(t, python, "check", dir); !strings.HasPrefix(out, fmt.Sprint(len(cases), " right")) {
		t.Error(out)
	}
}

// TestInteropSeveral: xarray reads the same values from a file with several variables, which have some of the selected dimensions.
func TestInteropSeveral(t *testing.T) {
	python := venv.Python(t, "xarray and netCDF4")
	dir := t.TempDir()
	runPython(t, python, "make", dir)
	opts := &ingest.Options{}
	for month := range 3 {
		opts.Sources.Names = append(opts.Sources.Names, filepath.Join(dir, fmt.Sprintf("standard_%d.nc", month)))
	}
	st := opened(t, filepath.Join(dir, "standard.varve"), opts)
	all := severalOf(t, st, "packed", "floats", "large", "at")
	selections, err := SelectAll(t.Context(), st, all, nil, []string{"lat=-20:40", "time=2010-02"})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "several.nc"), func(f *os.File) error { return WriteNetCDF(t.Context(), f, st, selections...) })
	if out := runPython(t, python, "several", dir); !strings.HasPrefix(out, "4 variables") {
		t.Error(out)
	}
}

func severalOf(t *testing.T, st *store.Store, names ...string) (all []*store.Array) {
	t.Helper()
	for _, name := range names {
		a, err := st.Array(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

func runPython(t *testing.T, python string, args ...string) string {
	t.Helper()
	var failure strings.Builder
	cmd := exec.CommandContext(t.Context(), python, append([]string{"testdata/interop.py"}, args...)...)
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failure.String())
	}
	if strings.HasPrefix(string(out), "skip:") {
		t.Skip(string(out))
	}
	return string(out)
}

// regions returns the selections that are read for each calendar.
func regions() (cases []interopCase) {
	selections := []interopCase{
		{},
		{Isel: "time=3,lat=-1"},
		{Isel: "time=2:20:3,lon=::2"},
		{Isel: "time=5:5"},
		{Sel: map[string]any{"lat": 10.1}},
		{Sel: map[string]any{"lat": []any{40, -20}, "lon": []any{72, 144.5}}},
		{Sel: map[string]any{"lat": []any{nil, 10.2}}},
		{Sel: map[string]any{"time": "2010-02"}},
		{Sel: map[string]any{"time": []any{"2010-01-25", "2010-02-03"}}},
		{Sel: map[string]any{"time": []any{"2010-02", nil}}, Isel: "lon=1"},
		{Sel: map[string]any{"time": "2010-01-25"}},
		{Sel: map[string]any{"time": "2010-01-25T06"}},
	}
	for _, array := range []string{"packed", "floats"} {
		for _, c := range selections {
			c.Array = array
			cases = append(cases, c)
		}
	}
	return append(cases,
		interopCase{Array: "large"}, interopCase{Array: "large", Isel: "time=3"}, interopCase{Array: "small"},
		interopCase{Array: "time"}, interopCase{Array: "cell", Isel: "lat=1"}, interopCase{Array: "station"},
		interopCase{Array: "at", Sel: map[string]any{"station": "Oslo"}}, interopCase{Array: "at", Sel: map[string]any{"station": []any{"Oslo", "Tromsø"}}})
}

// writeCases writes a region in all formats, and returns a case for each.
func writeCases(t *testing.T, st *store.Store, dir string, c interopCase, number int) (cases []interopCase) {
	t.Helper()
	var sel []string
	for dim, what := range c.Sel {
		if ends, ok := what.([]any); ok {
			what = strings.ReplaceAll(fmt.Sprint(ends[0], ":", ends[1]), "<nil>", "")
			what = strings.ReplaceAll(what.(string), " ", "")
		}
		sel = append(sel, fmt.Sprint(dim, "=", what))
	}
	if c.Sel == nil {
		c.Sel = map[string]any{}
	}
	s := selected(t, st, c.Array, split(c.Isel), sel)
	for _, decode := range []bool{false, true} {
		c := c
		c.Decode = decode
		d := decoderOf(t, s, decode)
		if d.IsNumeric() == nil && d.times == nil {
			stat, err := Measure(t.Context(), s, d)
			if err != nil {
				t.Fatal(err)
			}
			c.Stat = &stat
			cases = append(cases, c)
		}
		c.Stat = nil
		if c.Calendar != "standard" && d.times != nil {
			continue
		}
		c.File = filepath.Join(dir, fmt.Sprintf("%d_%v.npy", number, decode))
		writeFile(t, c.File, func(f *os.File) error { return WriteNPY(t.Context(), f, s, d) })
		cases = append(cases, c)
	}
	if s.Count() == 0 && c.Calendar != "standard" {
		return cases // xarray cannot decode an empty list of times of other calendars
	}
	c.File = filepath.Join(dir, fmt.Sprintf("%d.nc", number))
	writeFile(t, c.File, func(f *os.File) error { return WriteNetCDF(t.Context(), f, st, s) })
	return append(cases, c)
}

func writeFile(t *testing.T, name string, write func(*os.File) error) {
	t.Helper()
	f, err := os.Create(name)
	if err == nil {
		err = write(f)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

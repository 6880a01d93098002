package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/fixtures/venv"
)

// messagesOf are the messages of a sample, one after the other.
func messagesOf(t *testing.T, name string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../fixtures/grib", name))
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for len(b) > 0 {
		end := bytes.Index(b, []byte("7777")) + 4
		out = append(out, b[:end])
		b = b[end:]
	}
	return out
}

// TestBuildGRIB builds one array of files of one lead time each, as forecasts are published: the first has no axis of lead times, and the
// second lacks a level of one variable.
func TestBuildGRIB(t *testing.T) {
	list := messagesOf(t, "levels.grib")
	if len(list) != 11 {
		t.Fatalf("%d messages", len(list))
	}
	steps := map[string][]int{"f000": {0, 1, 2, 6, 7, 8}, "f006": {3, 4, 5, 9, 10}}
	dir := t.TempDir()
	var names []string
	for _, name := range []string{"f006", "f000"} {
		var b []byte
		for _, i := range steps[name] {
			b = append(b, list[i]...)
		}
		names = append(names, filepath.Join(dir, name+".grib2"))
		if err := os.WriteFile(names[len(names)-1], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out.varve")
	if text, code, err := run(t, append([]string{"build", out}, names...)...); code != exitDone {
		t.Fatal(text, err)
	}
	for variable, want := range map[string]string{"t": `"count":72,"valid":72`, "u": `"count":72,"valid":60`} {
		if got, code, err := run(t, "read", out, variable, "--stat"); code != exitDone || !strings.Contains(got, want) {
			t.Errorf("%s: %s (%v), not %s", variable, got, err, want)
		}
	}
	got, code, err := run(t, "read", out, "t", "--sel", "step=6,isobaricInhPa=850,latitude=60,longitude=0")
	if code != exitDone || !strings.HasSuffix(got, ",280\n") {
		t.Errorf("%q (%v)", got, err)
	}
}

// gribFact is what ecCodes reads of a field of fixtures/grib/archives.
type gribFact struct {
	ShortName, CFVarName                       string
	Level, DataDate, DataTime, EndStep, Number int
	Values                                     []*float64
}

// selection returns the selection of the field along dimensions of its array.
func (f *gribFact) selection(dims []string) string {
	var out []string
	for _, d := range dims {
		switch d {
		case "time":
			out = append(out, fmt.Sprintf("time=%04d-%02d-%02dT%02d:%02d:00", f.DataDate/10000, f.DataDate/100%100, f.DataDate%100, f.DataTime/100, f.DataTime%100))
		case "step":
			out = append(out, fmt.Sprintf("step=%d", f.EndStep))
		case "number":
			out = append(out, fmt.Sprintf("number=%d", f.Number))
		default:
			out = append(out, fmt.Sprintf("%s=%d", d, f.Level))
		}
	}
	return strings.Join(out, ",")
}

func gribFacts(t *testing.T) map[string][]gribFact {
	t.Helper()
	b, err := os.ReadFile("../../fixtures/grib/archives/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var facts map[string][]gribFact
	if err := json.Unmarshal(b, &facts); err != nil {
		t.Fatal(err)
	}
	return facts
}

// gribArchive is an archive of fixtures/grib/archives, and the arrays that it becomes.
type gribArchive struct {
	name, names string
	arrays      map[string]string   // path, by short name
	dims        map[string][]string // in front of the grid, by short name or, for all others, by ""
	findings    []string            // codes
}

var gribArchives = []gribArchive{
	{"hrrr", "cf", map[string]string{"2t": "t2m", "10u": "u10", "refc": "refc"}, map[string][]string{"": {"time"}}, nil},
	{"hrrr", "eccodes", map[string]string{"2t": "2t", "10u": "10u", "refc": "refc"}, map[string][]string{"": {"time"}}, nil},
	{"hrrr", "wgrib2", map[string]string{"2t": "TMP", "10u": "UGRD", "refc": "REFC"}, map[string][]string{"": {"time"}}, nil},
	{"gfs", "cf", map[string]string{"t": "t", "tp": "tp"}, map[string][]string{"": {"time", "step"}, "t": {"time", "step", "isobaricInhPa"}}, []string{"step-without-dimension", "variable-absent"}},
	{"gfs", "wgrib2", map[string]string{"t": "TMP", "tp": "APCP"}, map[string][]string{"": {"time", "step"}, "t": {"time", "step", "isobaricInhPa"}}, []string{"step-without-dimension", "variable-absent"}},
	{"gefs", "cf", map[string]string{"t": "t", "u": "u"}, map[string][]string{"": {"number", "time", "step", "isobaricInhPa"}}, nil},
	{"era5", "cf", map[string]string{"2t": "t2m", "sp": "sp", "z": "z", "q": "q"}, map[string][]string{"": {"time"}, "z": {"time", "isobaricInhPa"}, "q": {"time", "isobaricInhPa"}}, nil},
	{"era5", "eccodes", map[string]string{"2t": "2t", "sp": "sp", "z": "z", "q": "q"}, map[string][]string{"": {"time"}, "z": {"time", "isobaricInhPa"}, "q": {"time", "isobaricInhPa"}}, nil},
	{"icon", "cf", map[string]string{"2t": "t2m", "sp": "sp"}, map[string][]string{"": {"time", "step"}}, []string{"step-without-dimension"}},
	{"mixed", "cf", map[string]string{"2t": "instant/t2m", "sp": "instant/sp", "tp": "accum/tp"}, map[string][]string{"": {"time"}, "tp": {"time", "step"}}, []string{"several-datasets"}},
	{"mixed", "wgrib2", map[string]string{"2t": "instant/TMP", "sp": "instant/PRES", "tp": "accum/var0_1_193"}, map[string][]string{"": {"time"}, "tp": {"time", "step"}}, []string{"several-datasets"}},
}

// TestGRIBArchives builds archives as weather centres publish them, and compares each field with ecCodes.
func TestGRIBArchives(t *testing.T) {
	facts := gribFacts(t)
	for _, a := range gribArchives {
		t.Run(a.name+" "+a.names, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.varve")
			text, code, err := run(t, "build", out, filepath.Join("../../fixtures/grib/archives", a.name), "--names", a.names, "--json")
			if code != exitDone {
				t.Fatal(text, err)
			}
			checkCodes(t, text, append(a.findings, "codecs-unsupported"))
			fields := 0
			for file, list := range facts {
				if path.Dir(file) != a.name {
					continue
				}
				for _, f := range list {
					fields++
					dims := a.dims[f.ShortName]
					if dims == nil {
						dims = a.dims[""]
					}
					checkField(t, out, a.arrays[f.ShortName], &f, dims)
				}
			}
			if fields < 6 {
				t.Errorf("only %d fields", fields)
			}
		})
	}
}

// checkCodes compares the codes of findings with the wanted ones, each of which may occur more than once.
func checkCodes(t *testing.T, text string, want []string) {
	t.Helper()
	var doc struct{ Findings []struct{ Code string } }
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var got []string
	for _, f := range doc.Findings {
		got = append(got, f.Code)
	}
	slices.Sort(got)
	slices.Sort(want)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("findings %v, want %v", got, want)
	}
}

// checkField compares the values of a field in an array with ecCodes' values.
func checkField(t *testing.T, out, array string, f *gribFact, dims []string) {
	t.Helper()
	text, code, err := run(t, "read", out, array, "--sel", f.selection(dims))
	if code != exitDone {
		t.Fatalf("%s %s: %v", array, f.selection(dims), err)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")[1:]
	if len(lines) != len(f.Values) {
		t.Fatalf("%s %s: %d values, want %d", array, f.selection(dims), len(lines), len(f.Values))
	}
	for i, line := range lines {
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ',')+1:], 64)
		if err != nil || math.Abs(v-*f.Values[i]) > 1e-4 {
			t.Fatalf("%s %s: value %d is %v (%v), want %v", array, f.selection(dims), i, v, err, *f.Values[i])
		}
	}
}

// TestGRIBGrids: each grid of a file becomes a group, and grids of equal size have different groups.
func TestGRIBGrids(t *testing.T) {
	list := gribFacts(t)["grids/grids.grib2"]
	out := filepath.Join(t.TempDir(), "out.varve")
	if text, code, err := run(t, "build", out, "../../fixtures/grib/archives/grids"); code != exitDone {
		t.Fatal(text, err)
	}
	for i, group := range []string{"regular_ll_3x4", "lambert_4x5", "regular_ll_3x4_2"} {
		checkField(t, out, group+"/t2m", &list[i], []string{"time"})
	}
}

// TestAppendNames: appended files take the names of the manifest, and other names are refused.
func TestAppendNames(t *testing.T) {
	const archive = "../../fixtures/grib/archives/hrrr/hrrr.t0%dz.wrfsfcf00.grib2"
	out := filepath.Join(t.TempDir(), "out.varve")
	if text, code, err := run(t, "build", out, fmt.Sprintf(archive, 0), fmt.Sprintf(archive, 1), "--names", "wgrib2"); code != exitDone {
		t.Fatal(text, err)
	}
	if _, code, _ := run(t, "append", out, fmt.Sprintf(archive, 2), "--names", "eccodes"); code != exitUsage {
		t.Errorf("other names: exit code %d", code)
	}
	for i, more := range [][]string{{}, {"--names", "wgrib2"}} {
		if text, code, err := run(t, append([]string{"append", out, fmt.Sprintf(archive, 2+i)}, more...)...); code != exitDone {
			t.Fatal(text, err)
		}
	}
	if got, code, err := run(t, "read", out, "TMP", "--stat"); code != exitDone || !strings.Contains(got, `"count":80,"valid":80`) {
		t.Errorf("%s (%v)", got, err)
	}
	if _, code, err := run(t, "build", out+"1", "../../fixtures/grib/levels1.grib", "--names", "wgrib2"); code == exitDone || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("edition 1 with names of wgrib2: %v", err)
	}
}

// TestInteropGRIBCodecs exports archives with references to messages and compares what kerchunk's codec and gribberish read with an export
// in plain Zarr.
func TestInteropGRIBCodecs(t *testing.T) {
	for _, c := range []struct{ archive, codec, kind string }{
		{"hrrr", "grib", "kerchunk"},
		{"hrrr", "gribberish", "kerchunk"},
		{"hrrr", "gribberish", "icechunk"},
		{"gfs", "grib", "kerchunk"},
		{"gfs", "gribberish", "icechunk"},
		{"era5", "grib", "kerchunk"},
		{"era5", "gribberish", "kerchunk"},
		{"icon", "grib", "kerchunk"},
		{"icon", "gribberish", "icechunk"},
		{"mixed", "grib", "kerchunk"},
	} {
		t.Run(strings.Join([]string{c.archive, c.codec, c.kind}, " "), func(t *testing.T) {
			venv.Python(t, "kerchunk, ecCodes, gribberish and Icechunk")
			dir := t.TempDir()
			out, plain, dest := filepath.Join(dir, "out.varve"), filepath.Join(dir, "plain.zarr"), filepath.Join(dir, "dest.json")
			if c.kind == "icechunk" {
				dest = filepath.Join(dir, "dest.icechunk")
			}
			for _, args := range [][]string{
				{"build", out, filepath.Join("../../fixtures/grib/archives", c.archive)},
				{"export", "zarr", out, plain},
			} {
				if text, code, err := run(t, args...); code != exitDone {
					t.Fatal(text, err)
				}
			}
			text, code, err := run(t, "export", c.kind, out, dest, "--grib-codec", c.codec, "--json")
			if code != exitDone {
				t.Fatal(text, err)
			}
			checkMessages(t, text)
			venv.Run(t, "kerchunk, ecCodes, gribberish and Icechunk", "../../fixtures/grib/clients.py", "compare", plain, dest, c.kind)
		})
	}
}

// checkMessages checks that an export refers to messages and re-encodes none.
func checkMessages(t *testing.T, text string) {
	t.Helper()
	var doc struct {
		Patched int64
		GRIB    gribJSON
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if len(doc.GRIB.Verbatim) < 2 || len(doc.GRIB.Reencoded) > 0 {
		t.Errorf("arrays of messages: %+v", doc.GRIB)
	}
}

// TestGRIBCodecs: arrays for which a codec would give other values are re-encoded and named, and Icechunk has no codec of format 2.
func TestGRIBCodecs(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		sample, codec, kind string
		verbatim            []string
		reencoded           []string
	}{
		{"reduced1.grib", "gribberish", "kerchunk", nil, []string{"/t"}},
		{"reduced1.grib", "grib", "kerchunk", []string{"/t"}, nil},
		{"reduced.grib", "gribberish", "icechunk", []string{"/t"}, nil},
		{"multi.grib", "grib", "kerchunk", nil, []string{"/u", "/v"}},
		{"alternate.grib", "grib", "kerchunk", nil, []string{"/t2m"}},
		{"columns.grib", "gribberish", "kerchunk", nil, []string{"/t"}},
		{"surface.grib", "grib", "kerchunk", []string{"/sp", "/t2m", "/tp", "/u10"}, nil},
	} {
		name := c.sample + c.codec
		out := filepath.Join(dir, name+".varve")
		if text, code, err := run(t, "build", out, "../../fixtures/grib/"+c.sample); code != exitDone {
			t.Fatal(text, err)
		}
		text, code, err := run(t, "export", c.kind, out, filepath.Join(dir, name+".json"), "--grib-codec", c.codec, "--json")
		var doc struct{ GRIB gribJSON }
		if code != exitDone || json.Unmarshal([]byte(text), &doc) != nil {
			t.Fatal(name, text, err)
		}
		if !slices.Equal(doc.GRIB.Verbatim, c.verbatim) || !slices.Equal(doc.GRIB.Reencoded, c.reencoded) {
			t.Errorf("%s: %+v", name, doc.GRIB)
		}
	}
	out := filepath.Join(dir, "surface.gribgrib.varve")
	for _, args := range [][]string{
		{"export", "icechunk", out, filepath.Join(dir, "x"), "--grib-codec", "grib"},
		{"export", "kerchunk", out, filepath.Join(dir, "x.json"), "--grib-codec", "other"},
		{"export", "kerchunk", out, filepath.Join(dir, "surface.gribgrib.json"), "--grib-codec", "grib"},
		{"export", "icechunk", out, filepath.Join(dir, "reduced.gribgribberish.json"), "--grib-codec", "gribberish"},
	} {
		if text, code, err := run(t, args...); code == exitDone || err == nil {
			t.Errorf("%v: %s", args, text)
		}
	}
}

// rerun returns a copy of a file of edition 2 with another day and hour of the reference time in all messages.
func rerun(t *testing.T, name string, day, hour byte) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const dayAt, hourAt = 16 + 15, 16 + 16 // after the beginning of a message: in section 1
	for at := 0; at < len(b); {
		b[at+dayAt], b[at+hourAt] = day, hour
		at += int(binary.BigEndian.Uint64(b[at+8:]))
	}
	return b
}

// TestGRIBValidTimes builds runs six hours apart, with lead times of 0, 6 and 12 hours, along their valid times. Runs overlap, so a
// choice is needed; the last run has the shortest lead times.
func TestGRIBValidTimes(t *testing.T) {
	const archive = "../../fixtures/grib/archives/gfs"
	dir := t.TempDir()
	facts := gribFacts(t)
	want := map[string]map[int][]gribFact{"first": {}, "last": {}} // by choice and valid hour
	for run := range 2 {
		for _, step := range []int{0, 6, 12} {
			from := fmt.Sprintf("gfs.2024010%d.t00z.pgrb2.f%03d", 1+run, step)
			b := rerun(t, filepath.Join(archive, from), 1, byte(6*run))
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("gfs.t%02dz.f%03d", 6*run, step)), b, 0o600); err != nil {
				t.Fatal(err)
			}
			valid := 6*run + step
			if want["last"][valid] = facts["gfs/"+from]; want["first"][valid] == nil {
				want["first"][valid] = facts["gfs/"+from]
			}
		}
	}
	out := filepath.Join(t.TempDir(), "out.varve")
	if text, code, err := run(t, "build", out, dir, "--grib-times", "valid", "--json"); code == exitDone {
		t.Fatalf("overlapping runs: %s (%v)", text, err)
	}
	for choice, hours := range want {
		if text, code, err := run(t, "build", out, dir, "--grib-times", "valid", "--overlap", choice, "--force"); code != exitDone {
			t.Fatal(choice, text, err)
		}
		for hour, list := range hours {
			for _, f := range list {
				f.DataDate, f.DataTime = 20240101, 100*hour
				dims := []string{"time"}
				if f.ShortName == "t" {
					dims = append(dims, "isobaricInhPa")
				}
				checkField(t, out, f.CFVarName, &f, dims)
			}
		}
		steps, code, err := run(t, "read", out, "step")
		want := map[string]string{"first": "0 6 12 12", "last": "0 0 6 12"}[choice]
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(steps), "\n")[1:] {
			got = append(got, line[strings.LastIndexByte(line, ',')+1:])
		}
		if code != exitDone || strings.Join(got, " ") != want {
			t.Errorf("%s: steps %v (%v), want %s", choice, got, err, want)
		}
	}
	if _, code, _ := run(t, "append", out, filepath.Join(dir, "gfs.t00z.f000"), "--grib-times", "valid", "--names", "eccodes"); code == exitDone {
		t.Error("appended with other names")
	}
}

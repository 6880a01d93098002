package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
	"varve/manifest/store"
	"varve/readers/source"
)

// adviceCase is a command that ends with advice, and what the user has after it.
type adviceCase struct {
	name string
	// prepare makes files in a folder, and returns the arguments of the command. build makes the manifest again, for advice to do so.
	prepare func(t *testing.T, dir string) (args, build []string)
	words   map[string]string // what the user writes for the words in capitals
	instead string            // a flag that the advice replaces
	// show returns the arguments of a command that prints the result; nil if the first command prints it.
	show  func(t *testing.T, dir string, r report.Remedy) []string
	want  string
	with  map[report.Option]string // what is printed instead of want after advice that leaves something out
	noted bool                     // the advice is of a finding, and the command succeeds without it
}

// TestAdviceOfCommands follows each advice of commands that need servers, outputs or other commands: the same command with the flag
// succeeds, and prints the true values.
func TestAdviceOfCommands(t *testing.T) {
	used := reporttest.Followed{}
	for _, c := range adviceCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			for i, n := 0, 1; i < n; i++ {
				dir := t.TempDir()
				args, build := c.prepare(t, dir)
				text, code, err := run(t, args...)
				remedies := advised(t, text, err)
				if n = len(remedies); n == 0 || (code == exitDone) != c.noted {
					t.Fatalf("%v: exit code %d without advice: %v\n%s", args, code, err, text)
				}
				c.follow(t, dir, args, build, remedies[i])
				used.Add(&remedies[i])
			}
		})
	}
	used.Check(t, "../../manifest/report/reporttest/testdata/followed", "command")
}

// advised returns the advice of an error, or of findings in JSON.
func advised(t *testing.T, text string, err error) (remedies []report.Remedy) {
	t.Helper()
	for _, f := range refusalsIn(err) {
		remedies = append(remedies, f.Remedies...)
	}
	for part := range errorParts(err) {
		switch e := part.(type) {
		case *manifest.RemedyError:
			for _, r := range e.Remedies {
				remedies = append(remedies, report.Do(report.Option(r.Option), r.Value, ""))
			}
		case *store.ForbiddenError:
			remedies = append(remedies, report.Do(report.Allow, e.Allow[0], ""))
		case *source.NoRangesError:
			remedies = append(remedies, report.Do(report.Download, "", ""))
		case *plan.OptionError:
			remedies = append(remedies, e.Remedies...)
		}
	}
	if err == nil {
		var doc struct {
			Findings []struct{ Remedies []report.Remedy }
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, f := range doc.Findings {
			remedies = append(remedies, f.Remedies...)
		}
	}
	return remedies
}

// follow runs the command as advised, and compares what is printed.
func (c *adviceCase) follow(t *testing.T, dir string, args, build []string, r report.Remedy) {
	t.Helper()
	if i := slices.Index(args, c.instead); i >= 0 {
		args = slices.Delete(slices.Clone(args), i, i+2)
	}
	isOfBuild := false
	for _, s := range append([]report.Setting{r.Setting}, r.With...) {
		command, option, ok := strings.Cut(string(s.Option), "/")
		if !ok {
			option = command
		}
		flags := []string{"--" + option}
		if s.Value != "" {
			for word, value := range c.words {
				s.Value = strings.ReplaceAll(s.Value, word, value)
			}
			flags = append(flags, s.Value)
		}
		if isOfBuild = isOfBuild || ok; ok {
			build = append(slices.Clone(build), flags...)
		} else {
			args = append(slices.Clone(args), flags...)
		}
	}
	if isOfBuild {
		if !slices.Contains(build, "--force") {
			build = append(build, "--force")
		}
		if text, _, err := run(t, build...); err != nil {
			t.Fatalf("%v: %v\n%s", build, err, text)
		}
	}
	var text string
	if !isOfBuild || r.Option != report.Force { // a new build is what the user wanted
		var err error
		if text, _, err = run(t, args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
	}
	if c.show != nil {
		show := c.show(t, dir, r)
		var err error
		if text, _, err = run(t, show...); err != nil {
			t.Fatalf("%s %s: %v: %v\n%s", r.Option, r.Value, show, err, text)
		}
	}
	want := c.want
	if other, ok := c.with[r.Option]; ok {
		want = other
	}
	if text != want {
		t.Errorf("%s %s: %v prints\n%swant\n%s", r.Option, r.Value, args, text, want)
	}
}

// dayFile writes v = 10 times the day, for some days, and further variables with the same values.
func dayFile(t *testing.T, name string, days []int32, more ...string) string {
	t.Helper()
	data := make([]float64, len(days))
	for i, d := range days {
		data[i] = 10 * float64(d)
	}
	f := classic.File{Dims: []classic.Dim{{Name: "time", Length: len(days)}}, Vars: []classic.Var{
		{Name: "time", Dims: []string{"time"}, Data: days, Attributes: []classic.Attribute{{Name: "units", Value: "days since 1989-12-31"}}}}}
	for _, v := range append([]string{"v"}, more...) {
		f.Vars = append(f.Vars, classic.Var{Name: v, Dims: []string{"time"}, Data: data})
	}
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	return name
}

// valuesOf is what "read" prints of v on some days.
func valuesOf(days ...int32) string { return namedValues("v", days...) }

func namedValues(name string, days ...int32) string {
	text := "time," + name + "\n"
	for _, d := range days {
		text += fmt.Sprintf("1990-01-%02d,%d\n", d, 10*d)
	}
	return text
}

// span returns the days from one to another.
func span(from, to int32) (days []int32) {
	for d := from; d <= to; d++ {
		days = append(days, d)
	}
	return days
}

// referencesElsewhere writes references of kerchunk for day 3, whose values are in another folder.
func referencesElsewhere(t *testing.T, dir string) string {
	t.Helper()
	for _, folder := range []string{"refs", "data"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	values := filepath.Join(dir, "data", "3.bin")
	writeFile(t, values, binary.BigEndian.AppendUint64(nil, 0x403e000000000000)) // 30
	array := func(typ string) string {
		return fmt.Sprintf(`{\"zarr_format\":2,\"shape\":[1],\"chunks\":[1],\"dtype\":\"%s\",\"fill_value\":null,\"order\":\"C\",\"filters\":null,\"compressor\":null}`, typ)
	}
	name := filepath.Join(dir, "refs", "3.json")
	writeFile(t, name, fmt.Appendf(nil, `{"version":1,"refs":{".zgroup":"{\"zarr_format\":2}","time/.zarray":"%s",
"time/.zattrs":"{\"_ARRAY_DIMENSIONS\":[\"time\"],\"units\":\"days since 1989-12-31\"}","time/0":"base64:%s","v/.zarray":"%s","v/.zattrs":"{\"_ARRAY_DIMENSIONS\":[\"time\"]}",
"v/0":[%q,0,8]}}`, array(">i4"), base64.StdEncoding.EncodeToString([]byte{0, 0, 0, 3}), array(">f8"), values))
	return name
}

// folderServer serves a folder until the test ends; wholly sends whole files only.
func folderServer(t *testing.T, dir string, wholly bool) string {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wholly {
			r.Header.Del("Range")
			w.Header().Set("Accept-Ranges", "none")
			data, err := os.ReadFile(filepath.Join(dir, r.URL.Path))
			if err != nil {
				http.NotFound(w, r)
				return
			}
			w.Write(data)
			return
		}
		if day := r.URL.Query().Get("token"); day != "" { // the parameter selects the file
			r.URL.Path = "/" + day + ".nc"
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func adviceCases() []adviceCase {
	out := func(dir string) string { return filepath.Join(dir, "o.varve") }
	readV := func(_ *testing.T, dir string, _ report.Remedy) []string { return []string{"read", out(dir), "v"} }
	// grown prepares an export of January, and then an append of half a month, whose chunk is shorter.
	grown := func(export ...string) func(t *testing.T, dir string) (args, build []string) {
		return func(t *testing.T, dir string) (args, build []string) {
			args = append(append([]string{"export"}, export...), out(dir), filepath.Join(dir, "export"), "--quiet")
			if export[0] == "kerchunk" {
				args[3] += ".json"
			}
			in := filepath.Join(dir, "in")
			if err := os.Mkdir(in, 0o755); err != nil {
				t.Fatal(err)
			}
			mustRun(t, "build", out(dir), dayFile(t, filepath.Join(in, "1.nc"), span(1, 10)), "--quiet")
			mustRun(t, args...)
			mustRun(t, "append", out(dir), dayFile(t, filepath.Join(in, "2.nc"), span(11, 17)), dayFile(t, filepath.Join(in, "3.nc"), span(18, 27)), "--quiet")
			if export[0] != "icechunk" {
				args = append(args, "--append")
			}
			return args, nil
		}
	}
	exported := func(ending string) func(*testing.T, string, report.Remedy) []string {
		return func(t *testing.T, dir string, _ report.Remedy) []string {
			again := filepath.Join(dir, "again.varve")
			mustRun(t, "build", again, filepath.Join(dir, "export"+ending), "--allow", dir, "--quiet")
			return []string{"read", again, "v"}
		}
	}
	unnamed := func(t *testing.T, dir string) string { // v(x) without a coordinate
		name := filepath.Join(dir, "x.nc")
		f := classic.File{Dims: []classic.Dim{{Name: "x", Length: 3}}, Vars: []classic.Var{{Name: "v", Dims: []string{"x"}, Data: []int32{5, 6, 7}}}}
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
		mustRun(t, "build", out(dir), name, "--quiet")
		return out(dir)
	}
	cases := []adviceCase{
		{name: "references to another folder", prepare: func(t *testing.T, dir string) (args, build []string) {
			return []string{"build", out(dir), referencesElsewhere(t, dir), dayFile(t, filepath.Join(dir, "1.nc"), []int32{1, 2}), "--quiet"}, nil
		}, show: func(_ *testing.T, dir string, r report.Remedy) []string {
			if r.Option == report.Drop {
				return []string{"read", out(dir), "time", "--stat"}
			}
			return []string{"read", out(dir), "v"}
		}, want: valuesOf(1, 2, 3), with: map[report.Option]string{report.SkipBroken: valuesOf(1, 2), report.Drop: `{"count":3,"valid":3,"min":1,"max":3,"mean":2,"sum":6}` + "\n"}},
		{name: "values in another folder", prepare: func(t *testing.T, dir string) (args, build []string) {
			data, err := os.ReadFile("../../fixtures/hdf5/layouts.h5")
			if err != nil {
				t.Fatal(err)
			}
			for _, folder := range []string{"in", "x"} {
				if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			writeFile(t, filepath.Join(dir, "in", "a.h5"), bytes.Replace(data, []byte("layouts.raw"), []byte("../x/lay.rw"), 1))
			writeFile(t, filepath.Join(dir, "x", "lay.rw"), []byte{1, 0, 2, 0, 3, 0, 4, 0})
			return []string{"build", out(dir), filepath.Join(dir, "in"), "--quiet"}, nil
		}, show: func(_ *testing.T, dir string, r report.Remedy) []string {
			if r.Option == report.Drop {
				return []string{"read", out(dir), "contiguous", "--stat"}
			}
			return []string{"read", out(dir), "external", "--stat"}
		}, want: `{"count":4,"valid":4,"min":1,"max":4,"mean":2.5,"sum":10}` + "\n",
			with: map[report.Option]string{report.Drop: `{"count":6,"valid":6,"min":0,"max":5,"mean":2.5,"sum":15}` + "\n"}},
		{name: "a server of whole files", prepare: func(t *testing.T, dir string) (args, build []string) {
			data, err := os.ReadFile(dayFile(t, filepath.Join(dir, "2.nc"), []int32{2}))
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(dir, "2.nc"), append(data, make([]byte, 1<<20)...)) // small files are read whole anyway
			return []string{"build", out(dir), folderServer(t, dir, true) + "/2.nc", dayFile(t, filepath.Join(dir, "1.nc"), []int32{1}), "--quiet"}, nil
		}, show: func(_ *testing.T, dir string, _ report.Remedy) []string {
			return []string{"read", out(dir), "v", "--download"}
		}, want: valuesOf(1, 2),
			with: map[report.Option]string{report.SkipBroken: valuesOf(1)}},
		{name: "a parameter that selects the file", prepare: func(t *testing.T, dir string) (args, build []string) {
			dayFile(t, filepath.Join(dir, "1.nc"), []int32{1})
			dayFile(t, filepath.Join(dir, "2.nc"), []int32{2})
			url := folderServer(t, dir, false)
			return []string{"build", out(dir), url + "/data.nc?token=1", url + "/data.nc?token=2", "--quiet"}, nil
		}, show: readV, want: valuesOf(1, 2)},
		{name: "most files are gone", prepare: func(t *testing.T, dir string) (args, build []string) {
			in := filepath.Join(dir, "in")
			if err := os.Mkdir(in, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, d := range span(1, 3) {
				dayFile(t, filepath.Join(in, fmt.Sprint(d, ".nc")), []int32{d})
			}
			mustRun(t, "build", out(dir), in, "--quiet")
			for _, name := range []string{"1.nc", "3.nc"} {
				if err := os.Remove(filepath.Join(in, name)); err != nil {
					t.Fatal(err)
				}
			}
			return []string{"sync", out(dir), in, "--quiet"}, nil
		}, show: readV, want: valuesOf(2)},
		{name: "references that grow", prepare: grown("kerchunk"), show: exported(".json"), want: valuesOf(span(1, 27)...)},
		{name: "a copy that grows", prepare: grown("zarr"), show: exported(""), want: valuesOf(span(1, 27)...)},
		{name: "a repository that grows", prepare: grown("icechunk"), show: exported(""), want: valuesOf(span(1, 27)...)},
		{name: "shards that cut chunks", prepare: func(t *testing.T, dir string) (args, build []string) {
			mustRun(t, "build", out(dir), dayFile(t, filepath.Join(dir, "1.nc"), span(1, 9)), "--quiet")
			return []string{"export", "zarr", out(dir), filepath.Join(dir, "export"), "--chunks", "time=3", "--shards", "time=5", "--quiet"}, nil
		}, instead: "--shards", show: exported(""), want: valuesOf(span(1, 9)...)},
		{name: "shards of months", prepare: func(t *testing.T, dir string) (args, build []string) {
			mustRun(t, "build", out(dir), dayFile(t, filepath.Join(dir, "1.nc"), span(1, 4)), dayFile(t, filepath.Join(dir, "2.nc"), span(5, 7)), dayFile(t, filepath.Join(dir, "3.nc"), span(8, 11)), "--quiet")
			return []string{"export", "zarr", out(dir), filepath.Join(dir, "export"), "--shards", "v:time=12", "--quiet"}, nil
		}, words: map[string]string{"LENGTH": "4"}, show: exported(""), want: valuesOf(span(1, 11)...)},
		{name: "chunks that are larger than the memory", prepare: func(t *testing.T, dir string) (args, build []string) {
			mustRun(t, "build", out(dir), dayFile(t, filepath.Join(dir, "1.nc"), span(1, 31)), "--quiet")
			return []string{"export", "zarr", out(dir), filepath.Join(dir, "export"), "--chunks", "v:time=31", "--memory", "256", "--quiet"}, nil
		}, instead: "--memory", show: exported(""), want: valuesOf(span(1, 31)...)},
		{name: "format 2 of months", prepare: func(t *testing.T, dir string) (args, build []string) {
			mustRun(t, "build", out(dir), dayFile(t, filepath.Join(dir, "1.nc"), span(1, 4)), dayFile(t, filepath.Join(dir, "2.nc"), span(5, 7)), dayFile(t, filepath.Join(dir, "3.nc"), span(8, 11)), "--quiet")
			return []string{"export", "zarr", out(dir), filepath.Join(dir, "export"), "--format", "2", "--quiet"}, nil
		}, words: map[string]string{"LENGTH": "4"}, show: exported(""), want: valuesOf(span(1, 11)...)},
		{name: "a label without a coordinate", prepare: func(t *testing.T, dir string) (args, build []string) {
			return []string{"read", unnamed(t, dir), "v", "--sel", "x=1"}, nil
		}, words: map[string]string{"INDEX": "1"}, instead: "--sel", want: "x,v\n1,6\n"},
		{name: "a label as an index", prepare: func(t *testing.T, dir string) (args, build []string) {
			mustRun(t, "build", out(dir), dayFile(t, filepath.Join(dir, "1.nc"), span(1, 3)), "--quiet")
			return []string{"read", out(dir), "v", "--isel", "time=1990-01-02"}, nil
		}, words: map[string]string{"DIM=LABEL": "time=1990-01-02"}, instead: "--isel", want: valuesOf(2)},
		{name: "a name that Zarr cannot have", prepare: func(t *testing.T, dir string) (args, build []string) {
			build = []string{"build", out(dir), dayFile(t, filepath.Join(dir, "1.nc"), span(1, 3), `a\b`), "--quiet"}
			mustRun(t, build...)
			return []string{"export", "zarr", out(dir), filepath.Join(dir, "export"), "--quiet"}, build
		}, words: map[string]string{"OLD=NEW": `a\b=z`, "PATH": `a\\b`}, show: exported(""), want: valuesOf(1, 2, 3)},
		{name: "a name of a document", prepare: func(t *testing.T, dir string) (args, build []string) {
			build = []string{"build", out(dir), dayFile(t, filepath.Join(dir, "1.nc"), span(1, 3), "zarr.json"), "--quiet"}
			mustRun(t, build...)
			return []string{"export", "icechunk", out(dir), filepath.Join(dir, "export"), "--quiet"}, build
		}, words: map[string]string{"OLD=NEW": "zarr.json=z", "PATH": "zarr.json"}, show: exported(""), want: valuesOf(1, 2, 3)},
		{name: "a name that a copy needs", prepare: func(t *testing.T, dir string) (args, build []string) {
			build = []string{"build", out(dir), dayFile(t, filepath.Join(dir, "1.nc"), span(1, 3), ".varve"), "--quiet"}
			mustRun(t, build...)
			return []string{"export", "zarr", out(dir), filepath.Join(dir, "export"), "--quiet"}, build
		}, words: map[string]string{"OLD=NEW": ".varve=z", "PATH": ".varve"}, show: exported(""), want: valuesOf(1, 2, 3)},
		{name: "moved to the same place", prepare: func(t *testing.T, dir string) (args, build []string) {
			in := filepath.Join(dir, "in")
			if err := os.Mkdir(in, 0o755); err != nil {
				t.Fatal(err)
			}
			dayFile(t, filepath.Join(in, "1.nc"), span(1, 3))
			build = []string{"build", out(dir), in, "--quiet"}
			mustRun(t, build...)
			dayFile(t, filepath.Join(in, "1.nc"), span(2, 5)) // it has changed there
			return []string{"relocate", out(dir), in, in}, build
		}, show: readV, want: valuesOf(2, 3, 4, 5)},
		{name: "an index file of another file", prepare: func(t *testing.T, dir string) (args, build []string) {
			in := filepath.Join(dir, "in")
			if err := os.Mkdir(in, 0o755); err != nil {
				t.Fatal(err)
			}
			for to, from := range map[string]string{"a.grib2": "gfs.20240101.f006.grib2", "a.grib2.idx": "gfs.20240102.f006.grib2.idx",
				"b.grib2": "gfs.20240102.f006.grib2", "b.grib2.idx": "gfs.20240102.f006.grib2.idx"} {
				data, err := os.ReadFile(filepath.Join("../../fixtures/gribindex", from))
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, filepath.Join(in, to), data)
			}
			return []string{"build", out(dir), in, "--quiet"}, nil
		}, show: func(_ *testing.T, dir string, _ report.Remedy) []string { return []string{"read", out(dir), "time"} },
			want: "time,time\n2024-01-01,1704067200\n2024-01-02,1704153600\n", with: map[report.Option]string{report.SkipBroken: "time,time\n2024-01-02,1704153600\n"}},
		{name: "an index file that a value contradicts", prepare: func(t *testing.T, dir string) (args, build []string) {
			for _, ending := range []string{"", ".idx"} {
				data, err := os.ReadFile("../../fixtures/gribindex/gfs.20240101.f006.grib2" + ending)
				if err != nil {
					t.Fatal(err)
				}
				if ending == "" {
					data[578+16+15]++ // the day in section 1 of TMP at 500 hPa
				}
				writeFile(t, filepath.Join(dir, "a.grib2"+ending), data)
			}
			build = []string{"build", out(dir), filepath.Join(dir, "a.grib2"), "--quiet"}
			mustRun(t, build...)
			return []string{"read", out(dir), "t", "--stat"}, build
		}, want: `{"count":96,"valid":48,"min":270,"max":289.90625,"mean":280.0619125366211,"sum":13442.971801757812}` + "\n"},
		{name: "large chunks", noted: true, prepare: func(t *testing.T, dir string) (args, build []string) {
			name, n := filepath.Join(dir, "x.nc"), 1<<20
			data := make([]int32, n)
			for i := range data {
				data[i] = int32(i * i)
			}
			f := classic.File{Dims: []classic.Dim{{Name: "x", Length: n}}, Vars: []classic.Var{{Name: "v", Dims: []string{"x"}, Data: data}}}
			if err := f.Write(name); err != nil {
				t.Fatal(err)
			}
			first, copied := filepath.Join(dir, "first.varve"), filepath.Join(dir, "copy.zarr")
			mustRun(t, "build", first, name, "--quiet")
			mustRun(t, "export", "zarr", first, copied, "--codec", "gzip", "--chunks", fmt.Sprint("x=", n), "--quiet")
			build = []string{"build", out(dir), copied, "--quiet"}
			mustRun(t, build...)
			return []string{"check", copied, "--json"}, build
		}, show: func(_ *testing.T, dir string, _ report.Remedy) []string {
			return []string{"read", out(dir), "v", "--isel", "x=1000:1002"}
		}, want: "x,v\n1000,1000000\n1001,1002001\n"},
	}
	return cases
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"varve/fixtures/classic"
)

// TestMessages compares what commands print in situations that new users meet with testdata/messages.txt.
// Package report/text has the words of findings, and this command the rest. Run it with -record after a change of
// words, and read the difference.
func TestMessages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths have other separators and quotes")
	}
	var got strings.Builder
	for _, s := range situations {
		fmt.Fprintf(&got, "## %s\n", s.title)
		got.WriteString(s.play(t))
		got.WriteByte('\n')
	}
	golden := filepath.Join("testdata", "messages.txt")
	if *record {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("%s differs from line %d: run with -record and read the difference; got from there:\n%s", golden, i+1, strings.Join(gotLines[min(i, len(gotLines)):min(i+6, len(gotLines))], "\n"))
		}
	}
}

// situation is a folder of files, and commands that run in it.
type situation struct {
	title string
	make  func(d folder)
	lines []string
}

var situations = []situation{
	{"units that only one file has", func(d folder) {
		for i := range 7 {
			f := d.days(2*i, 2)
			if i > 0 {
				f.Vars[1].Attributes = nil
			}
			d.write(fmt.Sprintf("sst_20190%d.nc", i+1), f)
		}
	}, []string{"check ."}},
	{"units that differ", func(d folder) {
		for i, units := range []string{"degrees_north", "degrees_north", "radians"} {
			f := d.days(2*i, 2)
			f.Vars[1].Attributes[0].Value = units
			d.write(fmt.Sprintf("sst_20190%d.nc", i+1), f)
		}
	}, []string{"check .", "check . --coords first"}},
	{"a verification", func(d folder) { d.months("data/sst", 3) }, []string{"build sst.varve data/sst", "verify sst.varve"}},
	{"a manifest that exists", func(d folder) { d.months("data", 2) }, []string{"build sst.varve data", "build sst.varve data"}},
	{"a manifest of somebody else", func(d folder) {
		d.months("data/ens", 3)
		d.command("build", "sst.varve", "data/ens")
		d.t.Setenv("XDG_CONFIG_HOME", filepath.Join(d.dir, "other")) // another user has another key
		d.t.Setenv("HOME", filepath.Join(d.dir, "other"))
	}, []string{"read sst.varve sst --isel time=0", "verify sst.varve"}},
	{"how to open an Icechunk repository", func(d folder) { d.months("swath", 2) }, []string{"build sst.varve swath", "export icechunk sst.varve ice"}},
	{"references that need Zarr 3", func(d folder) { d.stores("time=28", "time=31", "time=30") }, []string{"build sst.varve 0.zarr 1.zarr 2.zarr", "export kerchunk sst.varve sst.json"}},
	{"months of different lengths, a step in each chunk", func(d folder) { d.stores("time=1", "time=1", "time=1") }, []string{"check 0.zarr 1.zarr 2.zarr"}},
	{"chunks that differ", func(d folder) { d.stores("time=1,lat=4", "time=1,lat=2", "time=1,lat=4") }, []string{"check 0.zarr 1.zarr 2.zarr"}},
	{"a scale that differs", func(d folder) {
		for i, scale := range []float64{0.01, 0.005, 0.005, 0.01, 0.01} {
			f := d.days(2*i, 2)
			f.Vars[2].Attributes[0].Value = []float64{scale}
			d.write(fmt.Sprintf("sst_202%d.nc", i), f)
		}
	}, []string{"check .", "check . --dtype sst=int16"}},
	{"names that match nothing", func(d folder) { d.folder("emptyd") }, []string{"check no*.nc", "check emptyd", "check nothere"}},
	{"a copy that exists", func(d folder) { d.months("data", 2) }, []string{"build sst.varve data", "export zarr sst.varve y.zarr", "export zarr sst.varve y.zarr"}},
	{"a number that is none", func(d folder) { d.months("data", 2) }, []string{"check data --tolerance abc"}},
	{"a manifest among the sources", func(d folder) {
		d.months("data", 2)
		d.command("build", "data/x.varve", "data")
	}, []string{"check data"}},
	{"a file of something else", func(d folder) {
		d.months(".", 2)
		d.write("tile_0_0.nc", &classic.File{Dims: []classic.Dim{{Name: "y", Length: 2}}, Vars: []classic.Var{{Name: "height", Dims: []string{"y"}, Data: []float32{1, 2}}}})
	}, []string{"check ."}},
	{"sources that were moved", func(d folder) {
		d.months("data/sst", 3)
		d.command("build", "sst.varve", "data/sst")
		d.command("build", "one.varve", "data/sst")
		d.move("data/sst/1.nc", "1.nc")
	}, []string{"verify sst.varve"}},
	{"a folder of sources that was moved", func(d folder) {
		d.months("data/sst", 3)
		d.command("build", "sst.varve", "data/sst")
		d.move("data", "moved")
	}, []string{"verify sst.varve"}},
	{"a folder without sources, and one in a folder", func(d folder) {
		d.folder("notes")
		d.must(os.WriteFile("notes/readme.txt", []byte("nothing"), 0o600))
		d.months("data/sst", 1)
	}, []string{"check notes", "check notes/readme.txt", "check data"}},
	{"a command that does not exist", func(folder) {}, []string{"biuld"}},
	{"different variables of one grid", func(d folder) {
		d.write("SHF.nc", oceanFile("SHF"))
		d.write("STF_O2.nc", oceanFile("STF_O2"))
	}, []string{"check ."}},
	{"the same variable of one grid", func(d folder) {
		d.write("member1.nc", oceanFile("SHF"))
		d.write("member2.nc", oceanFile("SHF"))
	}, []string{"check ."}},
	{"times that interleave", func(d folder) {
		for i, name := range []string{"a.nc", "b.nc"} {
			f := d.days(0, 2)
			f.Vars[0].Data = []float64{float64(i), float64(i + 2)}
			d.write(name, f)
		}
	}, []string{"check ."}},
}

// Identifiers of snapshots, of varve and of Icechunk, and sizes of compressed times and names differ from run to run.
// Codecs are the planner's choice, which its own tests check.
var (
	codecsLine = regexp.MustCompile(`(?m)^    codecs .*\n`)
	snapshotID = regexp.MustCompile(`\b([0-9a-f]{64}|[0-9A-Z]{20})\b`)
	tableSize  = regexp.MustCompile(`(manifest of )[0-9.]+ K?i?B|[0-9.]+ K?i?B( of tables)`)
)

// play prepares the folder, runs the commands in it and returns what they print.
func (s *situation) play(t *testing.T) (text string) {
	t.Run(s.title, func(t *testing.T) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		s.make(folder{t, dir})
		for _, line := range s.lines {
			out, code, err := run(t, strings.Fields(line)...)
			text += "$ varve " + line + "\n" + out
			if err != nil {
				text += "varve: " + failureText(err) + "\n"
			}
			text += fmt.Sprintf("exit code %d\n", code)
		}
		text = snapshotID.ReplaceAllString(strings.ReplaceAll(text, dir, "/archive"), "SNAPSHOT")
		text = codecsLine.ReplaceAllString(tableSize.ReplaceAllString(text, "${1}SIZE${2}"), "")
	})
	return text
}

// folder is the working folder of a situation.
type folder struct {
	t   *testing.T
	dir string
}

func (d folder) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d folder) folder(name string) { d.t.Helper(); d.must(os.MkdirAll(name, 0o777)) }

func (d folder) move(from, to string) { d.t.Helper(); d.must(os.Rename(from, to)) }

func (d folder) write(name string, f *classic.File) {
	d.t.Helper()
	d.folder(filepath.Dir(name))
	d.must(f.Write(name))
}

// command runs a command that has to succeed.
func (d folder) command(args ...string) {
	d.t.Helper()
	if out, _, err := run(d.t, args...); err != nil {
		d.t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// days makes a file with n days of a packed field.
func (d folder) days(from, n int) *classic.File {
	const lats = 4
	times, field := make([]float64, n), make([]int16, n*lats)
	for i := range times {
		times[i] = float64(from + i)
	}
	for i := range field {
		field[i] = int16(i)
	}
	return &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: n}, {Name: "lat", Length: lats}},
		Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Data: times, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}},
			{Name: "lat", Dims: []string{"lat"}, Data: []float32{-30, -10, 10, 30}, Attributes: []classic.Attribute{{Name: "units", Value: "degrees_north"}}},
			{Name: "sst", Dims: []string{"time", "lat"}, Data: field, Attributes: []classic.Attribute{{Name: "scale_factor", Value: []float64{0.01}}, {Name: "units", Value: "K"}}},
		},
	}
}

// months writes n files of two days each.
func (d folder) months(dir string, n int) {
	for i := range n {
		d.write(filepath.Join(dir, fmt.Sprintf("%d.nc", i)), d.days(2*i, 2))
	}
}

// stores writes a Zarr store for each chunk shape, with 28, 31 and 30 days.
func (d folder) stores(chunks ...string) {
	from := 0
	for i, shape := range chunks {
		name, days := fmt.Sprint(i), []int{28, 31, 30}[i]
		d.write(name+".nc", d.days(from, days))
		from += days
		d.command("build", name+".varve", name+".nc")
		d.command("export", "zarr", name+".varve", name+".zarr", "--chunks", "sst:"+shape)
	}
}

// oceanFile makes a file with one variable on a grid whose coordinates have two dimensions.
func oceanFile(variable string) *classic.File {
	dims, numbers := []string{"nlat", "nlon"}, []float64{1, 2, 3, 4, 5, 6}
	return &classic.File{
		Dims: []classic.Dim{{Name: "nlat", Length: 2}, {Name: "nlon", Length: 3}},
		Vars: []classic.Var{
			{Name: "TLAT", Dims: dims, Data: numbers, Attributes: []classic.Attribute{{Name: "units", Value: "degrees_north"}}},
			{Name: "ANGLE", Dims: dims, Data: numbers, Attributes: []classic.Attribute{{Name: "coordinates", Value: "TLAT"}}},
			{Name: variable, Dims: dims, Data: numbers, Attributes: []classic.Attribute{{Name: "coordinates", Value: "TLAT"}}},
		},
	}
}

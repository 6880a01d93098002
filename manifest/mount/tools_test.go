//go:build linux

package mount

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve/fixtures/machine"
	"varve/fixtures/venv"
	"varve/manifest/ingest"
	"varve/manifest/netcdffile"
)

// tool is a program, and what it prints of a file for each feature: FILE stands for the name of the file, or its address, and OUT
// for a file that the program writes. An empty command means that the program cannot read the feature in any netCDF-4 file.
type tool struct {
	name     string // in docs/reference/clients.md
	programs string // in fixtures/machine/packages.txt
	mount    []string
	http     string
	groups   string
	strings  string
}

const (
	ncdump = `ncdump -p 9,17 -v %s %s | sed -n '/^data:/,$p'`
	python = `"$VARVE_PYTHON" -c '
import sys, hashlib, numpy
%s
print(len(b), hashlib.sha256(b).hexdigest())'`
)

func dump(variables, file string) string { return fmt.Sprintf(ncdump, variables, file) }

func pythonReads(code string) string { return fmt.Sprintf(python, strings.TrimSpace(code)) }

var tools = []tool{
	{name: "ncdump, nccopy", programs: "ncdump nccopy",
		mount:   []string{dump("t2m,sst,time", "FILE"), `nccopy FILE OUT && ` + dump("t2m,sst,time,word,below/rain", "OUT")},
		groups:  dump("below/rain", "FILE"),
		strings: dump("word", "FILE")},
	{name: "h5dump", programs: "h5dump", mount: []string{`h5dump -A 0 -d t2m FILE | sed -n '/DATA {/,/}/p'`, `h5dump -A 0 -d sst -s 3,2,1 -c 9,3,4 FILE | sed -n '/DATA {/,/}/p'`},
		groups: `h5dump -A 0 -d below/rain FILE | sed -n '/DATA {/,/}/p'`, strings: `h5dump -A 0 -d word FILE | sed -n '/DATA {/,/}/p'`},
	{name: "NCO", programs: "ncks ncdump",
		mount: []string{`ncks -H -C -v t2m,sst -d time,17 FILE`, `ncra -O FILE OUT && ` + dump("t2m,sst", "OUT"), `ncrcat -O -d time,3,30,7 FILE FILE OUT && ` + dump("t2m,sst,time", "OUT"),
			`ncwa -O -a lat,lon FILE OUT && ` + dump("t2m,sst", "OUT"), `ncap2 -O -s 'x=t2m*2' FILE OUT && ` + dump("x", "OUT")},
		groups:  `ncks -H -C -g below -v rain FILE`,
		strings: `ncks -H -C -v word FILE`},
	{name: "CDO", programs: "cdo ncdump",
		mount: []string{`cdo -s infon FILE`, `cdo -s timmean FILE OUT && ` + dump("t2m,sst", "OUT"), `cdo -s outputtab,date,lon,lat,value -selname,t2m -sellonlatbox,0,90,-20,20 FILE`}},
	{name: "R with ncdf4", programs: "Rscript",
		mount:   []string{`Rscript -e 'library(ncdf4); f <- nc_open("FILE"); print(sum(ncvar_get(f, "t2m"), na.rm=TRUE), digits=15); print(ncvar_get(f, "sst")[3, 4, 5:9], digits=15); print(f$dim$time$unlim)'`},
		groups:  `Rscript -e 'library(ncdf4); f <- nc_open("FILE"); print(ncvar_get(f, "below/rain")[, 7], digits=15)'`,
		strings: `Rscript -e 'library(ncdf4); f <- nc_open("FILE"); print(ncvar_get(f, "word"))'`},
	{name: "R with stars", programs: "Rscript",
		mount: []string{`Rscript -e 'suppressMessages(library(stars)); x <- read_stars("NETCDF:FILE:t2m"); print(dim(x)); print(sum(x[[1]], na.rm=TRUE), digits=15)'`}},
	{name: "Octave", programs: "octave-cli",
		mount:  []string{`octave-cli --eval 'pkg load netcdf; x = ncread("FILE", "t2m"); printf("%%d ", size(x)); printf("%%.9g ", x(1:5, 3, 7)); y = ncread("FILE", "sst", [1 2 3], [4 5 6]); printf("%%.9g ", y)'`},
		groups: `octave-cli --eval 'pkg load netcdf; printf("%%.9g ", ncread("FILE", "/below/rain"))'`},
	{name: "GrADS", programs: "grads",
		mount: []string{`printf 'sdfopen FILE\nset gxout stat\nset t 5\nd t2m\nd sst\nset t 1 40\nset lat 5\nset lon 30\nd t2m\nquit\n' | grads -lb | grep '^Stats\|^Min'`}},
	{name: "GDAL", programs: "gdalmdiminfo",
		mount: []string{`gdalinfo -stats -norat NETCDF:FILE:t2m 2>/dev/null | grep STATISTICS; rm -f FILE.aux.xml`},
		http:  `case FILE in http*) F=/vsicurl/FILE;; *) F=FILE;; esac; gdalinfo -stats -norat "HDF5:\"$F\"://t2m" 2>/dev/null | grep STATISTICS; rm -f FILE.aux.xml`},
	{name: "netCDF4-python", mount: []string{pythonReads(`
import netCDF4
f = netCDF4.Dataset("FILE")
b = f["t2m"][:].filled(-1).tobytes() + f["sst"][:].filled(-1).tobytes()`)},
		http: pythonReads(`
import netCDF4
f = netCDF4.Dataset("FILE" + "#mode=bytes" * "FILE".startswith("http"))
b = f["t2m"][:].filled(-1).tobytes() + f["sst"][:].filled(-1).tobytes()`),
		groups: pythonReads(`
import netCDF4
b = netCDF4.Dataset("FILE")["below/rain"][:].tobytes()`),
		strings: pythonReads(`
import netCDF4
b = "".join(netCDF4.Dataset("FILE")["word"][:]).encode()`)},
	{name: "h5py", mount: []string{pythonReads(`
import h5py
f = h5py.File("FILE")
b = f["t2m"][:].tobytes() + f["sst"][3:30:5, ::2, 1].tobytes()`)},
		http: pythonReads(`
import h5py, fsspec
f = h5py.File(fsspec.open("FILE").open())
b = f["t2m"][:].tobytes() + f["sst"][3:30:5, ::2, 1].tobytes()`),
		groups: pythonReads(`
import h5py
b = h5py.File("FILE")["below/rain"][:].tobytes()`),
		strings: pythonReads(`
import h5py
b = b"".join(h5py.File("FILE")["word"][:])`)},
	{name: "xarray", mount: []string{pythonReads(`
import xarray
f = xarray.open_dataset("FILE", engine="netcdf4")
b = f.t2m.values.tobytes() + f.sst.values.tobytes() + f.time.values.tobytes()`)},
		groups: pythonReads(`
import xarray
b = xarray.open_dataset("FILE", engine="netcdf4", group="below").rain.values.tobytes()`),
		strings: pythonReads(`
import xarray
b = "".join(xarray.open_dataset("FILE", engine="netcdf4").word.values).encode()`)},
}

// runTool runs a command on a file and returns what it prints. Spaces are not compared: ncdump wraps lines by lengths of names.
func runTool(t *testing.T, command, file string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.nc")
	script := strings.NewReplacer("FILE", file, "OUT", out, "%%", "%").Replace(command)
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = t.TempDir()
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", script, err, text)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.ReplaceAll(string(text), file, "FILE"), out, "OUT")), " ")
}

// TestTools compares what programs read from a mounted file, and from the file by HTTP, with what they read from a real file with the
// same content.
func TestTools(t *testing.T) {
	python := venv.Python(t, "netCDF4, h5py, xarray and fsspec")
	sources, truth := t.TempDir(), filepath.Join(t.TempDir(), "virtual.nc")
	venv.Run(t, "netCDF4", "testdata/archive.py", sources, truth)
	out := filepath.Join(t.TempDir(), "virtual.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{sources}}}); err != nil {
		t.Fatal(err)
	}
	dir, h, _ := mounted(t, out)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	virtual := filepath.Join(dir, "virtual.nc")
	t.Setenv("VARVE_PYTHON", python)
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			for program := range strings.FieldsSeq(tool.programs) {
				machine.Find(t, program)
			}
			for _, command := range append([]string{tool.groups, tool.strings}, tool.mount...) {
				if command == "" {
					continue
				}
				want, got := runTool(t, command, truth), runTool(t, command, virtual)
				if got != want || len(want) < 10 {
					t.Errorf("%s\nof the virtual file: %.400s\nof the real file:    %.400s", command, got, want)
				}
			}
			if tool.http != "" {
				if want, got := runTool(t, tool.http, truth), runTool(t, tool.http, server.URL+"/virtual.nc"); got != want || len(want) < 10 {
					t.Errorf("%s\nof the virtual file: %.400s\nof the real file:    %.400s", tool.http, got, want)
				}
			}
		})
	}
}

// TestZarr compares what xarray reads from the mounted Zarr files with what it reads from a real netCDF-4 file.
func TestZarr(t *testing.T) {
	venv.Python(t, "netCDF4, xarray and zarr")
	sources, truth := t.TempDir(), filepath.Join(t.TempDir(), "truth.nc")
	venv.Run(t, "netCDF4", "testdata/archive.py", sources, truth)
	out := filepath.Join(t.TempDir(), "virtual.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{sources}}}); err != nil {
		t.Fatal(err)
	}
	dir, _, _ := mounted(t, out)
	venv.Run(t, "netCDF4, xarray and zarr", "-c", `
import sys, xarray
got, want = xarray.open_zarr(sys.argv[1]), xarray.open_dataset(sys.argv[2], engine="netcdf4")
for name in ("t2m", "sst", "word", "time", "lat", "lon"):
    xarray.testing.assert_equal(got[name].reset_coords(drop=True), want[name].reset_coords(drop=True))
xarray.testing.assert_equal(xarray.open_zarr(sys.argv[1], group="below").rain.reset_coords(drop=True).drop_vars(("time", "lat"), errors="ignore"),
    xarray.open_dataset(sys.argv[2], engine="netcdf4", group="below").rain.reset_coords(drop=True))
print("7 arrays are equal")`, filepath.Join(dir, "virtual.zarr"), truth)
}

// TestClassic compares what programs read from a mounted file of the classic model with what they read from a real netCDF-4 file.
func TestClassic(t *testing.T) {
	for _, program := range []string{"ncdump", "ncks", "cdo"} {
		machine.Find(t, program)
	}
	sources, truth := t.TempDir(), filepath.Join(t.TempDir(), "virtual.nc")
	venv.Run(t, "netCDF4", "testdata/archive.py", sources, truth)
	out := filepath.Join(t.TempDir(), "virtual.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{sources}}}); err != nil {
		t.Fatal(err)
	}
	dir, _, messages := mountedWith(t, netcdffile.Options{Classic: true}, out)
	virtual := filepath.Join(dir, "virtual.nc")
	if got := runTool(t, "ncdump -k FILE", virtual); got != "64-bit offset" {
		t.Errorf("the file is of the kind %s", got)
	}
	for _, command := range []string{
		`ncks -O -C -v t2m,sst,time FILE OUT && ` + dump("t2m,sst,time", "OUT"),
		`ncra -O -v t2m,sst FILE OUT && ` + dump("t2m,sst", "OUT"),
		`ncrcat -O -v sst,time -d time,3,30,7 FILE FILE OUT && ` + dump("sst,time", "OUT"),
		`cdo -s timmean -selname,t2m FILE OUT 2>/dev/null && ` + dump("t2m", "OUT"),
	} {
		want, got := runTool(t, command, truth), runTool(t, command, virtual)
		if got != want || len(want) < 10 {
			t.Errorf("%s\nof the virtual file: %.400s\nof the real file:    %.400s", command, got, want)
		}
	}
	if got := messages(); !strings.Contains(got, "/below/rain") {
		t.Errorf("the messages do not name the array that the file does not have: %s", got)
	}
}

// TestToolsTable checks that the table of tools in the documentation has what TestTools compares.
func TestToolsTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	says := func(command string) string {
		if command == "" {
			return "–"
		}
		return "yes"
	}
	for _, tool := range tools {
		row := fmt.Sprintf("| %s | yes | %s | %s | %s |", tool.name, says(tool.http), says(tool.groups), says(tool.strings))
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/reference/clients.md lacks the row %s", row)
		}
	}
}

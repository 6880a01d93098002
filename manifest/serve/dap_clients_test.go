package serve_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/machine"
	"varve/fixtures/venv"
)

// serveTypes serves an archive of three files with every type, texts, groups and odd names. It returns the address for OPeNDAP,
// and the name of a netCDF-4 file of the same content.
func serveTypes(t *testing.T) (address, whole string) {
	t.Helper()
	folder := t.TempDir()
	if out := script(t, "make", folder); strings.HasPrefix(out, "skip:") {
		t.Skip(out)
	}
	files, err := filepath.Glob(folder + "/files/*.nc")
	if err != nil {
		t.Fatal(err)
	}
	address, _ = serveFiles(t, files...)
	return address + "/dap/demo", folder + "/whole.nc"
}

func script(t *testing.T, args ...string) string {
	t.Helper()
	python := venv.Python(t, "netCDF4, xarray, pydap and siphon")
	out, err := exec.Command(python, append([]string{"testdata/dap.py"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestInteropDAP checks that clients of OPeNDAP in Python read the values and attributes that a netCDF-4 file of the same
// content has.
func TestInteropDAP(t *testing.T) {
	address, whole := serveTypes(t)
	for _, client := range []string{"netCDF4 DAP2", "netCDF4 DAP4", "xarray netcdf4", "pydap DAP2", "pydap DAP4", "xarray pydap", "siphon"} {
		t.Run(client, func(t *testing.T) {
			out := script(t, "compare", address, whole, client)
			switch {
			case strings.HasPrefix(out, "skip:"):
				t.Skip(out)
			case out != "ok "+client+": 23 variables\n":
				t.Errorf("%s", out)
			}
		})
	}
}

// TestInteropTools checks that programs print the same for an address as for a netCDF-4 file of the same content.
func TestInteropTools(t *testing.T) {
	address, whole := serveTypes(t)
	for program, c := range map[string]struct {
		args   []string // FILE is the address or the file, and SCRIPT the name of a file with the script
		script string
		value  string // one of the values that it prints
	}{
		"ncdump":         {args: []string{"-v", "t2m,v_i4,v_f8,station,time_bnds", "FILE"}, value: "2059"},
		"ncks":           {args: []string{"-H", "-C", "--trd", "-v", "t2m", "-d", "time,0,8,4", "-d", "lat,1", "-d", "lon,1,3,2", "FILE"}, value: "1026"},
		"cdo":            {args: []string{"-s", "outputf,%.6g,5", "-fldmean", "-selname,t2m", "-seltimestep,2,5", "FILE"}, value: "283.4"},
		"Rscript":        {args: []string{"-e", `library(ncdf4); f <- nc_open("FILE"); print(ncvar_get(f, "t2m", c(2, 1, 3), c(3, 2, 4))); print(ncvar_get(f, "station")); print(f$dim$time$vals)`}, value: "283.63"},
		"octave-cli":     {args: []string{"--eval", "pkg load netcdf; x = ncread('FILE', 't2m'); disp(size(x)); printf('%.2f ', x)"}, value: "293.54"},
		"gdal_translate": {args: []string{"-q", "-b", "5", "-of", "AAIGrid", `NETCDF:"FILE":t2m`, "/vsistdout/"}, value: "1039"},
		"grads": {args: []string{"-bpc", "exec SCRIPT"},
			script: "sdfopen FILE\nset t 5\nset lat 45 60\nset lon 0 21\nset gxout print\nset prnopts %g 4 1\nd t2m\nquit\n", value: "283.53"},
		"ferret_c": {args: []string{"-nojnl", "-script", "SCRIPT"}, script: "set data \"FILE\"\nlist/norowlab/nohead/format=(4F9.2) t2m[i=2:4,j=1,l=2:4]\nquit\n", value: "283.18"},
	} {
		t.Run(program, func(t *testing.T) {
			run := func(file string) string {
				script := filepath.Join(t.TempDir(), "script.jnl")
				if err := os.WriteFile(script, []byte(strings.ReplaceAll(c.script, "FILE", file)), 0o666); err != nil {
					t.Fatal(err)
				}
				var with []string
				for _, arg := range c.args {
					with = append(with, strings.NewReplacer("FILE", file, "SCRIPT", filepath.Base(script)).Replace(arg))
				}
				cmd := machine.Command(t, program, with...)
				cmd.Dir = filepath.Dir(script)
				cmd.Env = append(os.Environ(), "FER_DIR=/usr/share/ferret-vis", "FER_DATA=.", "FER_GO=.", "FER_DESCR=.", "FER_GRIDS=.", "FER_PALETTE=.", "PLOTFONTS=.")
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s %v: %v", program, with, err)
				}
				var lines []string // without what ncdf4 says about attributes
				for line := range strings.Lines(string(out)) {
					if !strings.HasPrefix(line, `[1] ">>>>`) && !strings.HasPrefix(line, `[1] "does not`) && !strings.HasPrefix(line, `[1] "floating`) {
						lines = append(lines, line)
					}
				}
				text := strings.Join(lines, "")
				if _, data, ok := strings.Cut(text, "\ndata:\n"); ok { // the headers of ncdump differ in types
					text = data
				}
				if _, grid, ok := strings.Cut(text, "Printing Grid"); ok { // GrADS repeats the script, with the names of files
					text, _, _ = strings.Cut(grid, "\nquit")
				}
				return text
			}
			got, want := run(address), run(whole)
			if program == "ncdump" { // the order of variables differs, and texts are arrays of characters in DAP2
				got, want = sections(got), sections(want)
			}
			if !slices.Equal(strings.Fields(got), strings.Fields(want)) || !strings.Contains(want, c.value) {
				t.Errorf("%s prints\n%s\nfor the address, and for the file\n%s", program, got, want)
			}
		})
	}
}

// sections returns the values of variables of the root group that ncdump prints, one to a line and sorted, without spaces.
func sections(text string) string {
	text, _, _ = strings.Cut(text, "\ngroup:")
	var out []string
	for section := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(text), "}"), ";") {
		if section = strings.Join(strings.Fields(section), ""); section != "" {
			out = append(out, strings.ReplaceAll(section, "_,", `"",`))
		}
	}
	return strings.Join(slices.Sorted(slices.Values(out)), "\n")
}

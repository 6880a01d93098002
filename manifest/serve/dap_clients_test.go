package serve_test

import (
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
	for program, args := range map[string][]string{
		"ncdump":  {"-v", "t2m,v_i4,v_f8,station,time_bnds", "FILE"},
		"ncks":    {"-H", "-C", "--trd", "-v", "t2m", "-d", "time,0,8,4", "-d", "lat,1", "-d", "lon,1,3,2", "FILE"},
		"cdo":     {"-s", "outputf,%.6g,5", "-fldmean", "-selname,t2m", "-seltimestep,2,5", "FILE"},
		"Rscript": {"-e", `library(ncdf4); f <- nc_open("FILE"); print(ncvar_get(f, "t2m", c(2, 1, 3), c(3, 2, 4))); print(ncvar_get(f, "station")); print(f$dim$time$vals)`},
	} {
		t.Run(program, func(t *testing.T) {
			run := func(file string) string {
				var with []string
				for _, arg := range args {
					with = append(with, strings.ReplaceAll(arg, "FILE", file))
				}
				out, err := machine.Command(t, program, with...).Output()
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
				return text
			}
			got, want := run(address), run(whole)
			if program == "ncdump" { // the order of variables differs, and texts are arrays of characters in DAP2
				got, want = sections(got), sections(want)
			}
			if !slices.Equal(strings.Fields(got), strings.Fields(want)) || len(want) < 15 {
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

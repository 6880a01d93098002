package tiff

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/source"
)

// openBeside opens an image with the files beside it. settings are pairs of names and values.
func openBeside(t *testing.T, name string, settings ...string) (*readers.Dataset, error) {
	t.Helper()
	c := readers.Config{Opener: source.NewOpener(nil), Settings: readers.Settings{}}
	for i := 0; i < len(settings); i += 2 {
		c.Settings[settings[i]] = settings[i+1]
	}
	info := Info()
	r, err := info.Reader(&c)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return r.Open(t.Context(), src)
}

// attributesOf returns the attributes of a variable as text.
func attributesOf(t *testing.T, data *readers.Dataset, path string) map[string]string {
	t.Helper()
	v := data.Variable(path)
	if v == nil {
		t.Fatalf("%s is missing", path)
	}
	return textsOf(t, v.Attributes)
}

func textsOf(t *testing.T, list []readers.Attribute) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, a := range list {
		switch {
		case a.Texts != nil:
			out[a.Name] = string(a.Texts[0])
		case a.Type.Class == readers.Integer:
			out[a.Name] = fmt.Sprint(a.Data[0])
		default:
			out[a.Name] = fmt.Sprint(doublesOf(a.Data))
		}
	}
	return out
}

// TestSidecars compares images and the files beside them with what GDAL reads; fixtures/tiff/sidecars.py has the rules.
func TestSidecars(t *testing.T) {
	folder := filepath.Join(fixtures, "sidecars")
	var all map[string]struct {
		Transform               [6]float64
		EPSG                    int
		Nodata, Scales, Offsets []*float64
		Units, Descriptions     []*string
		Masked                  int
		Overview                string
	}
	raw, err := os.ReadFile(filepath.Join(folder, "expected.json"))
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil || len(all) < 8 {
		t.Fatal(len(all), err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		want := all[name]
		data, err := openBeside(t, filepath.Join(folder, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got [6]float64
		if x, y := data.Variable("/x"), data.Variable("/y"); x != nil {
			px, py := doublesOf(x.Storage.Data), doublesOf(y.Storage.Data)
			got = [6]float64{px[0] - (px[1]-px[0])/2, px[1] - px[0], 0, py[0] - (py[1]-py[0])/2, 0, py[1] - py[0]}
		} else if _, err := fmt.Sscan(attributesOf(t, data, "/spatial_ref")["GeoTransform"], &got[0], &got[1], &got[2], &got[3], &got[4], &got[5]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got != want.Transform {
			t.Errorf("%s: the transform is %v, GDAL has %v", name, got, want.Transform)
		}
		system := attributesOf(t, data, "/spatial_ref")["crs_wkt"]
		switch hasCode := strings.HasSuffix(system, fmt.Sprintf(`ID["EPSG",%d]]`, want.EPSG)); {
		case name == "world.tif": // GDAL ignores .prj
			if !strings.HasPrefix(system, `PROJCRS["WGS 84 / UTM zone 32N"`) && !strings.HasPrefix(system, `PROJCRS["WGS_1984_UTM_Zone_32N"`) {
				t.Errorf("%s: %s", name, system)
			}
		case want.EPSG != 0 && !hasCode, strings.HasPrefix(name, "pam_") && system == "":
			t.Errorf("%s: %s, GDAL has EPSG:%d", name, system, want.EPSG)
		}
		for k := range want.Scales {
			path := "/band_data"
			if len(want.Scales) > 1 {
				path = fmt.Sprint("/band_", k+1)
			}
			a := attributesOf(t, data, path)
			expect := map[string]string{"long_name": "", "units": "", "scale_factor": "", "add_offset": "", "_FillValue": ""}
			if v := want.Descriptions[k]; v != nil {
				expect["long_name"] = *v
			}
			if v := want.Units[k]; v != nil {
				expect["units"] = *v
			}
			if *want.Scales[k] != 1 || *want.Offsets[k] != 0 {
				expect["scale_factor"], expect["add_offset"] = fmt.Sprint([]float64{*want.Scales[k]}), fmt.Sprint([]float64{*want.Offsets[k]})
			}
			if v := want.Nodata[k]; v != nil {
				expect["_FillValue"] = fmt.Sprint(*v)
			}
			for key, value := range expect {
				if a[key] != value {
					t.Errorf("%s %s: %s is %q, GDAL has %q", name, path, key, a[key], value)
				}
			}
		}
		if want.Overview == "" {
			continue
		}
		mask, err := data.Variable("/mask").ReadAll(t.Context(), 1<<20)
		if n := len(slices.DeleteFunc(mask.Data, func(b byte) bool { return b != 0 })); err != nil || n != want.Masked {
			t.Errorf("%s: %d cells are masked, GDAL masks %d; %v", name, n, want.Masked, err)
		}
		level, err := data.Variable("/overview_1/band_data").ReadAll(t.Context(), 1<<20)
		if sum := fmt.Sprintf("%x", sha256.Sum256(level.Data)); err != nil || sum != want.Overview || len(level.Sources) != 1 {
			t.Errorf("%s: the overview has other values than GDAL's; %v", name, err)
		}
		if len(data.Beside) != 2 || data.HoldsChunks {
			t.Errorf("%s: %+v", name, data.Beside)
		}
	}
}

// TestSidecarsIgnored checks that an image is read as without the files beside it, if they are to be ignored.
func TestSidecarsIgnored(t *testing.T) {
	data, err := openBeside(t, filepath.Join(fixtures, "sidecars", "pam_wins.tif"), sidecarsOption, sidecarsIgnore)
	if err != nil || len(data.Beside) != 0 || attributesOf(t, data, "/band_data")["_FillValue"] != "3" {
		t.Error(data, err)
	}
}

// TestSidecarsRefused checks the errors of files beside an image that cannot be used, which name the file and the option that
// ignores them.
func TestSidecarsRefused(t *testing.T) {
	image, err := os.ReadFile(filepath.Join(fixtures, "sidecars", "rotated.tif"))
	if err != nil {
		t.Fatal(err)
	}
	for end, c := range map[string]struct{ text, why string }{
		".tif.aux.xml": {"<PAMDataset>", "not XML"},
		".tif.ovr":     {"text, which is not an image", "not a TIFF file"},
		".tif.msk":     {"II*\x00\xff\xff\xff\xff", "truncated"},
		".tfw":         {"1\n2\n3\n", "6 numbers, not 3"},
		".tifw":        {"0\n0\n0\n0\n5\n5\n", "not the numbers of a world file"},
		".wld":         {"a\nb\nc\nd\ne\nf\n", "not the numbers of a world file"},
		".prj":         {"nothing", "unknown well-known text"},
		".TIF.aux.xml": {"", ""}, // of another file
	} {
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "a.tif"), image, 0o600), os.WriteFile(filepath.Join(dir, "a"+end), []byte(c.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := openBeside(t, filepath.Join(dir, "a.tif"))
		var remedied readers.Remedied
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), "a"+end) || !errors.As(err, &remedied)) {
			t.Errorf("%s: %v, want %q", end, err, c.why)
		}
	}
	geodata := `<PAMDataset><Metadata domain="xml:ESRI" format="xml"><GeodataXform/></Metadata></PAMDataset>`
	if err := (&extras{}).readPAM(geodata, "a"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("GeodataXform: %v", err)
	}
}

// TestImageOf checks which files are no images of their own.
func TestImageOf(t *testing.T) {
	for name, want := range map[string][]string{
		"a/x.tif.aux.xml": {"a/x.tif"}, "x.tif.ovr": {"x.tif"}, "x.tif.msk.ovr": {"x.tif"}, "x.tfw": {"x"}, "x.prj": {"x"}, "x.tif": nil, "x.xml": nil,
	} {
		if got := imageOf(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func doublesOf(data []byte) (list []float64) {
	for ; len(data) >= 8; data = data[8:] {
		list = append(list, math.Float64frombits(binary.LittleEndian.Uint64(data)))
	}
	return list
}

package raw

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/readers"
	"varve/readers/readertest"
	"varve/readers/source"
)

const fixtures = "../../../fixtures/raw"

// formats are the formats of this package.
var formats = []readers.Format{NumPy(), ENVI(), NIfTI(), NRRD(), MRC(), MDS()}

// fact is what the library of a format reads of an array; fixtures/raw/generate.py has the rules.
type fact struct {
	DType     string    `json:"dtype"`
	Shape     []uint64  `json:"shape"`
	SHA256    string    `json:"sha256"`
	Affine    []float64 `json:"affine"`
	Slope     float64   `json:"slope"`
	Inter     float64   `json:"inter"`
	Transform []float64 `json:"transform"`
	EPSG      int       `json:"epsg"`
}

func expected(t testing.TB) (facts map[string]map[string]fact) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(fixtures, "expected.json"))
	if err == nil {
		err = json.Unmarshal(raw, &facts)
	}
	if err != nil || len(facts) < 35 {
		t.Fatal(len(facts), err)
	}
	return facts
}

// openFile opens a file with the format that finds it.
func openFile(t testing.TB, name string) (*readers.Dataset, error) {
	t.Helper()
	src, err := source.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, f := range formats {
		is, err := f.Detects(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		if is {
			r, err := f.Reader(nil)
			if err != nil {
				t.Fatal(err)
			}
			return r.Open(t.Context(), src)
		}
	}
	t.Fatalf("%s: no format finds it", name)
	return nil, nil
}

func fixture(t testing.TB, name string) *readers.Dataset {
	t.Helper()
	path := filepath.Join(fixtures, name)
	if strings.HasSuffix(name, ".gz") {
		path += "|gzip:"
	}
	data, err := openFile(t, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range data.Problems {
		t.Errorf("%s: %v", name, p.Err)
	}
	return data
}

// dtypeOf returns NumPy's name of a little-endian type.
func dtypeOf(t *readers.Type) string {
	e, _ := t.Element()
	if e.Kind == codec.Struct {
		return "struct"
	}
	letter := map[codec.Kind]string{codec.Bool: "b", codec.Int: "i", codec.Uint: "u", codec.Float: "f", codec.Complex: "c", codec.FixedUTF32: "U", codec.DateTime: "M"}[e.Kind]
	name := fmt.Sprint("<", letter, e.Size)
	switch {
	case e.Kind == codec.FixedUTF32:
		return fmt.Sprint("<U", e.Size/4)
	case e.Kind == codec.DateTime:
		return fmt.Sprintf("<M8[%s]", e.Unit)
	case e.Size == 1:
		return "|" + name[1:]
	}
	return name
}

// TestOracles compares each array with what the library of its format reads.
func TestOracles(t *testing.T) {
	for name, variables := range expected(t) {
		found := readertest.Variables(fixture(t, name))
		for path, want := range variables {
			v := found["/"+path]
			if v == nil {
				t.Errorf("%s: no variable %s", name, path)
				continue
			}
			value, err := v.ReadAll(t.Context(), 1<<20)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			sum := sha256.Sum256(value.Data)
			if got := hex.EncodeToString(sum[:]); dtypeOf(v.Type) != want.DType || !slices.Equal(v.Shape, want.Shape) || got != want.SHA256 {
				t.Errorf("%s: %s: %s %v %s, want %+v", name, path, dtypeOf(v.Type), v.Shape, got, want)
			}
			checkMeaning(t, name, found, v, want)
		}
	}
}

// checkMeaning compares scale, affine, coordinates and reference system.
func checkMeaning(t *testing.T, name string, found map[string]*readers.Variable, v *readers.Variable, want fact) {
	t.Helper()
	attribute := func(of *readers.Variable, key string, absent ...float64) []float64 {
		a := readers.Lookup(of.Attributes, key)
		if a == nil {
			return absent
		}
		return floats(a.Value)
	}
	near := func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-6*max(1, math.Abs(y)) })
	}
	if want.Affine != nil {
		if got := attribute(v, "affine"); !near(got, want.Affine) {
			t.Errorf("%s: affine %v, nibabel has %v", name, got, want.Affine)
		}
		if s, i := attribute(v, "scale_factor", 1), attribute(v, "add_offset", 0); s[0] != want.Slope || i[0] != want.Inter {
			t.Errorf("%s: scale %v, offset %v, nibabel has %v and %v", name, s, i, want.Slope, want.Inter)
		}
	}
	if want.Transform == nil {
		return
	}
	if found["/spatial_ref"] == nil || found["/x"] == nil || found["/y"] == nil {
		t.Errorf("%s: no reference system or coordinates", name)
		return
	}
	system := string(readers.Lookup(found["/spatial_ref"].Attributes, "crs_wkt").Texts[0])
	if !strings.HasSuffix(system, fmt.Sprintf(`ID["EPSG",%d]]`, want.EPSG)) {
		t.Errorf("%s: %s, GDAL has %d", name, system, want.EPSG)
	}
	for axis, at := range map[string]int{"x": 0, "y": 3} {
		value, err := found["/"+axis].ReadAll(t.Context(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		step := want.Transform[at+1+at/3]
		got := floats(value)
		if first := want.Transform[at] + step/2; !near(got[:2], []float64{first, first + step}) {
			t.Errorf("%s: %s is %v, GDAL has %v", name, axis, got, want.Transform)
		}
	}
}

func floats(v readers.Value) (list []float64) {
	for at := 0; at < len(v.Data); at += 8 {
		list = append(list, v.Type.Float64(v.Data[at:at+8]))
	}
	return list
}

// TestVariables checks names, axes, storage and attributes.
func TestVariables(t *testing.T) {
	for name, want := range map[string]string{
		"c.npy":                     "data >f4 [dim_0=4 dim_1=7 dim_2=9] contiguous 128",
		"fortran.npy":               "data <i2 [dim_0=4 dim_1=7 dim_2=9] chunked 4x7x9",
		"stored.npz":                "level >i8 [level_dim_0=4] contiguous 1380; mask <b1 [mask_dim_0=7 mask_dim_1=9] chunked 7x9; sst <f4 [sst_dim_0=4 sst_dim_1=7 sst_dim_2=9] contiguous 185",
		"bsq.hdr":                   "band_data <f4 [band=3 y=11 x=13] contiguous 0 in bsq.dat; band; fwhm; spatial_ref; wavelength; x; y",
		"bil.hdr":                   "band_data <i2 [band=3 y=11 x=13] chunked 3x11x13 in bil.dat; band; spatial_ref; x; y",
		"utm_big.img.hdr":           "band_data >u2 [band=1 y=11 x=13] contiguous 16 in utm_big.img; spatial_ref; x; y",
		"scaled.nii":                "data <i2 [x=5 y=6 z=4] chunked 5x6x4; x; y; z",
		"times.nii.gz":              "data <f4 [x=5 y=6 z=4 t=2] chunked 5x6x4x2; t; x; y; z",
		"pair.hdr":                  "data >u2 [x=5 y=6 z=4] chunked 5x6x4 in pair.img",
		"rgb.nii":                   "data struct [x=1 y=2 z=1] contiguous 352; x; y; z",
		"attached.nrrd":             "data <i2 [x=5 y=6 z=4] chunked 5x6x4; x; y; z",
		"gzip.nrrd":                 "data <f4 [component=2 x=5 y=6 z=4] chunked 2x5x6x4",
		"detached.nhdr":             "data >u4 [i=5 j=6 k=4] chunked 5x6x4 in detached.raw",
		"image.mrc":                 "data <f4 [y=6 x=4] contiguous 1024",
		"volume.mrc":                "data <i2 [z=5 y=6 x=4] contiguous 1088",
		"half.mrc":                  "data <f2 [z=5 y=6 x=4] contiguous 1024",
		"volumes.mrc":               "data <f4 [volume=2 z=5 y=6 x=4] contiguous 1024",
		"T.0000000072.002.001.meta": "T >f4 [iter=1 k=3 j=4 i=3] contiguous 0 in T.0000000072.002.001.data; i; iter; j; k; time",
		"surface.0000000072.meta":   "ETAN >f4 [iter=1 j=4 i=6] contiguous 0 in surface.0000000072.data; oceTAUX >f4 [iter=1 j=4 i=6] contiguous 96 in surface.0000000072.data; i; iter; j; time",
		"RF.meta":                   "RF >f4 [k_p1=4] contiguous 0 in RF.data; k_p1",
		"records.meta":              "records >f4 [record=3 j=4 i=6] contiguous 0 in records.data; i; j",
	} {
		var list []string
		for path, v := range readertest.Variables(fixture(t, name)) {
			text := path[1:]
			if v.Storage.Layout != readers.Inline {
				dims := make([]string, 0, len(v.Dims))
				for _, d := range v.Dims {
					dims = append(dims, fmt.Sprint(d.Name, "=", d.Length))
				}
				dtype := strings.Replace(dtypeOf(v.Type), "|", "<", 1)
				if _, order, _ := v.Type.Plain(); order == codec.BigEndian {
					dtype = strings.Replace(dtype, "<", ">", 1)
				}
				text += fmt.Sprint(" ", dtype, " ", dims, " ", v.Storage.Layout)
				if v.Storage.Layout == readers.Contiguous {
					text += fmt.Sprint(" ", v.Storage.Offset)
				}
				for i, n := range v.Storage.ChunkShape {
					text += fmt.Sprint([]string{" ", "x"}[min(i, 1)], n)
				}
				if v.Storage.Source != "" {
					text += " in " + filepath.Base(v.Storage.Source)
				}
			}
			list = append(list, text)
		}
		slices.SortFunc(list, func(a, b string) int {
			if x, y := strings.Contains(a, " "), strings.Contains(b, " "); x != y {
				return map[bool]int{true: -1, false: 1}[x]
			}
			return strings.Compare(a, b)
		})
		if got := strings.Join(list, "; "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// TestAttributes checks units, missing values, and names of bands.
func TestAttributes(t *testing.T) {
	got := map[string]string{}
	for _, name := range []string{"bsq.hdr", "times.nii.gz", "attached.nrrd", "volume.mrc", "surface.0000000072.meta"} {
		data := fixture(t, name)
		add := func(path string, list []readers.Attribute) {
			for _, a := range list {
				text := fmt.Sprintf("%s", a.Texts)
				if a.Texts == nil && a.Type.Size == 8 && a.Type.Class == readers.Float {
					text = fmt.Sprint(floats(a.Value))
				}
				got[name+path+":"+a.Name] = strings.Trim(text, "[]")
			}
		}
		add("", data.Root.Attributes)
		for path, v := range readertest.Variables(data) {
			add(path, v.Attributes)
		}
	}
	for name, want := range map[string]string{
		"bsq.hdr/band_data:scale_factor": "0.5", "bsq.hdr/band_data:add_offset": "1", "bsq.hdr/band_data:coordinates": "wavelength fwhm",
		"bsq.hdr/band_data:band_names": "red green near infrared", "bsq.hdr/wavelength:units": "Nanometers", "bsq.hdr:sensor_type": "Made",
		"times.nii.gz/t:units": "s", "times.nii.gz/x:units": "mm", "times.nii.gz/data:spacing": "2 2.5 3 1.5",
		"attached.nrrd/data:spacing": "2 2.5 3", "attached.nrrd/data:affine": "2 0 0 1 0 2.5 0 2 0 0 3 3 0 0 0 1", "attached.nrrd:space": "left-posterior-superior",
		"volume.mrc/data:voxel_size": "1.5 2 2.5", "volume.mrc/data:origin": "7 0 0",
		"surface.0000000072.meta/time:units": "s",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	for name, want := range map[string]string{"bsq.hdr": "\x00\x00\x10A", "surface.0000000072.meta": "\x00\xc0y\xc4"} {
		if fill := fixture(t, name).Root.Variables[0].Fill.Value; string(fill) != want {
			t.Errorf("%s: the fill value is %q, want %q", name, fill, want)
		}
	}
}

// TestSlabs checks that large arrays in another order are cut into ranges of bytes.
func TestSlabs(t *testing.T) {
	for _, c := range []struct{ shape, want []uint64 }{
		{[]uint64{4, 5, 6}, []uint64{4, 5, 6}},
		{[]uint64{1000, 1000, 1000}, []uint64{1, 1000, 1000}},
		{[]uint64{3, 1 << 20}, []uint64{1, 1 << 20}},
		{[]uint64{7919, 7919}, []uint64{132, 7919}}, // a prime has no divisor
		{[]uint64{3, 1 << 30}, []uint64{1, 1 << 20}},
		{[]uint64{2, 8191, 2}, []uint64{2, 8191, 2}},
	} {
		if got := slabs(c.shape, 4); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.shape, got, c.want)
		}
	}
	a := &array{name: "a", typ: numberType('u', 1, false), shape: []uint64{3000, 7919, 2}, order: reversed(3)}
	var s readers.Storage
	if err := a.setStorage(&s, 3000*7919*2); err != nil {
		t.Fatal(err)
	}
	next, n := int64(0), 0
	for ref, err := range s.Refs(t.Context()) {
		if err != nil || ref.Offset != next {
			t.Fatal(ref, err, next)
		}
		next, n = next+int64(ref.Size), n+1
	}
	if next != 3000*7919*2 || n != 12 || s.Grid == nil {
		t.Errorf("%d chunks end at %d, %v", n, next, s.Grid)
	}
}

func TestConformance(t *testing.T) {
	for _, f := range formats {
		var samples []readertest.Sample
		for _, name := range []string{"c.npy", "fortran.npy", "stored.npz", "scaled.nii", "second.nii", "attached.nrrd", "image.mrc", "big.mrc"} {
			data, err := os.ReadFile(filepath.Join(fixtures, name))
			if err != nil {
				t.Fatal(err)
			}
			src := source.New(name, &readertest.Memory{Data: data})
			if is, err := f.Detects(t.Context(), src); err != nil {
				t.Fatal(err)
			} else if is {
				samples = append(samples, readertest.Sample{Name: name, Data: data})
			}
		}
		if samples != nil { // the others need a second file
			t.Run(f.Name, func(t *testing.T) { readertest.Run(t, f, samples...) })
		}
	}
}

// copyOf copies fixtures to a folder, and changes the first of them.
func copyOf(t *testing.T, change func([]byte) []byte, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for i, name := range names {
		data, err := os.ReadFile(filepath.Join(fixtures, name))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			data = change(data)
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, names[0])
}

func replace(old, by string) func([]byte) []byte {
	return func(b []byte) []byte {
		if !strings.Contains(string(b), old) {
			panic(old + " is not there")
		}
		return []byte(strings.Replace(string(b), old, by, 1))
	}
}

func setBytes(at int, bytes ...byte) func([]byte) []byte {
	return func(b []byte) []byte {
		copy(b[at:], bytes)
		return b
	}
}

// TestRefused checks the error of each kind of header that cannot be right, or is not supported.
func TestRefused(t *testing.T) {
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	longer := func(b []byte) []byte { return append(b, "more bytes"...) }
	for _, c := range []struct {
		change  func([]byte) []byte
		files   []string
		is      error
		message string
	}{
		{cut(500), []string{"c.npy"}, readers.ErrCorrupt, "has 1008 bytes, but only 372 follow offset 128"},
		{longer, []string{"c.npy"}, readers.ErrCorrupt, "has 1008 bytes, but 1018 follow offset 128"},
		{replace("(4, 7, 9)", "(4,-7, 9)"), []string{"c.npy"}, readers.ErrCorrupt, "at offset 63: a length in shape is not an integer from 0"},
		{replace("(4, 7, 9), }", "(4,9**9,9),}"), []string{"c.npy"}, readers.ErrCorrupt, "want a comma"},
		{replace("(4, 7, 9), }  ", "(4,9999999999)"), []string{"c.npy"}, readers.ErrCorrupt, "want a comma"},
		{replace("'>f4'", "exit("), []string{"c.npy"}, readers.ErrCorrupt, `"exit(, 'fo" is not a literal`},
		{replace("'>f4'", "'|O' "), []string{"c.npy"}, errors.ErrUnsupported, "pickled"},
		{replace("'>f4'", "'>g4'"), []string{"c.npy"}, readers.ErrCorrupt, `dtype: ">g4" is not a type such as`},
		{replace("{'descr'", "(((((((("), []string{"c.npy"}, readers.ErrCorrupt, "is not a literal of Python"},
		{setBytes(6, 9), []string{"c.npy"}, errors.ErrUnsupported, "version 9"},
		{setBytes(6, 3, 0, 255, 255, 255, 255), []string{"c.npy"}, errors.ErrUnsupported, "a header of"},

		{replace("samples = 13", "samples = 14"), []string{"bsq.hdr", "bsq.dat"}, readers.ErrCorrupt, "bsq.hdr: at offset 56: an array of the shape [3 11 14] and the type <f4 has 1848 bytes, but only 1716 follow offset 0 of "},
		{replace("samples = 13", "samples = 12"), []string{"bsq.hdr", "bsq.dat"}, readers.ErrCorrupt, "has 1584 bytes, but 1716 follow"},
		{replace("samples = 13", "samples = -3"), []string{"bsq.hdr", "bsq.dat"}, readers.ErrCorrupt, `samples is "-3", want an integer from 1 to 2147483647`},
		{replace("samples = 13", "sampler = 13"), []string{"bsq.hdr", "bsq.dat"}, readers.ErrCorrupt, `no "samples"`},
		{replace("data type = 4", "data type = 7"), []string{"bsq.hdr", "bsq.dat"}, errors.ErrUnsupported, "data type 7"},
		{replace("interleave = bsq", "interleave = bsx"), []string{"bsq.hdr", "bsq.dat"}, readers.ErrCorrupt, "want bsq, bil or bip"},
		{replace("{0.5, 0.5, 0.5}", "{0.5, nan, 0.5}"), []string{"bsq.hdr", "bsq.dat"}, readers.ErrCorrupt, "are not all finite"},
		{replace("bands   = 3", "lines = 3"), []string{"bsq.hdr", "bsq.dat"}, readers.ErrCorrupt, `the field "lines" occurs twice`},
		{replace("{1, 1, 1}", "{1, 1, 1"), []string{"bsq.hdr", "bsq.dat"}, readers.ErrCorrupt, "no closing brace"},
		{replace("ENVI", "ENVI"), []string{"bsq.hdr"}, fs.ErrNotExist, "must be in one of the files bsq, bsq.img, bsq.dat,"},

		{cut(400), []string{"scaled.nii"}, readers.ErrCorrupt, "has 240 bytes, but only 48 follow offset 352"},
		{setBytes(40, 255, 255), []string{"scaled.nii"}, readers.ErrCorrupt, "at offset 40: dim[0] is -1"},
		{setBytes(42, 255, 255), []string{"scaled.nii"}, readers.ErrCorrupt, "dim[1] is -1"},
		{setBytes(42, 255, 127, 255, 127, 255, 127), []string{"scaled.nii"}, readers.ErrCorrupt, "has 70362301923326 bytes, but only"},
		{setBytes(70, 1), []string{"scaled.nii"}, errors.ErrUnsupported, "datatype 1: bits"},
		{setBytes(116, 0, 0, 192, 127), []string{"scaled.nii"}, readers.ErrCorrupt, "scl_inter is NaN"},
		{setBytes(108, 0, 0, 192, 127), []string{"scaled.nii"}, readers.ErrCorrupt, "vox_offset is NaN"},
		{setBytes(24, 255, 255, 255, 255, 255, 255, 255, 127), []string{"second.nii"}, readers.ErrCorrupt, "takes more than 2^62 bytes"},
		{setBytes(0), []string{"pair.hdr"}, fs.ErrNotExist, `"pair.img", which must lie beside this header`},

		{cut(90), []string{"attached.nrrd"}, readers.ErrCorrupt, `the header has no "dimension"`},
		{replace("sizes: 5 6 4", "sizes: 5 6 9"), []string{"attached.nrrd"}, readers.ErrCorrupt, "has 540 bytes, but only 240 follow"},
		{replace("sizes: 5 6 4", "sizes: 5 6-4"), []string{"attached.nrrd"}, readers.ErrCorrupt, "2 sizes of 3 dimensions"},
		{replace("dimension: 3", "dimension: 1000000000"), []string{"attached.nrrd"}, readers.ErrCorrupt, "want an integer from 1 to 16"},
		{replace("encoding: raw", "encoding: hex"), []string{"attached.nrrd"}, errors.ErrUnsupported, `the encoding "hex"`},
		{replace("encoding: gzip", "encoding: gzip\nbyte skip: -1"), []string{"gzip.nrrd"}, errors.ErrUnsupported, "compressed data (byte skip: -1); decompress"},
		{replace("endian: little", "endian: middle"), []string{"attached.nrrd"}, readers.ErrCorrupt, "want little or big"},
		{replace("type: int16", "type: block"), []string{"attached.nrrd"}, errors.ErrUnsupported, "blocks"},
		{replace("sizes: 2 5 6 4", "sizes: 2 5 600000 4"), []string{"gzip.nrrd"}, readers.ErrCorrupt, "which gzip cannot compress to"},
		{replace("data file: detached.raw", "data file: LIST"), []string{"detached.nhdr", "detached.raw"}, errors.ErrUnsupported, "several files"},
		{replace("data file: detached.raw", "data file: /etc/hostname"), []string{"detached.nhdr"}, source.ErrForbidden, `"/etc/hostname"`},
		{replace("sizes: 5 6 4", "sizes: 5 6 4\nsizes: 1 2 3"), []string{"detached.nhdr", "detached.raw"}, readers.ErrCorrupt, "occurs twice"},
		{replace("NRRD", "NRRD"), []string{"detached.nhdr"}, fs.ErrNotExist, `"detached.raw"`},

		{cut(1100), []string{"image.mrc"}, readers.ErrCorrupt, "has 96 bytes, but only 76 follow offset 1024"},
		{setBytes(0, 0, 0, 0, 128), []string{"image.mrc"}, readers.ErrCorrupt, "-2147483648 × 6 × 1 elements"},
		{setBytes(12, 3), []string{"image.mrc"}, errors.ErrUnsupported, "at offset 12: mode 3"},
		{setBytes(92, 255, 255, 255, 255), []string{"image.mrc"}, readers.ErrCorrupt, "extended header has -1 bytes"},
		{setBytes(212, 1, 2), []string{"image.mrc"}, readers.ErrCorrupt, "machine stamp is 0102"},

		{replace("     6,    1,    6", "     7,    1,    7"), []string{"Depth.meta", "Depth.data"}, readers.ErrCorrupt, "has 112 bytes, but only 96 follow"},
		{replace("     6,    1,    6", "     6,    0,    6"), []string{"Depth.meta", "Depth.data"}, readers.ErrCorrupt, "positions 0 to 6 of 6"},
		{replace("nDims = [   2 ]", "nDims = [ 999999999 ]"), []string{"Depth.meta", "Depth.data"}, readers.ErrCorrupt, "want an integer from 1 to"},
		{replace("'float32'", "'float16'"), []string{"Depth.meta", "Depth.data"}, readers.ErrCorrupt, "want float32 or float64"},
		{replace("nrecords = [     1 ]", "nrecords = [ 2147483647 ]"), []string{"Depth.meta", "Depth.data"}, readers.ErrCorrupt, "but only 96 follow"},
		{replace("nrecords = [     1 ];", "nrecords = [     1"), []string{"Depth.meta", "Depth.data"}, readers.ErrCorrupt, "nrecords does not end with ];"},
		{replace("nDims", "nDims"), []string{"Depth.meta"}, fs.ErrNotExist, `"Depth.data", which must lie beside`},
	} {
		_, err := openFile(t, copyOf(t, c.change, c.files...))
		var located *readers.Error
		if !errors.Is(err, c.is) || !errors.As(err, &located) || !strings.Contains(fmt.Sprint(err), c.message) {
			t.Errorf("%s: %v\nwant %q", c.files[0], err, c.message)
		}
	}
}

// TestHeaderless checks arrays without a header.
func TestHeaderless(t *testing.T) {
	open := func(spec string, data []byte) (*readers.Dataset, error) {
		f := Headerless()
		r, err := f.Reader(&readers.Config{Settings: readers.Settings{"raw": spec}})
		if err != nil {
			return nil, err
		}
		return r.Open(t.Context(), source.New("plain", &readertest.Memory{Data: data}))
	}
	data, err := open("dtype=>i2,shape=*x3,offset=2,order=F,dims=lat/lon,name=sst", []byte("\xff\xff\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06"))
	if err != nil {
		t.Fatal(err)
	}
	v := data.Root.Variables[0]
	value, err := v.ReadAll(t.Context(), 100)
	if want := []byte{1, 0, 3, 0, 5, 0, 2, 0, 4, 0, 6, 0}; v.Path != "/sst" || v.Dims[0].Name != "lat" || !slices.Equal(v.Shape, []uint64{2, 3}) || !slices.Equal(value.Data, want) || err != nil {
		t.Errorf("%s %v %v %v", v.Path, v.Shape, value.Data, err)
	}
	if _, err := open("dtype=<i2,shape=1x1x1x5,dims=xlat/lat/nx/x", make([]byte, 10)); err != nil {
		t.Errorf("names that contain others: %v", err)
	}
	o := Headerless().Options[0]
	if _, err := o.Value(readers.Settings{"raw": "dtype=i2,shape=4"}); err == nil {
		t.Error("the option has a value that describes no array")
	}
	for spec, want := range map[string]string{
		"dtype=<f4,shape=3":                      "has 12 bytes, but only 10 follow",
		"dtype=<i2,shape=4":                      "has 8 bytes, but 10 follow",
		"dtype=<i2,shape=*x3":                    "10 bytes after offset 0 are no multiple of the 6 bytes",
		"dtype=<i2,shape=4,offset=99":            "begins at offset 99",
		"dtype=<i2":                              "dtype and shape are needed",
		"shape=4":                                "dtype and shape are needed",
		"dtype=<i2,shape=4x0":                    "want up to 32 lengths",
		"dtype=<i2,shape=*x*":                    "want up to 32 lengths",
		"dtype=i2,shape=4":                       `"i2" is not a type such as`,
		"dtype=<i2,shape=4,colour=red":           "known are dtype",
		"dtype=<i2,shape=4,dims=x/y":             "2 names for 1 lengths",
		"dtype=<i2,shape=4x4,dims=x/x":           "want different names",
		"dtype=<i2,shape=4,shape=4":              "each key once",
		"dtype=<i2,shape=4,order=Z":              "want C or F",
		"dtype=<i2,shape=4611686018427387903x99": "takes more than 2^62 bytes",
	} {
		if _, err := open(spec, make([]byte, 10)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

// TestSidecars checks which files are read with a header.
func TestSidecars(t *testing.T) {
	for header, want := range map[string]string{
		"/a/x.hdr": "x x.img x.dat", "x.HDR": "x x.IMG x.DAT", "x.img.hdr": "x.img x.img.dat", "s3://b/a/x.hdr": "x x.img x.dat",
	} {
		if got := strings.Join(dataOf(header, "", ".img", ".dat"), " "); !strings.HasPrefix(got, strings.Split(want, " ")[0]) {
			t.Errorf("%s: %s, want %s", header, got, want)
		}
	}
	for _, c := range []struct {
		f          readers.Format
		data, want string
	}{
		{ENVI(), "a/x.dat", "a/x.hdr"}, {ENVI(), "a/x", "a/x.hdr"}, {ENVI(), "x.dat", "x.dat.hdr"}, {NIfTI(), "x.img.gz", "x.hdr.gz"}, {NRRD(), "x.raw", "x.nhdr"},
		{MDS(), "T.0000000072.001.001.data", "T.0000000072.001.001.meta"},
	} {
		if got := c.f.Sidecar(c.data); !slices.Contains(got, c.want) || slices.Contains(got, c.data) {
			t.Errorf("%s: %v lacks %s", c.data, got, c.want)
		}
	}
	if got := ENVI().Sidecar("x.nc"); got != nil {
		t.Errorf("x.nc may have the headers %v", got)
	}
}

// FuzzOpen opens any bytes with every parser, and reads the values of what it finds.
func FuzzOpen(f *testing.F) {
	for name := range expected(f) {
		data, err := os.ReadFile(filepath.Join(fixtures, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,), }"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range formats {
			src := source.New(filepath.Join(t.TempDir(), "fuzz.hdr"), &readertest.Memory{Data: data})
			r, err := format.Reader(nil)
			if err != nil {
				t.Fatal(err)
			}
			dataset, err := r.Open(t.Context(), src)
			if err != nil {
				continue
			}
			for _, v := range readertest.Variables(dataset) {
				if _, err := v.ReadAll(t.Context(), 1<<20); err != nil {
					continue
				}
				n := 0
				for range v.Storage.Refs(t.Context()) {
					if n++; n > 1000 {
						break
					}
				}
			}
		}
		// Headers with their data elsewhere.
		src := source.New("fuzz", &readertest.Memory{Data: data})
		b := newBuilder(src, "fuzz")
		_, _, _ = parseNpy(data)
		if len(data) > len(enviMagic) {
			if h, err := parseENVI(src, data); err == nil {
				_, _ = h.array()
				_ = h.system(h.words("map info"))
				_, _ = transformOf(h.words("map info"))
			}
		}
		if h, err := parseNRRD(src, data); err == nil {
			_, _ = h.array(b)
		}
		if h, err := parseMDS(src, data); err == nil {
			_, _ = h.records(b)
		}
		_, _ = parseSpec(string(data))
	})
}

// openNRRD opens a NRRD with the lines of a header and elements.
func openNRRD(t *testing.T, header, elements string) (map[string]*readers.Variable, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.nrrd")
	if err := os.WriteFile(name, []byte("NRRD0004\n"+header+"\n\n"+elements), 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := openFile(t, name)
	if err != nil {
		return nil, err
	}
	return readertest.Variables(data), nil
}

// numbersOf returns the numbers of a variable or, with a key, of one of its attributes.
func numbersOf(t *testing.T, v *readers.Variable, key string) []float64 {
	t.Helper()
	if v == nil {
		return nil
	}
	if key != "" {
		if a := readers.Lookup(v.Attributes, key); a != nil {
			return floats(a.Value)
		}
		return nil
	}
	value, err := v.ReadAll(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return floats(value)
}

// TestLongAxes checks that a short file with long axes gets few coordinates, and says where the other axes begin.
func TestLongAxes(t *testing.T) {
	found, err := openNRRD(t, "type: uchar\ndimension: 2\nsizes: 60000 60000\nencoding: bzip2\naxis mins: 1 2\nspacings: 3 4", strings.Repeat("x", 3000))
	if err != nil {
		t.Fatal(err)
	}
	if x := numbersOf(t, found["/x"], ""); len(x) != 60000 || x[1] != 4 || found["/y"] != nil {
		t.Errorf("%d coordinates of x, y: %v", len(x), found["/y"])
	}
	if v := found["/data"]; !slices.Equal(numbersOf(t, v, "y_start"), []float64{2}) || !slices.Equal(numbersOf(t, v, "y_step"), []float64{4}) || numbersOf(t, v, "x_start") != nil {
		t.Errorf("attributes %v", v.Attributes)
	}
}

// TestCenters checks that coordinates are the centres of elements, whether the header says where their borders or centres are.
func TestCenters(t *testing.T) {
	for centers, want := range map[string][2][]float64{
		"":                       {{0, 2, 4, 6}, {10, 9}},
		"\ncenters: cell node":   {{1, 3, 5, 7}, {10, 9}},
		"\ncenterings: ??? cell": {{0, 2, 4, 6}, {9.5, 8.5}},
	} {
		found, err := openNRRD(t, "type: uchar\ndimension: 2\nsizes: 4 2\nencoding: raw\naxis mins: 0 10\nspacings: 2 -1"+centers, "12345678")
		if err != nil {
			t.Fatal(err)
		}
		if x, y := numbersOf(t, found["/x"], ""), numbersOf(t, found["/y"], ""); !slices.Equal(x, want[0]) || !slices.Equal(y, want[1]) {
			t.Errorf("%q: %v %v, want %v", centers, x, y, want)
		}
	}
}

// TestOrderOfMRC checks that axes are named by mapc, mapr and maps, and that start has the order x, y, z.
func TestOrderOfMRC(t *testing.T) {
	for _, c := range []struct {
		file         string
		axes         [3]byte
		start, names string
	}{
		{"volume.mrc", [3]byte{1, 2, 3}, "[7 8 9]", "z y x"},
		{"volume.mrc", [3]byte{}, "[7 8 9]", "z y x"},
		{"volume.mrc", [3]byte{3, 1, 2}, "[8 9 7]", "y x z"},
		{"volumes.mrc", [3]byte{2, 1, 3}, "[8 7 9]", "volume z x y"},
		{"image.mrc", [3]byte{3, 2, 1}, "[9 8 7]", "y z"},
		{"volume.mrc", [3]byte{1, 1, 3}, "", "mapc, mapr and maps are 1, 1 and 3"},
		{"volume.mrc", [3]byte{1, 2, 4}, "", "mapc, mapr and maps are 1, 2 and 4"},
	} {
		data, err := openFile(t, copyOf(t, func(b []byte) []byte {
			for k := range 3 {
				copy(b[64+4*k:], []byte{c.axes[k], 0, 0, 0})
				copy(b[16+4*k:], []byte{byte(7 + k), 0, 0, 0})
			}
			return b
		}, c.file))
		if c.start == "" {
			if !errors.Is(err, readers.ErrCorrupt) || !strings.Contains(err.Error(), c.names) {
				t.Errorf("%v: %v", c.axes, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		v := data.Root.Variables[0]
		var names []string
		for _, d := range v.Dims {
			names = append(names, d.Name)
		}
		start := readers.Lookup(v.Attributes, "start").Data
		if got := fmt.Sprint([]byte{start[0], start[8], start[16]}); strings.Join(names, " ") != c.names || got != c.start {
			t.Errorf("%s %v: axes %v, start %s", c.file, c.axes, names, got)
		}
	}
}

// TestBytesOfMRC checks that the flags of IMOD decide whether bytes have a sign.
func TestBytesOfMRC(t *testing.T) {
	for want, set := range map[string]func([]byte){
		"|i1":               func(b []byte) {},
		"|u1":               func(b []byte) { copy(b[152:], "IMOD\x04\x00\x00\x00") },
		"|i1 with the flag": func(b []byte) { copy(b[152:], "IMOD\x05\x00\x00\x00") },
	} {
		data, err := openFile(t, copyOf(t, func(b []byte) []byte {
			b[12] = 0
			copy(b[152:160], make([]byte, 8))
			set(b)
			return b[:1024+24]
		}, "image.mrc"))
		if err != nil {
			t.Fatal(err)
		}
		if got := dtypeOf(data.Root.Variables[0].Type); got != want[:3] {
			t.Errorf("%s: %s", want, got)
		}
	}
}

// TestSizesOfNIfTI checks that sizes of elements have no sign: what is wanted is what nibabel reads.
func TestSizesOfNIfTI(t *testing.T) {
	for _, c := range []struct {
		qform   byte
		sizes   [4]float32
		affine  []float64 // of the first three rows, without the last column
		spacing []float64
	}{
		{0, [4]float32{1, -2, 3, -4}, []float64{-2, 0, 0, 0, 3, 0, 0, 0, 4}, []float64{2, 3, 4}},
		{1, [4]float32{1, -2, 3, -4}, []float64{2, 0, 0, 0, 3, 0, 0, 0, 4}, []float64{2, 3, 4}},
		{1, [4]float32{-1, 2, -3, 4}, []float64{2, 0, 0, 0, 3, 0, 0, 0, -4}, []float64{2, 3, 4}},
		{1, [4]float32{0, 2, 0, 4}, []float64{2, 0, 0, 0, 1, 0, 0, 0, 4}, []float64{2, 1, 4}},
	} {
		data, err := openFile(t, copyOf(t, func(b []byte) []byte {
			copy(b[252:], []byte{c.qform, 0, 0, 0})
			copy(b[256:268], make([]byte, 12)) // no rotation
			for k, f := range c.sizes {
				binary.LittleEndian.PutUint32(b[76+4*k:], math.Float32bits(f))
			}
			return b
		}, "scaled.nii"))
		if err != nil {
			t.Fatal(err)
		}
		v := data.Root.Variables[0]
		m := numbersOf(t, v, "affine")
		if got := slices.Concat(m[:3], m[4:7], m[8:11]); !slices.Equal(got, c.affine) || !slices.Equal(numbersOf(t, v, "spacing"), c.spacing) {
			t.Errorf("%d %v: %v %v", c.qform, c.sizes, got, numbersOf(t, v, "spacing"))
		}
	}
}

// TestObjects checks that only types of elements say that they are pickled, not names of fields.
func TestObjects(t *testing.T) {
	for descr, isPickled := range map[string]bool{
		`[('CO', '<i4'), ('O', '<f4')]`:         false,
		`[('CO', '|O')]`:                        true,
		`[('a', '<i4'), ('b', [('O', '<i4')])]`: false,
		`[('a', '<i4'), ('b', [('c', '|O')])]`:  true,
		`'O'`:                                   true,
	} {
		a, _, err := parseNpy([]byte("{'descr': " + descr + ", 'fortran_order': False, 'shape': (3,), }"))
		if got := err != nil && strings.Contains(err.Error(), "pickled"); got != isPickled || !isPickled && (err != nil || a.typ == nil) {
			t.Errorf("%s: %v", descr, err)
		}
	}
}

// TestScaleOfColours checks that colours of NIfTI have no scale, which cannot apply to a struct.
func TestScaleOfColours(t *testing.T) {
	data, err := openFile(t, copyOf(t, setBytes(112, 0, 0, 0, 64, 0, 0, 128, 63), "rgb.nii"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scale_factor", "add_offset"} {
		if a := readers.Lookup(data.Root.Variables[0].Attributes, name); a != nil {
			t.Errorf("%s is %v", name, floats(a.Value))
		}
	}
}

// TestColumn checks that a model of one column has all axes.
func TestColumn(t *testing.T) {
	folder := filepath.Dir(copyOf(t, func(b []byte) []byte { return b }, "RF.meta", "RF.data"))
	for _, ending := range []string{".meta", ".data"} {
		if err := os.Rename(filepath.Join(folder, "RF"+ending), filepath.Join(folder, "T.0000000072"+ending)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := openFile(t, filepath.Join(folder, "T.0000000072.meta"))
	if err != nil {
		t.Fatal(err)
	}
	found := readertest.Variables(data)
	if v := found["/T"]; v == nil || !slices.Equal(v.Shape, []uint64{4, 1, 1}) || v.Dims[0].Name != "k" || found["/i"] == nil || found["/j"] == nil {
		t.Errorf("variables %v", found)
	}
}

// TestDamagedMember changes a checksum in the directory of a zip file. The values of the member are refused.
func TestDamagedMember(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join(fixtures, "deflated.npz"))
	if err != nil {
		t.Fatal(err)
	}
	whole[bytes.Index(whole, []byte("PK\x01\x02"))+16] ^= 1 // the CRC-32 of the first member
	name := filepath.Join(t.TempDir(), "damaged.npz")
	if err := os.WriteFile(name, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	data, err := openFile(t, name)
	if err != nil {
		t.Fatal(err)
	}
	var errs []error
	for _, p := range data.Problems {
		errs = append(errs, p.Err)
	}
	for _, v := range data.Root.Variables {
		if _, err := v.ReadAll(t.Context(), 1<<20); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) != 1 || !errors.Is(errs[0], codec.ErrCorrupt) || !strings.Contains(errs[0].Error(), "CRC-32") {
		t.Errorf("got %v, want one CRC-32 that differs", errs)
	}
}

package fits

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/readertest"
	"varve/readers/source"
)

const fixtures = "../../../fixtures/fits"

func fixture(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join(fixtures, name+".fits"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func memory(data []byte) *source.Source {
	return source.New("test.fits", &readertest.Memory{Data: data})
}

func open(t testing.TB, data []byte) *readers.Dataset {
	d, err := Format{}.Open(context.Background(), memory(data))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// unit holds astropy's description of an HDU, as generate.py writes it. Values are stored ones,
// little-endian.
type unit struct {
	Keywords map[string]map[string]any
	Image    []any
	Columns  map[string][]any
}

// places lists the variable or group of each HDU of the fixtures; a slash marks a group.
var places = map[string][]string{
	"images":   {"PRIMARY", "I16", "I32", "I64", "F32", "F64", "F64_2", "EMPTY/", "HDU8"},
	"keywords": {"/"},
	"scaling":  {"/", "U16", "U32", "I8", "SCALED"},
	"table":    {"/", "T/"},
	"compressed": {"", "PRIMARY", "RICE8", "RICE32", "UNSIGNED", "GZIP1", "GZIP2", "LONG", "PLAIN", "PLIO", "HCOMPRESS", "LOSSY", "LOSSLESS",
		"PLAINLY", "DITHERED", "ZEROS", "ZIPPED", "WAVES"},
	"ascii":   {"/", "T/"},
	"refused": {"/", "", "", "VARYING/", "AFTER"},
	"groups":  {"/"},
}

func TestFixtures(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(fixtures, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]unit
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for name, units := range all {
		t.Run(name, func(t *testing.T) {
			data := open(t, fixture(t, name))
			if len(places[name]) != len(units) {
				t.Fatalf("%d places for %d HDUs", len(places[name]), len(units))
			}
			for i, place := range places[name] {
				checkUnit(t, data, place, units[fmt.Sprint(i)])
			}
		})
	}
}

func checkUnit(t *testing.T, data *readers.Dataset, place string, want unit) {
	t.Helper()
	group, isGroup := strings.CutSuffix(place, "/")
	switch {
	case place == "":
	case place == "/":
		checkKeywords(t, place, data.Root.Attributes, want.Keywords)
	case isGroup:
		for _, g := range data.Root.Groups {
			if g.Name == group {
				checkKeywords(t, place, g.Attributes, want.Keywords)
				checkColumns(t, g, want.Columns)
				return
			}
		}
		t.Errorf("there is no group %s", place)
	default:
		for _, v := range data.Root.Variables {
			if v.Name == place {
				checkKeywords(t, place, v.Attributes, want.Keywords)
				checkValues(t, v, want.Image)
				return
			}
		}
		t.Errorf("there is no variable %s", place)
	}
}

func checkColumns(t *testing.T, g *readers.Group, want map[string][]any) {
	t.Helper()
	found := 0
	for _, v := range g.Variables {
		if want[v.Name] != nil && v.Storage.Undecodable == nil {
			checkValues(t, v, want[v.Name])
			found++
		}
	}
	for name := range want {
		if g.Name == "VARYING" && name == "v" {
			found++
		}
	}
	if found != len(want) {
		t.Errorf("%s: %d of %d columns", g.Path, found, len(want))
	}
}

func checkValues(t *testing.T, v *readers.Variable, want []any) {
	t.Helper()
	value, err := v.ReadAll(context.Background(), 1<<20)
	if err != nil {
		t.Error(err)
		return
	}
	sum := sha256.Sum256(value.Data)
	shape := []any{}
	for _, n := range v.Shape {
		shape = append(shape, float64(n))
	}
	if !reflect.DeepEqual([]any{shape, hex.EncodeToString(sum[:])}, want) {
		t.Errorf("%s: got shape %v and values %x, want %v", v.Path, v.Shape, sum, want)
	}
}

// isStructure reports whether a keyword describes only the structure of the data.
func isStructure(keyword string) bool {
	for _, k := range strings.Fields("SIMPLE XTENSION BITPIX NAXIS EXTEND PCOUNT GCOUNT GROUPS TFIELDS TTYPE TFORM TUNIT TNULL TSCAL TZERO TDIM TDISP TBCOL") {
		if strings.TrimRight(keyword, "0123456789") == k {
			return true
		}
	}
	return false
}

func checkKeywords(t *testing.T, place string, got []readers.Attribute, want map[string]map[string]any) {
	t.Helper()
	for keyword, v := range want {
		a := readers.Lookup(got, keyword)
		switch {
		case isStructure(keyword) && a != nil:
			t.Errorf("%s: %s is an attribute", place, keyword)
		case isStructure(keyword):
		case a == nil:
			t.Errorf("%s: no %s", place, keyword)
		case !reflect.DeepEqual(plain(*a), v):
			t.Errorf("%s: %s: got %v, want %v", place, keyword, plain(*a), v)
		}
	}
}

func float(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

func plain(a readers.Attribute) map[string]any {
	switch {
	case a.Err != nil:
		return map[string]any{"error": a.Err}
	case a.Null:
		return nil
	case a.Type.Class == readers.String:
		return map[string]any{"text": string(a.Texts[0])}
	case a.Type.Class == readers.Enum:
		return map[string]any{"logical": a.Data[0] == 1}
	case a.Type.Class == readers.Integer && a.Type.Signed:
		return map[string]any{"integer": fmt.Sprint(int64(a.Type.Uint64(a.Data)))}
	case a.Type.Class == readers.Integer:
		return map[string]any{"integer": fmt.Sprint(a.Type.Uint64(a.Data))}
	case a.Type.Class == readers.Complex:
		return map[string]any{"complex": []any{float(a.Data[:8]), float(a.Data[8:])}}
	}
	return map[string]any{"real": float(a.Data)}
}

func TestCommentary(t *testing.T) {
	root := open(t, fixture(t, "keywords")).Root
	for name, want := range map[string]string{"HISTORY": "first\nsecond", "COMMENT": "a = comment / with signs"} {
		if a := readers.Lookup(root.Attributes, name); a == nil || string(a.Texts[0]) != want {
			t.Errorf("%s: got %v, want %q", name, a, want)
		}
	}
}

func TestScaling(t *testing.T) {
	data := open(t, fixture(t, "scaling"))
	want := map[string]map[string]any{
		"U16":    {"add_offset": 32768.0, "fits_dtype": "uint16"},
		"U32":    {"add_offset": 2147483648.0, "fits_dtype": "uint32"},
		"I8":     {"add_offset": -128.0, "fits_dtype": "int8"},
		"SCALED": {"scale_factor": 0.5, "add_offset": 100.0, "_FillValue": int64(-9), "units": "K"},
	}
	table := open(t, fixture(t, "table"))
	want["unsigned"] = map[string]any{"add_offset": 2147483648.0, "fits_dtype": "uint32"}
	want["scaled"] = map[string]any{"scale_factor": 0.25, "add_offset": 10.0}
	want["int"] = map[string]any{"_FillValue": int64(-9)}
	want["short"] = map[string]any{"units": "m"}
	want["byte"] = map[string]any{}
	list := append(data.Root.Variables, table.Root.Groups[0].Variables...)
	for _, v := range list {
		if want[v.Name] == nil {
			continue
		}
		got := map[string]any{}
		for _, name := range []string{"scale_factor", "add_offset", "_FillValue", "units", "fits_dtype"} {
			a := readers.Lookup(v.Attributes, name)
			switch {
			case a == nil:
			case a.Type.Class == readers.String:
				got[name] = string(a.Texts[0])
			case a.Type.Class == readers.Float:
				got[name] = float(a.Data)
			default:
				got[name] = int64(a.Type.Uint64(a.Data))
			}
		}
		if !reflect.DeepEqual(got, want[v.Name]) {
			t.Errorf("%s: got %v, want %v", v.Name, got, want[v.Name])
		}
		delete(want, v.Name)
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
}

func TestTexts(t *testing.T) {
	for _, v := range open(t, fixture(t, "table")).Root.Groups[0].Variables {
		want := map[string]string{"text": `["one" "two" "three"]`, "texts": `["a" "bb" "c" "a" "bb" "c" "a" "bb" "c"]`, "logical": `["T" "F" "T"]`}[v.Name]
		if want == "" {
			continue
		}
		value, err := v.ReadAll(context.Background(), 1<<20)
		if got := fmt.Sprintf("%q", value.Texts); err != nil || got != want {
			t.Errorf("%s: got %s, %v", v.Path, got, err)
		}
	}
}

func TestStorage(t *testing.T) {
	g := open(t, fixture(t, "table")).Root.Groups[0]
	const row, data = 104, 8640
	offset := int64(data)
	for _, v := range g.Variables {
		s := v.Storage
		if s.Layout != readers.Records || s.Stride != row || s.Offset != offset {
			t.Errorf("%s: got %v at %d, %d apart, want records at %d, %d apart", v.Path, s.Layout, s.Offset, s.Stride, offset, row)
		}
		offset += int64(s.Bytes / 3)
	}
	if offset != data+row {
		t.Errorf("columns end at %d", offset)
	}
}

func TestUnsupported(t *testing.T) {
	data := open(t, fixture(t, "refused"))
	want := map[string]string{"/SMOOTHED": "SMOOTH", "/ZIPPED": "ZTABLE"} // keyword in the error
	for _, p := range data.Problems {
		if want[p.Path] == "" || !strings.Contains(p.Err.Error(), want[p.Path]) || !errors.Is(p.Err, errors.ErrUnsupported) {
			t.Errorf("problem of %s: %v", p.Path, p.Err)
		}
		delete(want, p.Path)
	}
	if len(want) > 0 {
		t.Errorf("without a problem: %v", want)
	}
	v := data.Root.Groups[0].Variables[0]
	if !errors.Is(v.Storage.Undecodable, errors.ErrUnsupported) || v.Type.String() != "vlen<>i4>" {
		t.Errorf("%s: %v, %v", v.Path, v.Type, v.Storage.Undecodable)
	}
	if p := open(t, fixture(t, "groups")).Problems; len(p) != 1 || !strings.Contains(p[0].Err.Error(), "GROUPS") {
		t.Errorf("groups: %v", p)
	}
}

func TestCards(t *testing.T) {
	for raw, want := range map[string]card{
		"KEY     = 'it''s'  / comment":      {keyword: "KEY", kind: text, text: "it's"},
		"KEY     = '   '":                   {keyword: "KEY", kind: text},
		"KEY     = 'no end":                 {keyword: "KEY", kind: malformed, text: "'no end" + strings.Repeat(" ", 80-17)},
		"KEY     = / nothing":               {keyword: "KEY", kind: undefined},
		"KEY     = +12":                     {keyword: "KEY", kind: integer, bits: 12, isSigned: true},
		"KEY     = 18446744073709551615":    {keyword: "KEY", kind: integer, bits: math.MaxUint64},
		"KEY     = 18446744073709551616":    {keyword: "KEY", kind: real, real: 1 << 64},
		"KEY     = -.5D2":                   {keyword: "KEY", kind: real, real: -50},
		"KEY     = 0x1p4":                   {keyword: "KEY", kind: malformed, text: "0x1p4"},
		"KEY     = NaN":                     {keyword: "KEY", kind: malformed, text: "NaN"},
		"KEY     = 1E999":                   {keyword: "KEY", kind: malformed, text: "1E999", real: math.Inf(1)},
		"KEY     = ( 1.0, -2E1 ) / z":       {keyword: "KEY", kind: complexNumber, real: 1, imag: -20},
		"KEY       no value":                {keyword: "KEY", text: "  no value"},
		"COMMENT = 'this is no value'":      {keyword: "COMMENT", text: "= 'this is no value'"},
		"HIERARCH  a  long   key = 3 / 3":   {keyword: "a long key", kind: integer, bits: 3, isSigned: true},
		"HIERARCH is no keyword if no sign": {keyword: "HIERARCH", text: " is no keyword if no sign"},
	} {
		if got := parseCard(fmt.Appendf(nil, "%-80s", raw)); got != want {
			t.Errorf("%s: got %+v, want %+v", raw, got, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for name := range places {
		data := fixture(f, name)
		f.Add(data[:min(len(data), 4*blockSize)])
	}
	data := fixture(f, "compressed")
	begin := append(extensions(data), len(data))
	for i := range begin[1:] { // each image alone
		f.Add(slices.Concat(data[:begin[0]], data[begin[i]:begin[i+1]]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := readertest.Describe(context.Background(), Format{}, memory(data))
		if d.Err != nil && !isDamage(d.Err) {
			t.Errorf("neither corrupt nor unsupported: %v", d.Err)
		}
	})
}

func FuzzCard(f *testing.F) {
	f.Add("KEY     = 'it''s'  / comment")
	f.Add("HIERARCH ESO DET = (1.0, 2.0)")
	f.Add("COMMENT text")
	f.Fuzz(func(t *testing.T, s string) {
		raw := fmt.Appendf(nil, "%-80s", s)[:cardSize]
		c := parseCard(raw)
		if a := c.attribute("x"); a.Type == nil {
			t.Errorf("%q: no type", raw)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	data := fixture(b, "images")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Open(context.Background(), memory(data)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBlank: a BLANK outside the range of elements defines no fill value.
func TestBlank(t *testing.T) {
	for _, c := range []struct {
		bitpix int
		blank  string
		fill   []byte
	}{
		{8, "255", []byte{255}},
		{8, "-1", nil},
		{8, "256", nil},
		{16, "-32768", []byte{0, 128}},
		{16, "65535", nil},
		{32, "2147483648", nil},
		{64, "-1", bytes.Repeat([]byte{255}, 8)},
		{64, "9223372036854775808", nil},
		{16, "1.5", nil},
		{-32, "1", nil},
	} {
		var b strings.Builder
		for _, line := range []string{"SIMPLE  = T", fmt.Sprint("BITPIX  = ", c.bitpix), "NAXIS   = 1", "NAXIS1  = 1", "BLANK   = " + c.blank, "END"} {
			fmt.Fprintf(&b, "%-80s", line)
		}
		data := open(t, []byte(fmt.Sprintf("%-2880s%2880s", b.String(), "")))
		a := readers.Lookup(data.Root.Variables[0].Attributes, "_FillValue")
		if (a == nil) != (c.fill == nil) || a != nil && !bytes.Equal(a.Data, c.fill) {
			t.Errorf("BITPIX %d, BLANK %s: %+v, want %x", c.bitpix, c.blank, a, c.fill)
		}
	}
}

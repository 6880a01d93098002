package zarrjson

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/grid"
)

// meaning describes an array's document in terms that zarr-python can report too
// (testdata/generate.py, describe).
type meaning struct {
	Shape      []int64   `json:"shape"`
	Type       string    `json:"type"`
	Fill       *string   `json:"fill"` // hexadecimal, or null
	Sizes      [][]int64 `json:"sizes"`
	Key        string    `json:"key"`
	Attributes string    `json:"attributes"`
	Names      []*string `json:"names"`
	Codecs     []string  `json:"codecs"`
	Order      string    `json:"order"`
}

func typeText(t codec.Type) string {
	if t.Kind != codec.Struct {
		return t.String()
	}
	fields := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		fields[i] = f.Name + ":" + typeText(f.Type)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// sizes returns the chunk sizes of a grid as dask lists them, or nil if there are many.
func sizes(g *grid.Grid) [][]int64 {
	list := [][]int64{}
	for axis := range g.Rank() {
		d := g.Dim(axis)
		if d.Chunks() > 100 {
			return nil
		}
		list = append(list, slices.AppendSeq([]int64{}, grid.DataSizes(d)))
	}
	return list
}

func firstKey(k KeyEncoding, rank int) string {
	coords := make([]int64, rank)
	for i := range coords {
		coords[i] = int64(i)
	}
	return string(k.Append(nil, coords))
}

func hexOf(b []byte) *string {
	if b == nil {
		return nil
	}
	h := hex.EncodeToString(b)
	return &h
}

func meaningOf(t testing.TB, a *Array) meaning {
	t.Helper()
	g, err := a.Grid()
	if err != nil {
		t.Fatal(err)
	}
	m := meaning{Shape: a.Shape, Type: typeText(a.DataType.Type()), Fill: hexOf(a.Fill), Sizes: sizes(g),
		Key: firstKey(a.Keys, len(a.Shape)), Attributes: string(a.Attributes.JSON())}
	for _, n := range a.DimensionNames {
		name := &n.Name
		if !n.Named {
			name = nil
		}
		m.Names = append(m.Names, name)
	}
	for _, c := range a.Codecs {
		m.Codecs = append(m.Codecs, c.Name)
	}
	return m
}

func meaningOfV2(t testing.TB, a *V2Array, attributes Attributes) meaning {
	t.Helper()
	g, err := a.Grid()
	if err != nil {
		t.Fatal(err)
	}
	return meaning{Shape: a.Shape, Type: typeText(a.DataType.Type()), Fill: hexOf(a.Fill), Sizes: sizes(g),
		Key: firstKey(a.Keys(), len(a.Shape)), Attributes: string(attributes.JSON()), Order: string(rune(a.Order))}
}

// differs compares meanings: attributes as JSON values, other fields as text.
func (m meaning) differs(want meaning) string {
	if err := sameJSON(m.Attributes, want.Attributes); err != nil {
		return "attributes: " + err.Error()
	}
	m.Attributes = want.Attributes
	if reflect.DeepEqual(m, want) {
		return ""
	}
	got, _ := json.Marshal(m)
	wanted, _ := json.Marshal(want)
	return fmt.Sprintf("means\n%s, not\n%s", got, wanted)
}

func sameJSON(a, b string) error {
	python := strings.NewReplacer("-Infinity", `"-Infinity"`, "Infinity", `"Infinity"`, "NaN", `"NaN"`)
	decode := func(text string) (v any, err error) {
		err = json.Unmarshal([]byte(python.Replace(text)), &v)
		return v, err
	}
	x, err := decode(a)
	if err != nil {
		return err
	}
	y, err := decode(b)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(x, y) {
		return fmt.Errorf("%s is not %s", a, b)
	}
	return nil
}

// lines returns the lines of a golden file as values.
func lines(t testing.TB, name string) []value {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var list []value
	for line := range bytes.Lines(text) {
		v, err := parseValue(line)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

func mustText(t testing.TB, v value) string {
	t.Helper()
	s, err := v.readText()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGoldenDocuments(t *testing.T) {
	for _, line := range lines(t, "documents.jsonl") {
		t.Run(mustText(t, line.member("name")), func(t *testing.T) {
			switch mustText(t, line.member("kind")) {
			case "v3.array":
				goldenArray(t, line)
			case "v2.array":
				goldenV2Array(t, line)
			case "zarr.json":
				n, err := ParseNode([]byte(mustText(t, line.member("text"))))
				goldenText(t, line, err, n.write)
			case ".zarray":
				a, err := ParseV2Array([]byte(mustText(t, line.member("text"))))
				goldenText(t, line, err, func(w *writer) error { return a.write(w) })
			case ".zattrs":
				a, err := ParseAttributes([]byte(mustText(t, line.member("text"))))
				goldenText(t, line, err, func(w *writer) error { a.write(w); return nil })
			case ".zgroup":
				err := CheckV2Group([]byte(mustText(t, line.member("text"))))
				if want := mustText(t, line.member("text")); strings.Count(want, ":") == 1 {
					goldenText(t, line, err, func(w *writer) error { writeV2Group(w); return nil })
				}
			case ".zmetadata":
				goldenConsolidated(t, mustText(t, line.member("text")))
			default:
				t.Fatal("a case of an unknown kind")
			}
		})
	}
}

func goldenArray(t *testing.T, line value) {
	doc := line.member("doc").raw
	a, err := ParseArray(doc)
	if err != nil {
		t.Fatal(err)
	}
	compareMeaning(t, meaningOf(t, a), line.member("means").raw)
	got, err := a.Encode(Compact)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(doc) {
		t.Errorf("written as\n%s, not\n%s", got, doc)
	}
}

func goldenV2Array(t *testing.T, line value) {
	doc := line.member("doc").raw
	a, err := ParseV2Array(doc)
	if err != nil {
		t.Fatal(err)
	}
	m := meaningOfV2(t, a, Attributes{})
	m.Attributes = mustText(t, line.member("means").member("attributes"))
	compareMeaning(t, m, line.member("means").raw)
	got, err := a.Encode(Compact)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(doc) {
		t.Errorf("written as\n%s, not\n%s", got, doc)
	}
}

func compareMeaning(t *testing.T, got meaning, want []byte) {
	t.Helper()
	var wanted meaning
	if err := json.Unmarshal(want, &wanted); err != nil {
		t.Fatal(err)
	}
	if d := got.differs(wanted); d != "" {
		t.Error(d)
	}
}

// goldenText compares a document that zarr-python stored indented with the written one.
func goldenText(t *testing.T, line value, err error, write func(*writer) error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{}
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if want := mustText(t, line.member("text")); string(w.out) != want {
		t.Errorf("written as\n%s, not\n%s", w.out, want)
	}
}

// goldenConsolidated compares documents in any order: zarr-python puts attributes first.
func goldenConsolidated(t *testing.T, text string) {
	c, err := ParseV2Consolidated([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Encode(Indented)
	if err != nil {
		t.Fatal(err)
	}
	// zarr-python leaves a consolidated_metadata in the .zgroup of a member. Readers of
	// format 2 ignore it.
	text = strings.ReplaceAll(text, `, "consolidated_metadata": {"metadata": {}, "must_understand": false, "kind": "inline"}`, "")
	if err := sameJSON(string(got), text); err != nil {
		t.Error(err)
	}
}

func TestGoldenFills(t *testing.T) {
	for i, line := range lines(t, "fills.jsonl") {
		t.Run(fmt.Sprintf("%d %s", i, abbreviate(line.member("data_type").raw)), func(t *testing.T) {
			wanted := mustText(t, line.member("type"))
			fills := slices.Collect(func(yield func(value) bool) {
				for _, pair := range line.member("fills").elements() {
					yield(pair)
				}
			})
			if len(fills) == 0 {
				t.Fatal("no fill values")
			}
			for _, pair := range fills {
				parts, _ := pair.readList("")
				if string(line.member("format").raw) == "3" {
					goldenFill(t, line, wanted, parts)
				} else {
					goldenV2Fill(t, line, wanted, parts)
				}
			}
		})
	}
}

func goldenFill(t *testing.T, line value, wanted string, pair []value) {
	d, err := ParseDataType(line.member("data_type").raw)
	if err != nil {
		t.Fatal(err)
	}
	if got := typeText(d.Type()); got != wanted {
		t.Errorf("type %s, not %s", got, wanted)
	}
	canonical, err := DataTypeOf(d.Type())
	if err != nil || string(canonical.JSON()) != string(line.member("data_type").raw) {
		t.Errorf("the type is written %s (%v)", canonical.JSON(), err)
	}
	element, err := d.ParseFill(pair[0].raw)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(element); got != mustText(t, pair[1]) {
		t.Errorf("%s is %s, not %s", pair[0].raw, got, pair[1].raw)
	}
	written, err := d.FillJSON(element)
	if err != nil || string(written) != string(pair[0].raw) {
		t.Errorf("written as %s (%v), not %s", written, err, pair[0].raw)
	}
}

func goldenV2Fill(t *testing.T, line value, wanted string, pair []value) {
	doc := fmt.Sprintf(`{"shape":[4],"chunks":[2],"dtype":%s,"fill_value":%s,"order":"C","filters":%s,"dimension_separator":".","compressor":null,"zarr_format":2}`,
		line.member("data_type").raw, pair[0].raw, line.member("filters").raw)
	a, err := ParseV2Array([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if got := typeText(a.DataType.Type()); got != wanted {
		t.Errorf("type %s, not %s", got, wanted)
	}
	if got := hex.EncodeToString(a.Fill); got != mustText(t, pair[1]) {
		t.Errorf("%s is %s, not %s", pair[0].raw, got, pair[1].raw)
	}
	written, err := a.Encode(Compact)
	if err != nil || string(written) != doc {
		t.Errorf("written as %s (%v), not %s", written, err, doc)
	}
	if order := a.DataType.Order(); order != MixedOrder {
		again, err := V2DataTypeOf(a.DataType.Type(), order)
		if err != nil || string(again.JSON()) != string(line.member("data_type").raw) {
			t.Errorf("the type is written %s (%v), not %s", again.JSON(), err, line.member("data_type").raw)
		}
	}
}

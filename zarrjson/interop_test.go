package zarrjson

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/fixtures/venv"
	"varve/grid"
)

// interopCase is a line of cases.jsonl, which check_documents.py reads and writes.
type interopCase struct {
	Path    string             `json:"path"`
	Format  int                `json:"format"`
	Means   meaning            `json:"means"`
	Mask    string             `json:"mask,omitempty"`    // hexadecimal of what xarray masks
	Group   []string           `json:"group,omitempty"`   // members of a consolidated group
	Members map[string]meaning `json:"members,omitempty"` // of those, the arrays
	lossy   bool               // zarr-python cannot save what it read
}

// python runs check_documents.py, or skips the test.
func python(t *testing.T, args ...string) {
	t.Helper()
	venv.Run(t, "zarr-python", append([]string{"testdata/check_documents.py"}, args...)...)
}

// interopFolder is a folder with documents and their cases, which describe the contents.
type interopFolder struct {
	testing.TB
	dir   string
	cases []interopCase
}

func (f *interopFolder) write(name string, doc []byte, err error) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, doc, 0o644)
	}
	if err != nil {
		f.Fatalf("%s: %v", name, err)
	}
}

func (f *interopFolder) array(a *Array) *interopCase {
	f.Helper()
	c := interopCase{Path: strconv.Itoa(len(f.cases)), Format: 3, Means: meaningOf(f, a)}
	doc, err := a.Encode(Layout(len(f.cases) % 2))
	f.write(c.Path+"/zarr.json", doc, err)
	f.cases = append(f.cases, c)
	return &f.cases[len(f.cases)-1]
}

func (f *interopFolder) v2Array(a *V2Array, attributes Attributes) {
	f.Helper()
	c := interopCase{Path: strconv.Itoa(len(f.cases)), Format: 2, Means: meaningOfV2(f, a, attributes)}
	doc, err := a.Encode(Layout(len(f.cases) % 2))
	f.write(c.Path+"/.zarray", doc, err)
	f.write(c.Path+"/.zattrs", attributes.JSON(), nil)
	f.cases = append(f.cases, c)
}

// finish writes the cases to cases.jsonl.
func (f *interopFolder) finish() {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	for _, c := range f.cases {
		if err := e.Encode(c); err != nil {
			f.Fatal(err)
		}
	}
	f.write("cases.jsonl", out.Bytes(), nil)
}

func (f *interopFolder) read() {
	f.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "cases.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var c interopCase
		if err := json.Unmarshal(line, &c); err != nil {
			f.Fatal(err)
		}
		f.cases = append(f.cases, c)
	}
}

// TestInteropDocumentsWritten writes documents of every kind, lets zarr-python open,
// describe and save them, and reads the saved documents.
func TestInteropDocumentsWritten(t *testing.T) {
	venv.Python(t, "zarr-python")
	seed := soak.Seed(t)
	f := &interopFolder{TB: t, dir: t.TempDir()}
	f.fills()
	f.payloads()
	f.grids(rand.New(rand.NewPCG(seed, 2)))
	f.variety()
	f.v2Types()
	f.hierarchies()
	f.masks()
	f.finish()
	python(t, "check", f.dir)
	for _, c := range f.cases {
		if c.Group == nil && !c.lossy {
			f.compareSaved(c)
		}
	}
	t.Logf("%d documents", len(f.cases))
}

// compareSaved reads the document that zarr-python saved and compares it.
func (f *interopFolder) compareSaved(c interopCase) {
	f.Helper()
	var got meaning
	if c.Format == 3 {
		doc, err := os.ReadFile(filepath.Join(f.dir, c.Path, "savedzarr.json"))
		if err != nil {
			f.Fatal(err)
		}
		a, err := ParseArray(doc)
		if err != nil {
			f.Fatalf("%v\n%s", err, doc)
		}
		got = meaningOf(f, a)
		if again, err := a.Encode(Indented); err != nil || string(again) != string(doc) {
			f.Errorf("%s: written as\n%s (%v), not\n%s", c.Path, again, err, doc)
		}
	} else {
		doc, err := os.ReadFile(filepath.Join(f.dir, c.Path, "saved.zarray"))
		if err != nil {
			f.Fatal(err)
		}
		a, err := ParseV2Array(doc)
		if err != nil {
			f.Fatalf("%v\n%s", err, doc)
		}
		attributes, err := os.ReadFile(filepath.Join(f.dir, c.Path, "saved.zattrs"))
		if err != nil {
			f.Fatal(err)
		}
		got = meaningOfV2(f, a, mustAttributes(f, string(attributes)))
	}
	if d := got.differs(c.Means); d != "" {
		f.Errorf("%s: saved: %s", c.Path, d)
	}
}

// plainArray is the plain document with a data type and a fill value.
func (f *interopFolder) plainArray(d DataType, element []byte) *Array {
	f.Helper()
	a, err := ParseArray([]byte(with()))
	if err != nil {
		f.Fatal(err)
	}
	a.DataType, a.Fill = d, element
	switch {
	case d.Type().Kind == codec.String:
		a.Codecs = []codec.Spec{{Name: "vlen-utf8"}}
	case d.Type().Kind == codec.Bytes:
		a.Codecs = []codec.Spec{{Name: "vlen-bytes"}}
	case d.Type().Size == 1, d.Type().Kind == codec.FixedBytes, d.Type().Kind == codec.Raw:
		a.Codecs = []codec.Spec{{Name: "bytes"}}
	}
	return a
}

// fills writes every data type with every fill value of the goldens, from the elements.
func (f *interopFolder) fills() {
	for _, line := range lines(f, "fills.jsonl") {
		if string(line.member("format").raw) != "3" {
			continue
		}
		d, err := ParseDataType(line.member("data_type").raw)
		if err != nil {
			f.Fatal(err)
		}
		for _, pair := range line.member("fills").elements() {
			parts, _ := pair.readList("")
			element, _ := hex.DecodeString(mustText(f, parts[1]))
			f.array(f.plainArray(d, element))
		}
	}
}

// payloads writes fill values that zarr-python reads exactly but never writes itself.
func (f *interopFolder) payloads() {
	for _, c := range [][2]string{
		{`"float32"`, "0100c07f"}, {`"float32"`, "ffffffff"}, {`"float64"`, "010000000000f8ff"}, {`"complex64"`, "0100c07f000080ff"},
		{`{"name":"structured","configuration":{"fields":[["a","int32"],["b","float32"]]}}`, "010000000100c07f"},
	} {
		d, err := ParseDataType([]byte(c[0]))
		if err != nil {
			f.Fatal(err)
		}
		element, _ := hex.DecodeString(c[1])
		f.array(f.plainArray(d, element)).lossy = true
	}
}

// grids writes random grids in every form.
func (f *interopFolder) grids(random *rand.Rand) {
	for range 150 {
		rank := random.IntN(4)
		c := ChunkGrid{Name: Rectilinear, Sizes: []grid.Sizes{}}
		shape := []int64{}
		for range rank {
			size, extent := randomAxis(random)
			c.Sizes, shape = append(c.Sizes, size), append(shape, extent)
		}
		a := f.plainArray(DataType{}, nil)
		a.DataType, a.Fill = f.float32(), nil
		a.Shape, a.ChunkGrid = shape, c
		if !slices.ContainsFunc(c.Sizes, func(s grid.Sizes) bool { _, bare := s.RegularSize(); return !bare }) && random.IntN(2) == 0 {
			a.ChunkGrid.Name = Regular
		}
		if a.Fill == nil {
			a.Fill = a.DataType.DefaultFill()
		}
		f.array(a)
	}
}

func randomAxis(random *rand.Rand) (grid.Sizes, int64) {
	if random.IntN(3) == 0 {
		return grid.Every(1 + random.Int64N(20)), random.Int64N(60)
	}
	var runs []grid.Run
	sum := int64(0)
	for range 1 + random.IntN(4) {
		run := grid.Times(1+random.Int64N(9), 1+random.Int64N(4))
		runs = appendRun(runs, run)
		sum += run.Data * run.Count
	}
	return grid.RunLength(runs...), sum - random.Int64N(min(sum, 12))
}

func (f *interopFolder) float32() DataType {
	d, err := DataTypeOf(codec.Type{Kind: codec.Float, Size: 4})
	if err != nil {
		f.Fatal(err)
	}
	return d
}

// variety writes the other fields in every form, also forms that zarr-python drops.
func (f *interopFolder) variety() {
	for _, doc := range []string{
		with("dimension_names", `["y",null]`),
		with("dimension_names", `[null,null]`),
		with("dimension_names", `["","é€𝄞"]`),
		with("attributes", `{"b":1.50e0,"a":[NaN,Infinity,{"é":"\ud834\udd1e\u0000"}],"n":123456789012345678901234567890}`),
		with("acme", `{"must_understand":false,"x":[1.0]}`),
		with("chunk_key_encoding", `{"name":"default","configuration":{"separator":"."}}`),
		with("chunk_key_encoding", `{"name":"v2","configuration":{"separator":"."}}`),
		with("chunk_key_encoding", `{"name":"v2","configuration":{"separator":"/"}}`),
		with("codecs", `[{"name":"transpose","configuration":{"order":[1,0]}},`+littleBytes+`,{"name":"gzip","configuration":{"level":1}},{"name":"crc32c"}]`),
		with("codecs", `[{"name":"sharding_indexed","configuration":{"chunk_shape":[1,5],"codecs":[`+littleBytes+`],"index_codecs":[`+littleBytes+`,{"name":"crc32c"}],"index_location":"start"}}]`),
		with("codecs", `[`+littleBytes+`,{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.zlib","configuration":{"level":4}}]`),
	} {
		a, err := ParseArray([]byte(doc))
		if err != nil {
			f.Fatal(err)
		}
		f.array(a)
	}
	a, err := ParseArray([]byte(rectilinear("[15]", "[[5,10]]", `,"encoded_chunk_shapes":[10]`)))
	if err != nil {
		f.Fatal(err)
	}
	f.array(a).lossy = true
}

// v2Types writes every data type of format 2 with every fill value, and null.
func (f *interopFolder) v2Types() {
	for i, line := range lines(f, "fills.jsonl") {
		if string(line.member("format").raw) != "2" {
			continue
		}
		a, err := ParseV2Array([]byte(withV2("dtype", string(line.member("data_type").raw), "filters", string(line.member("filters").raw), "fill_value", "null")))
		if err != nil {
			f.Fatal(err)
		}
		a.Order = []ElementOrder{RowMajor, ColumnMajor}[i%2]
		a.Separator = "./"[i/2%2]
		f.v2Array(a, mustAttributes(f, `{"a": [1.0, NaN]}`))
		for _, pair := range line.member("fills").elements() {
			parts, _ := pair.readList("")
			a.Fill, _ = hex.DecodeString(mustText(f, parts[1]))
			f.v2Array(a, Attributes{})
		}
	}
}

// hierarchies writes a consolidated group in both formats.
func (f *interopFolder) hierarchies() {
	array := func(doc string) Node {
		a, err := ParseArray([]byte(doc))
		if err != nil {
			f.Fatal(err)
		}
		return Node{Array: a}
	}
	empty := func() Node { return Node{Group: &Group{Consolidated: &Consolidated{}}} }
	g := &Group{Attributes: mustAttributes(f, `{"title":"é"}`), Consolidated: &Consolidated{Members: []Member{
		{"x", array(with("dimension_names", `["y","x"]`, "attributes", `{"units":"K"}`))},
		{"g", empty()},
		{"g/h", empty()},
		{"g/h/z", array(with("chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[3,4]}}`))},
	}}}
	c := interopCase{Path: "group 3", Format: 3, Group: []string{"g", "g/h", "g/h/z", "x"}, Members: map[string]meaning{}}
	doc, err := g.Encode(Indented)
	f.write(c.Path+"/zarr.json", doc, err)
	for _, m := range g.Consolidated.Members {
		if m.Array != nil {
			c.Members[m.Path] = meaningOf(f, m.Array)
		}
	}
	f.cases = append(f.cases, c)

	v2, err := g.ToV2(V2Options{Separator: '/'})
	if err != nil {
		f.Fatal(err)
	}
	c = interopCase{Path: "group 2", Format: 2, Group: c.Group, Members: map[string]meaning{}}
	doc, err = v2.Encode(Compact)
	f.write(c.Path+"/.zmetadata", doc, err)
	f.write(c.Path+"/.zgroup", V2Group(Indented), nil)
	for _, n := range v2.Nodes {
		if n.Array != nil {
			c.Members[n.Path] = meaningOfV2(f, n.Array, n.Attributes)
		}
	}
	f.cases = append(f.cases, c)
}

// masks writes arrays with a mask, which xarray has to find.
func (f *interopFolder) masks() {
	for _, c := range [][2]string{
		{`">f4"`, `"NaN"`}, {`"<f8"`, "-9.96921e+36"}, {`"<f2"`, `"-Infinity"`}, {`"<i2"`, "-999"}, {`">u8"`, "18446744073709551615"},
		{`"|b1"`, "true"}, {`"<c8"`, `["NaN",1.5]`},
	} {
		v2, err := ParseV2Array([]byte(withV2("dtype", c[0], "fill_value", c[1])))
		if err != nil {
			f.Fatal(err)
		}
		a, err := v2.ToV3(Attributes{}, MaskFill)
		if err != nil {
			f.Fatal(err)
		}
		f.array(a).Mask = hex.EncodeToString(v2.Fill)
	}
}

// TestInteropDocumentsRead reads random documents of zarr-python and checks that they are
// written as the same bytes.
func TestInteropDocumentsRead(t *testing.T) {
	f := &interopFolder{TB: t, dir: t.TempDir()}
	seed := soak.Seed(t)
	t.Logf("seed %d", seed)
	python(t, "make", f.dir, strconv.FormatUint(seed, 10), "300")
	f.read()
	for _, c := range f.cases {
		doc, err := os.ReadFile(filepath.Join(f.dir, c.Path, "zarr.json"))
		if err != nil {
			t.Fatal(err)
		}
		a, err := ParseArray(doc)
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if d := meaningOf(t, a).differs(c.Means); d != "" {
			t.Errorf("%s: %s", c.Path, d)
		}
		again, err := a.Encode(Indented)
		if err != nil || string(again) != string(doc) {
			t.Errorf("%s: written as\n%s (%v), not\n%s", c.Path, again, err, doc)
		}
	}
	if len(f.cases) != 300 {
		t.Errorf("%d documents", len(f.cases))
	}
}

// TestInteropTranslated lets zarr-python write data in one format, adds a document of the
// other format, and lets zarr-python compare the data that it reads with each.
func TestInteropTranslated(t *testing.T) {
	f := &interopFolder{TB: t, dir: t.TempDir()}
	python(t, "fill", f.dir)
	f.read()
	for _, c := range f.cases {
		if err := f.translate(c); err != nil {
			t.Errorf("%s: %v", c.Path, err)
		}
	}
	python(t, "same", f.dir)
}

func (f *interopFolder) translate(c interopCase) error {
	name := map[int]string{2: ".zarray", 3: "zarr.json"}[c.Format]
	doc, err := os.ReadFile(filepath.Join(f.dir, c.Path, name))
	if err != nil {
		return err
	}
	if c.Format == 2 {
		v2, err := ParseV2Array(doc)
		if err != nil {
			return err
		}
		a, err := v2.ToV3(Attributes{}, KeepFill)
		if err != nil {
			return err
		}
		doc, err = a.Encode(Indented)
		f.write(c.Path+"/zarr.json", doc, err)
		return nil
	}
	a, err := ParseArray(doc)
	if err != nil {
		return err
	}
	v2, attributes, err := a.ToV2(V2Options{})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, doc)
	}
	doc, err = v2.Encode(Indented)
	f.write(c.Path+"/.zarray", doc, err)
	f.write(c.Path+"/.zattrs", attributes.JSON(), nil)
	return nil
}

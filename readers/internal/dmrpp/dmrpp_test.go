package dmrpp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/readers"
	"varve/readers/internal/hdf5"
	"varve/readers/readertest"
	"varve/readers/source"
)

const sample = "../../../fixtures/dmrpp/sample.h5"

var ctx = context.Background()

func read(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func memory(name string, data []byte) *source.Source {
	return source.New(name, &readertest.Memory{Data: data})
}

func open(t testing.TB, name, text string) *readers.Dataset {
	d, err := Format{}.Open(ctx, memory(name, []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// variables returns the variables of all groups.
func variables(d *readers.Dataset) map[string]*readers.Variable {
	out := map[string]*readers.Variable{}
	d.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			out[v.Path] = v
		}
		return true
	})
	return out
}

// TestAgainstHDF5 compares datasets from sidecars with those from the files themselves.
func TestAgainstHDF5(t *testing.T) {
	side, err := Format{}.Open(ctx, memory(sample+".dmrpp", read(t, sample+".dmrpp")))
	if err != nil || len(side.Problems) > 0 {
		t.Fatal(err, side.Problems)
	}
	file, err := hdf5.Format{}.Open(ctx, memory(sample, read(t, sample)))
	if err != nil || len(file.Problems) > 0 {
		t.Fatal(err, file.Problems)
	}
	got, want := variables(side), variables(file)
	if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Fatalf("the sidecar lists %v, the file %v", a, b)
	}
	for path, w := range want {
		compare(t, got[path], w)
		compareAttributes(t, path, got[path].Attributes, w.Attributes)
	}
	compareAttributes(t, "/", side.Root.Attributes, file.Root.Attributes)
}

func compare(t *testing.T, got, want *readers.Variable) {
	t.Helper()
	path := want.Path
	gotType, _ := got.Type.Element()
	wantType, _ := want.Type.Element()
	if !gotType.Equal(wantType) || got.Type.Order != want.Type.Order && got.Type.Size > 1 {
		t.Errorf("%s: type %v, want %v", path, got.Type, want.Type)
	}
	if !slices.Equal(got.Shape, want.Shape) {
		t.Errorf("%s: shape %v, want %v", path, got.Shape, want.Shape)
	}
	for i, d := range want.Dims {
		if got.Dims[i].Anonymous != d.Anonymous || !d.Anonymous && got.Dims[i].Path != d.Path {
			t.Errorf("%s: dimension %d is %+v, want %+v", path, i, got.Dims[i], d)
		}
	}
	if want.Fill.State == readers.FillUser && !bytes.Equal(got.Fill.Value, want.Fill.Value) {
		t.Errorf("%s: fill %x, want %x", path, got.Fill.Value, want.Fill.Value)
	}
	compareStorage(t, path, &got.Storage, &want.Storage)
	if got.Storage.Layout == readers.Inline || got.Storage.Layout == readers.Unallocated {
		compareValues(t, got, want)
	}
}

func compareStorage(t *testing.T, path string, got, want *readers.Storage) {
	t.Helper()
	if want.Texts != nil { // the sidecar contains copies of strings
		return
	}
	if got.Layout != want.Layout || got.Offset != want.Offset || !slices.Equal(got.ChunkShape, want.ChunkShape) || got.Plain != want.Plain {
		t.Errorf("%s: storage %+v, want %+v", path, got, want)
	}
	inFile := want.Layout == readers.Chunked || want.Layout == readers.Contiguous
	if inFile && got.Source != sample {
		t.Errorf("%s: source %q", path, got.Source)
	}
	if a, b := refs(t, got), refs(t, want); a != b {
		t.Errorf("%s: refs\n%s\nwant\n%s", path, a, b)
	}
	for _, mask := range []uint32{0, 1, 2, 3} {
		a, err := got.Pipeline.Specs(mask)
		b, err2 := want.Pipeline.Specs(mask)
		if err != nil || err2 != nil || chain(a) != chain(b) {
			t.Errorf("%s: mask %d: pipeline %s, %v; want %s, %v", path, mask, chain(a), err, chain(b), err2)
		}
	}
}

// chain returns codecs as text.
func chain(specs []codec.Spec) string {
	var b strings.Builder
	for _, s := range specs {
		fmt.Fprintf(&b, "%s%s ", s.Name, s.Config)
	}
	return b.String()
}

func refs(t *testing.T, s *readers.Storage) string {
	t.Helper()
	var lines []string
	for r, err := range s.Refs(ctx) {
		if err != nil {
			t.Error(err)
			break
		}
		lines = append(lines, fmt.Sprintf("%v %d %d %d %v", r.Index, r.Offset, r.Size, r.Mask, r.Other))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func compareValues(t *testing.T, got, want *readers.Variable) {
	t.Helper()
	a, err := got.ReadAll(ctx, 1<<20)
	b, err2 := want.ReadAll(ctx, 1<<20)
	if err != nil || err2 != nil || !bytes.Equal(a.Data, b.Data) || !slices.EqualFunc(a.Texts, b.Texts, bytes.Equal) {
		t.Errorf("%s: values %x %q, %v; want %x %q, %v", want.Path, a.Data, a.Texts, err, b.Data, b.Texts, err2)
	}
}

// compareAttributes ignores the shape, because a sidecar does not distinguish a scalar from a list
// of one.
func compareAttributes(t *testing.T, path string, got, want []readers.Attribute) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d attributes, want %d", path, len(got), len(want))
	}
	for _, w := range want {
		g := readers.Lookup(got, w.Name)
		if g == nil || g.Err != nil || !bytes.Equal(g.Data, w.Data) || !slices.EqualFunc(g.Texts, w.Texts, bytes.Equal) {
			t.Errorf("%s: attribute %s: got %+v, want %+v", path, w.Name, g, w)
		}
	}
}

func TestConformance(t *testing.T) {
	readertest.Run(t, Info(), readertest.Sample{Name: "sample.h5.dmrpp", Data: read(t, sample+".dmrpp"), Whole: wholeLengths(t)})
}

// wholeLengths returns the lengths at which only blanks after the document are missing.
func wholeLengths(t *testing.T) []int {
	data := read(t, sample+".dmrpp")
	var list []int
	for n := len(bytes.TrimRight(data, "\n")); n < len(data); n++ {
		list = append(list, n)
	}
	return list
}

const head = `<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" name="a.h5" dmrpp:version="3.20"`

func doc(attributes, content string) string { return head + attributes + ">" + content + "</Dataset>" }

// one returns a document with one variable.
func one(content string) string { return doc("", `<Int16 name="v">`+content+`</Int16>`) }

func TestDialects(t *testing.T) {
	old := strings.NewReplacer(` xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#"`, ` xmlns:h4="http://www.hdfgroup.org/HDF4/XML/schema/HDF4map/1.0.1"`,
		` dmrpp:version="3.20"`, ` xml:base="data/other.h5"`, "dmrpp:chunk ", "h4:byteStream ", "dmrpp:", "h4:", "deflateLevel", "deflate_level").Replace(
		one(`<Dim size="4"/><dmrpp:chunks deflateLevel="9" compressionType="deflate shuffle"><dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>` +
			`<dmrpp:chunk nBytes="3" offset="5" chunkPositionInArray="[2]" md5="x"/></dmrpp:chunks>`))
	v := variables(open(t, "dir/x.xml", old))["/v"]
	if v.Storage.Source != "dir/other.h5" || refs(t, &v.Storage) != "[1] 5 3 0 <nil>" {
		t.Errorf("source %s, refs %s", v.Storage.Source, refs(t, &v.Storage))
	}
	specs, err := v.Storage.Pipeline.Specs(0)
	if err != nil || len(specs) != 3 || specs[1].Name != "numcodecs.shuffle" || string(specs[2].Config) != `{"level":9}` {
		t.Errorf("pipeline %s, %v", chain(specs), err)
	}
	said := strings.NewReplacer(` xml:base="data/other.h5"`, ` version="3"`).Replace(old)
	specs, err = variables(open(t, "dir/x.xml", said))["/v"].Storage.Pipeline.Specs(0)
	if err != nil || specs[1].Name != "numcodecs.zlib" {
		t.Errorf("the order of filters is not kept: %s, %v", chain(specs), err)
	}
}

func TestSources(t *testing.T) {
	for _, c := range []struct{ sidecar, href, want string }{
		{"https://h/d/a.h5.dmrpp", "OPeNDAP_DMRpp_DATA_ACCESS_URL", "https://h/d/a.h5"},
		{"/d/a.h5.dmrpp", "s3://b/a.h5", "s3://b/a.h5"},
		{"/d/a.h5.dmrpp", "data/dmrpp/a.h5", "/d/a.h5"},
		{"/d/x.xml", "data/dmrpp/b.h5", "/d/b.h5"},
		{"x.xml", "", "a.h5"},
		{"/d/x.zip|zip:x.xml", "data/dmrpp/b.h5", "/d/x.zip|zip:b.h5"},
		{"/d/x.zip|zip:m/x.xml", "data/dmrpp/b.h5", "/d/x.zip|zip:m/b.h5"},
		{"/d/x.zip|zip:m/a.h5.dmrpp", "data/dmrpp/b.h5", "/d/x.zip|zip:m/a.h5"},
		{"/d/x.xml.gz|gzip:", "data/dmrpp/b.h5", "/d/b.h5"},
		{"x.xml", "OPeNDAP_DMRpp_DATA_ACCESS_URL", "a.h5"},
	} {
		text := doc(` dmrpp:href="`+c.href+`"`, `<Byte name="v"><dmrpp:chunk offset="1" nBytes="1"/></Byte>`)
		if v := variables(open(t, c.sidecar, text))["/v"]; v.Storage.Source != c.want || v.Storage.Offset != 1 {
			t.Errorf("%s of %s: got %s at %d, want %s", c.href, c.sidecar, v.Storage.Source, v.Storage.Offset, c.want)
		}
	}
}

func TestChunksInManySources(t *testing.T) {
	text := one(`<Dim size="6"/><dmrpp:chunks><dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>
		<dmrpp:chunk offset="1" nBytes="4" chunkPositionInArray="[0]" href="https://h/b.h5"/>
		<dmrpp:chunk offset="2" nBytes="4" chunkPositionInArray="[2]"/>
		<dmrpp:chunk offset="3" nBytes="4" chunkPositionInArray="[4]" href="https://h/c.h5"/>
		<dmrpp:chunk offset="3" nBytes="4" chunkPositionInArray="[6]"/></dmrpp:chunks>`)
	v := variables(open(t, "a.h5.dmrpp", text))["/v"]
	want := "[0] 1 4 0 https://h/b.h5\n[1] 2 4 0 <nil>\n[2] 3 4 0 https://h/c.h5"
	if got := refs(t, &v.Storage); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestXML(t *testing.T) {
	text := "\xef\xbb\xbf<?xml version='1.0'?>\n<!-- <Dataset> -->\n" + doc("", `<!-- > -->
		<Attribute name='quot"ed' type="String"><Value>a&#x20AC;&amp;&#33;</Value></Attribute>
		<Attribute name="latin" type="String"><Value>`+"caf\xe9"+`</Value></Attribute>
		<Attribute name="utf8" type="String"><Value>café</Value></Attribute>
		<Attribute name="cdata" type="String"><Value><![CDATA[<a> & ]]]>b</Value></Attribute>
		<Attribute name="a>b" type="Float32"><Value>NaN</Value><Value value="-1.5"/></Attribute>
		<Attribute name="byte" type="Byte"><Value>-1</Value></Attribute>
		<Attribute name="bad" type="Int16"><Value>70000</Value></Attribute>
		<Attribute name="none" type="String"/>
		<Attribute name="HDF5_GLOBAL" type="Container"><Attribute name="in" type="String"><Value/></Attribute></Attribute>
		<Attribute name="C" type="Container"><Attribute name="in" type="String"><Value>x</Value></Attribute></Attribute>
		<Attribute name="build_dmrpp_metadata" type="Container"><Attribute name="bes" type="String"><Value>x</Value></Attribute></Attribute>`)
	got := map[string]string{}
	for _, a := range open(t, "x.dmrpp", text).Root.Attributes {
		got[a.Name] = fmt.Sprintf("%q %x %v", a.Texts, a.Data, a.Shape)
		if a.Err != nil {
			got[a.Name] = a.Err.Error()
		}
	}
	want := map[string]string{
		`quot"ed`: `["a€&!"]  []`, "latin": `["café"]  []`, "utf8": `["café"]  []`, "cdata": `["<a> & ]b"]  []`,
		"a>b": `[] 0000c07f0000c0bf [2]`, "byte": "[] ff [1]", "bad": `"70000" is not a value of type <i2`, "none": "[]  [0]", "in": `[""]  []`, "C.in": `["x"]  []`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestLongTexts reads references and strings that cross the borders of the scanner's buffer.
func TestLongTexts(t *testing.T) {
	for shift := range 24 {
		long := strings.Repeat("x", readSize-1000+shift)
		text := doc("", `<Attribute name="a" type="String"><Value>`+long+strings.Repeat("&amp;", 400)+`</Value></Attribute><Byte name="v"/>`)
		d := open(t, "x.dmrpp", text)
		if got := string(d.Root.Attributes[0].Texts[0]); got != long+strings.Repeat("&", 400) || len(d.Root.Variables) != 1 {
			t.Fatalf("shift %d: a text of %d bytes, %d variables", shift, len(got), len(d.Root.Variables))
		}
	}
}

func TestInline(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"missingdata", `<Int16 name="v"><Dim size="3"/><dmrpp:missingdata>eJxjZGBiYGYAAAAaAAc=</dmrpp:missingdata></Int16>`, "010002000300 []"},
		{"one missing", `<Byte name="v"><dmrpp:missingdata> KgA= </dmrpp:missingdata></Byte>`, "2a []"},
		{"compact text", `<String name="v"><dmrpp:chunks fillValue="unsupported-string"/><dmrpp:compact>aGVsbG8A</dmrpp:compact></String>`, ` ["hello"]`},
		{"fixed texts", `<String name="v"><Dim size="2"/><dmrpp:FixedLengthStringArray string_length="3" pad="space_pad"/><dmrpp:compact>YSAgYmIg</dmrpp:compact></String>`, `612020626220 ["a" "bb"]`},
		{"vlsa", `<String name="v"><Dim size="3"/><dmrpp:vlsa><v>a</v><v c="2"></v></dmrpp:vlsa></String>`, ` ["a" "" ""]`},
		{"fill", `<Int16 name="v"><Dim size="2"/><dmrpp:chunks fillValue="-2"/></Int16>`, "fefffeff []"},
		{"fill of texts", `<String name="v"><Dim size="2"/><dmrpp:chunks fillValue="aa"/><dmrpp:FixedLengthStringArray string_length="3" pad="null_term"/></String>`, ` ["aa" "aa"]`},
	} {
		d := open(t, "x.dmrpp", doc("", c.text))
		v := variables(d)["/v"]
		if v == nil {
			t.Errorf("%s: %v", c.name, d.Problems)
			continue
		}
		value, err := v.ReadAll(ctx, 1<<10)
		if got := fmt.Sprintf("%x %q", value.Data, value.Texts); got != c.want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
		if _, err := v.ReadAll(ctx, 0); err == nil {
			t.Errorf("%s: ReadAll exceeded its limit without an error", c.name)
		}
	}
}

// TestProblems reads documents whose variable cannot be listed.
func TestProblems(t *testing.T) {
	const chunks = `<dmrpp:chunks><dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>`
	for _, c := range []struct{ name, text, names string }{
		{"structure", doc("", `<Structure name="v"><Int16 name="a"/></Structure>`), "Structure"},
		{"no dimension", one(`<Dim name="/x"/>`), `"/x"`},
		{"no enumeration", doc("", `<Enum name="v" enum="/e"/>`), `"/e"`},
		{"rank", one(`<Dim size="4"/><Dim size="4"/>` + chunks + `</dmrpp:chunks>`), "[4 4]"},
		{"size", one(`<Dim size="4"/><dmrpp:chunk offset="1" nBytes="7"/>`), "7"},
		{"two chunks alone", one(`<Dim size="4"/><dmrpp:chunk offset="1" nBytes="8"/><dmrpp:chunk offset="1" nBytes="8"/>`), "chunkDimensionSizes"},
		{"shape", one(`<Dim size="4294967296"/><Dim size="4294967296"/>`), "2^62"},
		{"chunk shape", one(`<Dim size="1"/><Dim size="1"/><dmrpp:chunks><dmrpp:chunkDimensionSizes>4294967296 4294967296</dmrpp:chunkDimensionSizes></dmrpp:chunks>`), "2^62"},
		{"byte order", one(`<dmrpp:chunks byteOrder="ME"/>`), `byteOrder is "ME"`},
		{"fill", one(`<dmrpp:chunks fillValue="x"/>`), `"x"`},
		{"fill of texts", doc("", `<String name="v"><Dim size="2"/><dmrpp:chunks fillValue="aaaa"/><dmrpp:FixedLengthStringArray string_length="3"/></String>`), "aaaa"},
		{"base64", one(`<dmrpp:compact>!</dmrpp:compact>`), "base64"},
		{"too few bytes", one(`<dmrpp:compact>AAAA</dmrpp:compact>`), "3 bytes"},
		{"a bomb", one(`<Dim size="1000000"/><dmrpp:missingdata>eJxjZGBiYGYAAAAaAAc=</dmrpp:missingdata>`), "2000000"},
		{"deflated too long", one(`<Dim size="2"/><dmrpp:missingdata>eJxjZGBiYGYAAAAaAAc=</dmrpp:missingdata>`), "4 bytes"},
		{"many texts", doc("", `<String name="v"><Dim size="9000000000"/><dmrpp:vlsa><v c="9000000000">a</v></dmrpp:vlsa></String>`), ""},
		{"few texts", doc("", `<String name="v"><Dim size="2"/><dmrpp:vlsa><v>a</v></dmrpp:vlsa></String>`), "[2]"},
		{"string length", doc("", `<String name="v"><Dim size="2"/><dmrpp:FixedLengthStringArray string_length="0"/></String>`), "string_length"},
	} {
		d := open(t, "x.dmrpp", c.text)
		if len(d.Problems) != 1 || d.Problems[0].Path != "/v" || len(d.Root.Variables) != 0 {
			t.Errorf("%s: problems %v, %d variables", c.name, d.Problems, len(d.Root.Variables))
			continue
		}
		if err := d.Problems[0].Err; !strings.Contains(err.Error(), c.names) || !isDamage(err) {
			t.Errorf("%s: got %v, want an error that names %q", c.name, err, c.names)
		}
	}
}

func TestUndecodable(t *testing.T) {
	for _, c := range []struct{ text, names string }{
		{`<String name="v"><Dim size="2"/><dmrpp:chunks><dmrpp:chunk offset="1" nBytes="32"/></dmrpp:chunks></String>`, "string"},
		{`<Int16 name="v"><Dim size="2"/><dmrpp:chunks><dmrpp:block offset="1" nBytes="2"/><dmrpp:block offset="7" nBytes="2"/></dmrpp:chunks></Int16>`, "blocks"},
		{`<Int16 name="v"><Dim size="2"/><dmrpp:chunks compressionType="szip"><dmrpp:chunk offset="1" nBytes="2"/></dmrpp:chunks></Int16>`, `"szip"`},
		{`<Int16 name="v"><Dim size="2"/><dmrpp:chunks fillValue="unsupported-array"/></Int16>`, "unsupported-array"},
	} {
		v := variables(open(t, "x.dmrpp", doc("", c.text)))["/v"]
		if v == nil || !errors.Is(v.Storage.Undecodable, errors.ErrUnsupported) || !strings.Contains(v.Storage.Undecodable.Error(), c.names) {
			t.Errorf("%s: %+v", c.text, v)
		}
	}
}

// TestBroken reads documents that end early; the variables before the damage are listed.
func TestBroken(t *testing.T) {
	const good = `<Byte name="good"/>`
	for _, c := range []struct{ name, text, names string }{
		{"end", head + ">" + good + "<Byte name='v'>", "Byte"},
		{"tag", head + ">" + good + "<Byte name='v", "tag"},
		{"wrong end", doc("", good+"</Byte>"), "</Byte>"},
		{"reference", doc("", good+"&nbsp;"), "&nbsp;"},
		{"open reference", doc("", good+"& "), "&"},
		{"attribute", doc("", good+"<Byte name=v/>"), `name="value"`},
		{"document type", doc("", good+"<!DOCTYPE x>"), "DOCTYPE"},
		{"size", doc("", good+`<Dimension name="x" size="-1"/>`), "size"},
		{"chunk", doc("", good+`<Byte name="v"><dmrpp:chunk offset="1"/></Byte>`), "nBytes"},
		{"offset", doc("", good+`<Byte name="v"><dmrpp:chunk offset="99999999999999999999" nBytes="1"/></Byte>`), "offset"},
		{"depth", doc("", good+strings.Repeat("<Group name='g'>", 100)), "64"},
		{"group without name", doc("", good+"<Group>"), "name"},
	} {
		d := open(t, "x.dmrpp", c.text)
		if len(d.Problems) != 1 || len(d.Root.Variables) != 1 || !strings.Contains(d.Problems[0].Err.Error(), c.names) || !isDamage(d.Problems[0].Err) {
			t.Errorf("%s: %d variables, problems %v, want an error that names %q", c.name, len(d.Root.Variables), d.Problems, c.names)
		}
	}
}

func TestBadPositions(t *testing.T) {
	for _, position := range []string{"[1]", "[x]", "[0,0]", "[99999999999999999999]", "[-2]"} {
		text := one(`<Dim size="4"/><dmrpp:chunks><dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>` +
			`<dmrpp:chunk offset="1" nBytes="4" chunkPositionInArray="` + position + `"/></dmrpp:chunks>`)
		v := variables(open(t, "x.dmrpp", text))["/v"]
		for _, err := range v.Storage.Refs(ctx) {
			if !errors.Is(err, readers.ErrCorrupt) {
				t.Errorf("%s: got %v", position, err)
			}
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	text := doc("", strings.Repeat(`<Dimension name="x" size="1"/>`, maxMetadata/perObject+1))
	d := open(t, "x.dmrpp", text)
	if len(d.Problems) != 1 || !errors.Is(d.Problems[0].Err, errors.ErrUnsupported) {
		t.Errorf("problems %v", d.Problems)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(read(f, sample+".dmrpp"))
	f.Add([]byte(doc("", `<String name="v"><Dim size="3"/><dmrpp:vlsa><v s="3">eJxLTEwEAAJJASQ=</v><v c="2"></v></dmrpp:vlsa></String>`)))
	f.Add([]byte(doc("", `<Int16 name="v"><Dim size="3"/><dmrpp:missingdata>eJxjZGBiYGYAAAAaAAc=</dmrpp:missingdata></Int16>`)))
	f.Add([]byte("<!-- --><?x?>" + doc(" a='&#65;'", "<![CDATA[x]]>")))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := readertest.Describe(ctx, Format{}, memory("x.dmrpp", data))
		if d.Err != nil && !isDamage(d.Err) {
			t.Errorf("neither corrupt nor unsupported: %v", d.Err)
		}
	})
}

// bench returns a document with 100,000 chunks.
func bench() []byte {
	var b bytes.Buffer
	b.WriteString(head + `><Float32 name="v"><Dim size="100000"/><Dim size="10"/><dmrpp:chunks compressionType="shuffle deflate"><dmrpp:chunkDimensionSizes>1 10</dmrpp:chunkDimensionSizes>`)
	for i := range 100_000 {
		fmt.Fprintf(&b, "            <dmrpp:chunk offset=\"%d\" nBytes=\"33\" chunkPositionInArray=\"[%d,0]\"/>\n", 4096+33*i, i)
	}
	b.WriteString("</dmrpp:chunks></Float32></Dataset>")
	return b.Bytes()
}

func BenchmarkOpen(b *testing.B) {
	data := bench()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Open(ctx, memory("x.dmrpp", data)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRefs(b *testing.B) {
	data := bench()
	v := variables(open(b, "x.dmrpp", string(data)))["/v"]
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		n, last := 0, uint64(math.MaxUint64)
		for r, err := range v.Storage.Refs(ctx) {
			if err != nil {
				b.Fatal(err)
			}
			n, last = n+1, r.Index[0]
		}
		if n != 100_000 || last != 99_999 {
			b.Fatal(n, last)
		}
	}
}

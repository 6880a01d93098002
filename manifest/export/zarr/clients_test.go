package zarr

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/machine"
	"varve/fixtures/venv"
	"varve/grid"
	"varve/manifest/ingest"
	"varve/manifest/store"
	"varve/manifest/zarrstore"
	"varve/zarrjson"
	"varve/zarrjson/clients"
)

var recordClients = flag.Bool("record-clients", false, "write zarrjson/clients/clients.json and the table in docs/reference/clients.md")

const (
	clientsTable = "../../../zarrjson/clients/clients.json"
	clientsPage  = "../../../docs/reference/clients.md"
)

// clientNames are the clients in the order of the documentation. Scripts in testdata run them.
var clientNames = []string{"zarr-python", "xarray", "zarrs", "zarrita", "TensorStore", "GDAL", "netCDF-C"}

const (
	littleEndian = `{"name":"bytes","configuration":{"endian":"little"}}`
	regularGrid  = `{"name":"regular","configuration":{"chunk_shape":[2,3]}}`
)

// clientCases are the features that arrays are made with: documents without shape and names of dimensions.
func clientCases() (cases []string) {
	add := func(grid, dtype, fill, codecs string) {
		cases = append(cases, fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":[4,6],"dimension_names":["y","x"],"chunk_key_encoding":{"name":"default"},
			"chunk_grid":%s,"data_type":%s,"fill_value":%s,"codecs":[%s]}`, grid, dtype, fill, codecs))
	}
	add(regularGrid, `"float32"`, "0", littleEndian)
	add(`{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[1,3],[3,3]]}}`, `"float32"`, "0", littleEndian)
	for _, t := range []string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float64"} {
		add(regularGrid, strconv.Quote(t), "0", littleEndian)
	}
	add(regularGrid, `"bool"`, "false", littleEndian)
	add(regularGrid, `"complex64"`, "[0,0]", littleEndian)
	add(regularGrid, `"complex128"`, "[0,0]", littleEndian)
	add(regularGrid, `"r16"`, "[0,0]", `{"name":"bytes"}`)
	add(regularGrid, `{"name":"null_terminated_bytes","configuration":{"length_bytes":3}}`, `""`, `{"name":"bytes"}`)
	add(regularGrid, `{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}`, `""`, littleEndian)
	add(regularGrid, `{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}`, "0", littleEndian)
	add(regularGrid, `{"name":"numpy.timedelta64","configuration":{"unit":"s","scale_factor":1}}`, "0", littleEndian)
	add(regularGrid, `"string"`, `""`, `{"name":"vlen-utf8"}`)
	add(regularGrid, `"float32"`, "0", `{"name":"bytes","configuration":{"endian":"big"}}`)
	add(regularGrid, `"float32"`, "0", `{"name":"transpose","configuration":{"order":[1,0]}},`+littleEndian)
	add(regularGrid, `"float32"`, "0", `{"name":"sharding_indexed","configuration":{"chunk_shape":[1,3],"codecs":[`+littleEndian+`],"index_codecs":[`+littleEndian+`,{"name":"crc32c"}],"index_location":"end"}}`)
	for _, c := range []string{
		`{"name":"gzip","configuration":{"level":5}}`, `{"name":"zstd","configuration":{"level":3,"checksum":false}}`,
		`{"name":"blosc","configuration":{"typesize":4,"cname":"zstd","clevel":5,"shuffle":"shuffle","blocksize":0}}`, `{"name":"crc32c"}`,
		`{"name":"numcodecs.zlib","configuration":{"level":4}}`, `{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}`,
		`{"name":"numcodecs.fletcher32"}`, `{"name":"numcodecs.lz4","configuration":{"acceleration":1}}`,
		`{"name":"numcodecs.crc32"}`, `{"name":"numcodecs.adler32"}`,
	} {
		add(regularGrid, `"float32"`, "0", littleEndian+","+c)
	}
	for _, c := range []string{
		`{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":0,"scale":1,"dtype":"<f4","astype":"<i2"}}`, `{"name":"numcodecs.delta","configuration":{"dtype":"<f4"}}`,
		`{"name":"scale_offset","configuration":{"offset":1.0,"scale":2.0}}`,
	} {
		add(regularGrid, `"float32"`, "0", c+","+littleEndian)
	}
	return cases
}

// clientStore is a copy that clients read.
type clientStore struct {
	Group  string `json:"group"`
	Format int    `json:"format"`
	Values string `json:"values"` // a file
	DType  string `json:"dtype"`  // of NumPy, or text

	features []clients.Feature
}

// clientElems returns small numbers, and NumPy's type for them.
func clientElems(form codec.Form) (e codec.Elems, dtype string) {
	e = codec.NewElems(form)
	t := form.Type
	for i := range 24 {
		f := float64(i)
		at := e.Fixed
		if !t.Varies() {
			at = e.Fixed[i*t.Size : (i+1)*t.Size]
		}
		switch t.Kind {
		case codec.Bool:
			at[0], dtype = byte(i%2), "?"
		case codec.Int, codec.Uint, codec.DateTime, codec.TimeDelta:
			at[0] = byte(i)
			dtype = map[codec.Kind]string{codec.Int: "<i%d", codec.Uint: "<u%d", codec.DateTime: "<M%d[s]", codec.TimeDelta: "<m%d[s]"}[t.Kind]
			dtype = fmt.Sprintf(dtype, t.Size)
		case codec.Float:
			putFloat(at, f)
			dtype = fmt.Sprintf("<f%d", t.Size)
		case codec.Complex:
			putFloat(at[:t.Size/2], f)
			putFloat(at[t.Size/2:], -f)
			dtype = fmt.Sprintf("<c%d", t.Size)
		case codec.Raw:
			at[0], at[1], dtype = byte(i), byte(i+1), fmt.Sprintf("V%d", t.Size)
		case codec.FixedBytes:
			at[0], at[1], dtype = 'a', byte('a'+i), fmt.Sprintf("S%d", t.Size)
		case codec.FixedUTF32:
			at[0], at[4], dtype = 'a', byte('a'+i), fmt.Sprintf("<U%d", t.Size/4)
		case codec.String:
			e.Var[i], dtype = fmt.Append(nil, "text ", i), "text"
		}
	}
	return e, dtype
}

func putFloat(at []byte, f float64) {
	switch len(at) {
	case 2: // small whole numbers only
		if f != 0 {
			fraction, exponent := math.Frexp(f)
			binary.LittleEndian.PutUint16(at, uint16(exponent+14)<<10|uint16((fraction*2-1)*1024))
		}
	case 4:
		binary.LittleEndian.PutUint32(at, math.Float32bits(float32(f)))
	case 8:
		binary.LittleEndian.PutUint64(at, math.Float64bits(f))
	}
}

// makeClientStores copies an array with the features of a document, in each format that has them.
func makeClientStores(t *testing.T, dir, document string) (stores []clientStore) {
	t.Helper()
	schema, err := zarrjson.ParseArray([]byte(document))
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	from := filepath.Join(dir, "from")
	group := zarrjson.Group{}
	root, err := group.Encode(zarrjson.Compact)
	if err == nil {
		err = os.MkdirAll(from, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(from, "zarr.json"), root, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	a, err := zarrstore.Create(t.Context(), filepath.Join(from, "a"), schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	elems, dtype := clientElems(schema.Form(schema.Shape))
	if err := a.WriteRegion(t.Context(), grid.Whole(schema.Shape), elems); err != nil {
		t.Fatal(err)
	}
	values := elems.Fixed
	if dtype == "text" {
		var texts []string
		for _, v := range elems.Var {
			texts = append(texts, string(v))
		}
		if values, err = json.Marshal(texts); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "values"), values, 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "m.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{from}}, Writer: "test"}); err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	s, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var shards []Edges
	if codec.HasShards(schema.Codecs) { // a build makes arrays of the chunks in shards
		shards = []Edges{{Dim: "y", Sizes: []int64{2}}, {Dim: "x", Sizes: []int64{3}}}
	}
	for _, format := range []int{3, 2} {
		dest := filepath.Join(dir, fmt.Sprint("format", format))
		if _, err := Write(t.Context(), s, dest, &Options{Format: format, Shards: shards}); err != nil {
			if format == 3 {
				t.Fatalf("%v\n%s", err, document)
			}
			continue // format 2 has no such feature
		}
		stores = append(stores, clientStore{dest, format, filepath.Join(dir, "values"), dtype, featuresIn(t, dest, format)})
	}
	return stores
}

// featuresIn returns the features of the array in a copy.
func featuresIn(t *testing.T, copied string, format int) []clients.Feature {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(copied, "a", map[int]string{3: "zarr.json", 2: ".zarray"}[format]))
	if err != nil {
		t.Fatal(err)
	}
	if format == 3 {
		a, err := zarrjson.ParseArray(data)
		if err != nil {
			t.Fatal(err)
		}
		return clients.Features(a)
	}
	a, err := zarrjson.ParseV2Array(data)
	if err != nil {
		t.Fatal(err)
	}
	features, err := clients.FeaturesV2(a)
	if err != nil {
		t.Fatal(err)
	}
	return features
}

// runClient returns the version of a client, and what it made of each store. It returns no outcomes if the client is not
// installed.
func runClient(t *testing.T, python, name, list string, stores int) (version string, outcomes []clients.Outcome, notes []string) {
	t.Helper()
	for len(outcomes) < stores {
		cmd := exec.CommandContext(t.Context(), python, "testdata/clients.py", name, list, strconv.Itoa(len(outcomes)))
		if name == "zarrita" {
			modules := os.Getenv("VARVE_ZARRITA")
			node, err := machine.Lookup("node")
			if modules == "" || err != nil {
				return "", nil, nil
			}
			cmd = exec.CommandContext(t.Context(), node, "testdata/clients.mjs", list, strconv.Itoa(len(outcomes)))
		}
		var failure bytes.Buffer
		cmd.Stderr = &failure
		out, failed := cmd.Output()
		before := len(outcomes)
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			word, rest, _ := strings.Cut(lines.Text(), " ")
			if word == "version" {
				version = rest
				continue
			}
			outcome, note, _ := strings.Cut(rest, " ")
			if word != strconv.Itoa(len(outcomes)) {
				t.Fatalf("%s: %q after %d stores", name, lines.Text(), len(outcomes))
			}
			outcomes, notes = append(outcomes, clients.Outcome(outcome)), append(notes, note)
		}
		if failed == nil {
			break
		}
		if version == "" {
			t.Fatalf("%s: %v\n%s", name, failed, failure.Bytes())
		}
		outcomes, notes = append(outcomes, clients.Crashes), append(notes, failed.Error())
		if len(outcomes) == before {
			t.Fatalf("%s makes no progress: %v", name, failed)
		}
	}
	if len(outcomes) != stores {
		t.Fatalf("%s: %d outcomes for %d stores\n%v", name, len(outcomes), stores, notes)
	}
	return version, outcomes, notes
}

// TestInteropClients runs every client on copies with each feature, and compares the outcomes with the recorded table and
// its page in the documentation.
func TestInteropClients(t *testing.T) {
	python := venv.Python(t, "clients of Zarr")
	dir := t.TempDir()
	var stores []clientStore
	for i, document := range clientCases() {
		stores = append(stores, makeClientStores(t, filepath.Join(dir, strconv.Itoa(i)), document)...)
	}
	data, err := json.Marshal(stores)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "stores.json")
	if err := os.WriteFile(list, data, 0o644); err != nil {
		t.Fatal(err)
	}
	known := clients.Known()
	got := &clients.Table{Features: map[clients.Feature]map[string]clients.Outcome{}}
	for _, name := range clientNames {
		version, outcomes, notes := runClient(t, python, name, list, len(stores))
		if outcomes == nil {
			t.Logf("%s is not installed", name)
			if *recordClients {
				t.Fatal("all clients must be there to record the table")
			}
			keepKnown(got, known, name)
			continue
		}
		got.Clients = append(got.Clients, clients.Client{Name: name, Version: version})
		note(got, name, stores, outcomes)
		for i, outcome := range outcomes {
			if outcome != clients.Reads {
				t.Logf("%s %s: %v: %s", name, outcome, stores[i].features, notes[i])
			}
		}
	}
	encoded, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	encoded = append(encoded, '\n')
	page, err := os.ReadFile(clientsPage)
	if err != nil {
		t.Fatal(err)
	}
	made := withTable(t, page, got)
	if *recordClients {
		if err := os.WriteFile(clientsTable, encoded, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(clientsPage, made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(clientsTable)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(recorded, encoded) || !bytes.Equal(page, made) {
		t.Errorf("the clients read other features than the table says: go test ./manifest/export/zarr -run TestInteropClients -record-clients\n%s", encoded)
	}
}

// note adds the outcomes of a client. An array that it reads shows that it knows all of the features. Otherwise the
// features are at fault that are in no array that it reads.
func note(to *clients.Table, name string, stores []clientStore, outcomes []clients.Outcome) {
	for _, reads := range []bool{true, false} {
		for i, outcome := range outcomes {
			if outcome == "untested" || (outcome == clients.Reads) != reads {
				continue
			}
			for _, f := range stores[i].features {
				if to.Features[f] == nil {
					to.Features[f] = map[string]clients.Outcome{}
				}
				if to.Features[f][name] == "" {
					to.Features[f][name] = outcome
				}
			}
		}
	}
}

// keepKnown takes the outcomes of a client from the recorded table.
func keepKnown(to, known *clients.Table, name string) {
	for _, c := range known.Clients {
		if c.Name == name {
			to.Clients = append(to.Clients, c)
		}
	}
	for f, outcomes := range known.Features {
		if outcome, ok := outcomes[name]; ok {
			if to.Features[f] == nil {
				to.Features[f] = map[string]clients.Outcome{}
			}
			to.Features[f][name] = outcome
		}
	}
}

// withTable returns the page of the documentation with a table in place of its own.
func withTable(t *testing.T, page []byte, table *clients.Table) []byte {
	t.Helper()
	const begin, end = "<!-- made by TestInteropClients -->\n", "<!-- end -->\n"
	before, rest, ok := bytes.Cut(page, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", clientsPage)
	}
	var b strings.Builder
	b.WriteString("| format | feature |")
	for _, c := range table.Clients {
		fmt.Fprintf(&b, " %s %s |", c.Name, c.Version)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(table.Clients)) + "\n")
	var features []clients.Feature
	for f := range table.Features {
		features = append(features, f)
	}
	slices.SortFunc(features, func(a, b clients.Feature) int {
		if a[0] != b[0] {
			return int(b[0]) - int(a[0]) // format 3 first
		}
		return strings.Compare(string(a), string(b))
	})
	for _, f := range features {
		format, feature, _ := strings.Cut(string(f), " ")
		kind, name, _ := strings.Cut(feature, " ")
		fmt.Fprintf(&b, "| %s | %s `%s` |", format, kind, name)
		for _, c := range table.Clients {
			outcome := table.Features[f][c.Name]
			switch outcome {
			case clients.Reads:
				outcome = "yes"
			case clients.Refuses:
				outcome = "–"
			case "":
				outcome = "not run"
			}
			fmt.Fprintf(&b, " %s |", outcome)
		}
		b.WriteByte('\n')
	}
	return slices.Concat(before, []byte(begin+b.String()+end), after)
}

package zarrjson

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"varve/fixtures/venv"
)

func shardsOf(inner, location, codecs string) string {
	return `{"name":"sharding_indexed","configuration":{"chunk_shape":` + inner + `,"codecs":[` + codecs +
		`],"index_codecs":[` + littleBytes + `,{"name":"crc32c"}],"index_location":"` + location + `"}}`
}

// layoutDocuments are arrays of layouts of every kind. zarr-python has no encoded_chunk_shapes, and reports inner chunks
// that cannot be read alone.
var layoutDocuments = []struct {
	name, doc, want string
	unlike          bool // other than in zarr-python
}{
	{"regular", with("shape", "[25,10]", "chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[10,5]}}`),
		`{"regular":true,"sharded":false,"declared":[{"chunks":[10,5]}],"readable":{"levels":[[10,5]],"elements":true},
		"writable":{"levels":[[10,5]],"elements":false},"read_chunk_sizes":[[[10,2],5],[[5,2]]],"write_chunk_sizes":[[[10,2],5],[[5,2]]]}`, false},
	{"rectilinear", rectilinear("[50,40]", "[[10,20,30],[[40,1]]]", ""),
		`{"regular":false,"sharded":false,"declared":[{"chunks":[[10,20,30],40]}],"readable":{"levels":[[[10,20,30],40]],"elements":true},
		"writable":{"levels":[[[10,20,30],40]],"elements":false},"read_chunk_sizes":[[10,[20,2]],[40]],"write_chunk_sizes":[[10,[20,2]],[40]]}`, false},
	{"no extent", with("shape", "[0,10]", "chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[10,5]}}`),
		`{"regular":true,"sharded":false,"declared":[{"chunks":[10,5]}],"readable":{"levels":[[10,5]],"elements":true},
		"writable":{"levels":[[10,5]],"elements":false},"read_chunk_sizes":[[],[[5,2]]],"write_chunk_sizes":[[],[[5,2]]]}`, false},
	{"sharded", with("shape", "[50,40]", "chunk_grid", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[20,30],[[20,2]]]}}`,
		"codecs", "["+shardsOf("[10,5]", "start", littleBytes+`,{"name":"gzip","configuration":{"level":1}}`)+"]"),
		`{"regular":false,"sharded":true,"declared":[{"chunks":[[20,30],20],"index_location":"start","index_codecs":[` + littleBytes + `,{"name":"crc32c"}]},{"chunks":[10,5]}],
		"readable":{"levels":[[[20,30],20],[10,5]],"elements":false},"writable":{"levels":[[[20,30],20]],"elements":false},
		"read_chunk_sizes":[[[10,5]],[[5,8]]],"write_chunk_sizes":[[20,30],[[20,2]]]}`, false},
	{"a compressed shard", with("shape", "[20,10]", "chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[10,10]}}`,
		"codecs", "["+shardsOf("[5,5]", "end", littleBytes)+`,{"name":"gzip","configuration":{"level":1}}]`),
		`{"regular":true,"sharded":true,"declared":[{"chunks":[10,10],"index_location":"end","index_codecs":[` + littleBytes + `,{"name":"crc32c"}]},{"chunks":[5,5]}],
		"readable":{"levels":[[10,10]],"elements":false},"writable":{"levels":[[10,10]],"elements":false},
		"read_chunk_sizes":[[[10,2]],[10]],"write_chunk_sizes":[[[10,2]],[10]]}`, true},
	{"padded", rectilinear("[1100,10]", "[[[200,2],150,[200,2],150],[10]]", `,"encoded_chunk_shapes":[200,10]`),
		`{"regular":false,"sharded":false,"declared":[{"chunks":[[[200,2],150,[200,2],150],10],"encoded_chunks":[[[200,6]],10]}],
		"readable":{"levels":[[[[200,2],150,[200,2],150],10]],"elements":true},"writable":{"levels":[[[[200,2],150,[200,2],150],10]],"elements":false},
		"read_chunk_sizes":[[[200,2],150,[200,2],150],[10]],"write_chunk_sizes":[[[200,2],150,[200,2],150],[10]]}`, true},
}

func layoutJSON(t *testing.T, doc string) string {
	t.Helper()
	a, err := ParseArray([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.ChunkLayout()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestChunkLayout(t *testing.T) {
	for _, tt := range layoutDocuments {
		want := string(compactJSON([]byte(tt.want)))
		if got := layoutJSON(t, tt.doc); got != want {
			t.Errorf("%s: got  %s\nwant %s", tt.name, got, want)
		}
	}
}

// A pattern of very many runs is not listed.
func TestChunkLayoutIsBounded(t *testing.T) {
	doc := with("shape", "[3000000,3]", "chunk_grid", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[30,100000]],3]}}`,
		"codecs", "["+shardsOf("[20,3]", "end", littleBytes)+"]")
	a, err := ParseArray([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Codecs {
		a.Codecs[i].Clip = true
	}
	l, err := a.ChunkLayout()
	if err != nil {
		t.Fatal(err)
	}
	if l.ReadSizes[0] != nil || len(l.ReadSizes[1]) != 1 || len(l.WriteSizes[0]) != 1 {
		t.Errorf("%d and %d runs", len(l.ReadSizes[0]), len(l.WriteSizes[0]))
	}
}

// TestInteropChunkSizes compares chunk sizes with zarr-python's.
func TestInteropChunkSizes(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range layoutDocuments {
		if tt.unlike {
			continue
		}
		folder := filepath.Join(dir, tt.name)
		err := os.Mkdir(folder, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "zarr.json"), []byte(tt.doc), 0o644)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "layout.json"), []byte(layoutJSON(t, tt.doc)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	venv.Run(t, "zarr-python", "testdata/check_layouts.py", dir)
}

package engine

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/manifest/ingest"
	"varve/manifest/store"
)

// TestRefs compares the bytes at each ref with the bytes of the chunk.
func TestRefs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "one.varve")
	if _, err := ingest.Build(t.Context(), name, &ingest.Options{Sources: ingest.Sources{Names: []string{"../../fixtures/demo/2021-01.nc"}}}); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), name, &store.Options{Allow: []string{"../../fixtures/demo"}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	c := newClient(t)
	o := c.open(name)
	ranges, inline := 0, 0
	for number, array := range o.Arrays {
		a, err := st.Array(array.Path)
		if err != nil {
			t.Fatal(err)
		}
		status, payload := c.ask(opRefs, o.Dataset, uint32(number))
		if status != statusDone {
			t.Fatalf("%s: status %d: %s", array.Path, status, payload)
		}
		size := binary.LittleEndian.Uint32(payload)
		var head struct {
			Sources []sourceAnswer
			Chunks  int64
		}
		if err := json.Unmarshal(payload[4:4+size], &head); err != nil {
			t.Fatal(err)
		}
		columns := payload[4+size:]
		column := func(k, i int64) int64 {
			return int64(binary.LittleEndian.Uint64(columns[8*(k*head.Chunks+i):]))
		}
		if head.Chunks != a.Grid().Chunks() {
			t.Fatalf("%s: %d refs, want %d", array.Path, head.Chunks, a.Grid().Chunks())
		}
		coords := make([]int64, a.Grid().Rank())
		for i := range head.Chunks {
			a.Grid().Coords(i, coords)
			want, err := a.Chunk(t.Context(), coords)
			if err != nil {
				t.Fatal(err)
			}
			from, length := column(1, i), column(2, i)
			stored := columns[24*head.Chunks:]
			if row := column(0, i); row >= 0 {
				ranges++
				if stored, err = os.ReadFile(strings.TrimPrefix(head.Sources[row].URL, "file://")); err != nil {
					t.Fatal(err)
				}
			} else {
				inline++
			}
			if got := string(stored[from : from+length]); got != string(want) {
				t.Errorf("%s %v: %d bytes differ from the %d of the chunk", array.Path, coords, len(got), len(want))
			}
		}
	}
	if ranges == 0 || inline == 0 {
		t.Errorf("%d ranges and %d inline chunks: the test needs both", ranges, inline)
	}
	all := c.open(demoManifest(t))
	if code := c.code(opRefs, all.Dataset, all.number("/t2m")); code != "unsupported" {
		t.Errorf("code %q for an array with re-encoded chunks, want unsupported", code)
	}
	if code := c.code(opRefs, o.Dataset, uint32(1<<20)); code != "usage" {
		t.Errorf("code %q for no array, want usage", code)
	}
}

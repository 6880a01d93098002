package zarrstore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/readers/source"
	"varve/zarrjson"
)

// TestStream appends slices of random lengths along either axis, with flushes between, and compares with all at once.
func TestStream(t *testing.T) {
	seed := soak.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, codecs := range []string{
		`{"name":"bytes"},{"name":"gzip","configuration":{"level":1}}`,
		`{"name":"sharding_indexed","configuration":{"chunk_shape":[2,2],"codecs":[{"name":"bytes"},{"name":"gzip","configuration":{"level":1}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}`,
	} {
		for axis := range 2 {
			shape := []int64{6, 6}
			shape[axis] = 0
			schema, err := zarrjson.ParseArray(fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[%d,%d],"data_type":"uint8","fill_value":0,
				"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[6,6]}},"chunk_key_encoding":{"name":"default"},"codecs":[%s]}`, shape[0], shape[1], codecs))
			if err != nil {
				t.Fatal(err)
			}
			a, err := Create(t.Context(), filepath.Join(t.TempDir(), "a"), schema, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := a.Stream(axis)
			if err != nil {
				t.Fatal(err)
			}
			const total = 40
			value := func(i, j int64) byte { return byte(1 + 7*i + 3*j) }
			for at := int64(0); at < total; {
				n := min(random.Int64N(9), total-at)
				r := grid.Region{Origin: []int64{0, 0}, Shape: []int64{6, 6}}
				r.Origin[axis], r.Shape[axis] = at, n
				if err := s.Append(t.Context(), n, codec.Elems{Fixed: elementsOf(r, value)}); err != nil {
					t.Fatal(err)
				}
				if at += n; a.Shape()[axis] < at-at%6 {
					t.Errorf("axis %d: %d slices are appended, but only %d are written", axis, at, a.Shape()[axis])
				}
				if random.IntN(4) == 0 {
					if err := s.Flush(t.Context()); err != nil || a.Shape()[axis] != at {
						t.Fatalf("axis %d: length %d, want %d: %v", axis, a.Shape()[axis], at, err)
					}
				}
			}
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			all := grid.Whole(a.Shape())
			got := make([]byte, 6*total)
			if err := a.ReadRegion(t.Context(), all, codec.Elems{Fixed: got}); err != nil || !bytes.Equal(got, elementsOf(all, value)) {
				t.Errorf("axis %d: other elements: %v", axis, err)
			}
		}
	}
}

// elementsOf returns the elements of a region, in C order.
func elementsOf(r grid.Region, value func(i, j int64) byte) (elems []byte) {
	for i := range r.Shape[0] {
		for j := range r.Shape[1] {
			elems = append(elems, value(r.Origin[0]+i, r.Origin[1]+j))
		}
	}
	return elems
}

// TestStreamKeepsInnerChunks appends to a shard that is not full: the bytes of the inner chunks in it stay, and the data
// of the new ones and the index follow.
func TestStreamKeepsInnerChunks(t *testing.T) {
	schema, err := zarrjson.ParseArray([]byte(`{"zarr_format":3,"node_type":"array","shape":[0],"data_type":"uint8","fill_value":0,
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[8]}},"chunk_key_encoding":{"name":"default"},
		"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"bytes"},{"name":"gzip","configuration":{"level":1}}],
		"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Create(t.Context(), filepath.Join(t.TempDir(), "a"), schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Stream(0)
	if err != nil {
		t.Fatal(err)
	}
	const index = 4*16 + 4
	var before []byte
	for at := byte(0); at < 8; at += 2 {
		if err := s.Append(t.Context(), 2, codec.Elems{Fixed: []byte{at + 1, at + 2}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		stored, err := a.Chunk(t.Context(), []int64{0})
		if err != nil || len(stored) <= len(before) || !bytes.HasPrefix(stored, before) {
			t.Fatalf("after %d: % x does not begin with % x: %v", at, stored, before, err)
		}
		before = slices.Clone(stored[:len(stored)-index])
	}

	// Another program made the array longer.
	if err := s.Append(t.Context(), 1, codec.Elems{Fixed: []byte{9}}); err != nil {
		t.Fatal(err)
	}
	if err := a.Resize(t.Context(), []int64{20}); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context()); !errors.Is(err, source.ErrConflict) {
		t.Errorf("got %v, want ErrConflict", err)
	}
}

package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/readers/source"
)

func someHeader() *Header {
	return &Header{
		Dimensions: []Dimension{{Path: "/t", Length: 3, Unlimited: true}},
		Variables: []*Variable{{
			Path: "/v", Dims: []string{"/t"}, Shape: []int64{3},
			Type:       codec.Type{Kind: codec.Struct, Size: 4, Fields: []codec.Field{{Name: "a", Type: codec.Type{Kind: codec.DateTime, Size: 4, Unit: "s", Ticks: 1}}}},
			Fill:       Fill{Value: []byte{1, 2, 3, 4}, User: true},
			Attributes: []Attribute{{Name: "n", Type: codec.Type{Kind: codec.Int, Size: 1}, Data: []byte{7}, Texts: []string{"x"}, Scalar: true}},
			Storage: Storage{
				Layout: Chunked, Chunks: []int64{2}, Edges: [][][2]int64{{{2, 1}}}, DataSizes: [][][2]int64{{{2, 1}}},
				Codecs:  []codec.Spec{{Name: "bytes", Config: json.RawMessage(`{}`)}},
				Filters: 1, RawEdges: true, Stride: 5,
			},
			Enum:       []Choice{{Name: "on", Value: 1}},
			Unreadable: "no",
		}},
	}
}

// TestID changes every field of a header, one at a time, and checks that each change gives another ID.
func TestID(t *testing.T) {
	h := someHeader()
	h.SetID()
	known := map[string]string{h.ID: "unchanged"}
	changed := 0
	var walk func(at string, get func(*Header) reflect.Value)
	walk = func(at string, get func(*Header) reflect.Value) {
		v := get(h)
		switch v.Kind() {
		case reflect.Pointer:
			walk(at, func(h *Header) reflect.Value { return get(h).Elem() })
			return
		case reflect.Struct:
			for i := range v.NumField() {
				name := v.Type().Field(i).Name
				if at == "" && name == "ID" || !v.Type().Field(i).IsExported() {
					continue
				}
				walk(at+"."+name, func(h *Header) reflect.Value { return get(h).Field(i) })
			}
			return
		case reflect.Slice, reflect.Array:
			if v.Type().Elem().Kind() != reflect.Uint8 && v.Len() == 0 {
				return // the type of a field has no fields of its own
			}
			if v.Type().Elem().Kind() != reflect.Uint8 {
				walk(at+"[0]", func(h *Header) reflect.Value { return get(h).Index(0) })
				return
			}
		}
		other := someHeader()
		change(get(other))
		other.SetID()
		if was, ok := known[other.ID]; ok {
			t.Errorf("changing %s gives the same ID as changing %s", at, was)
		}
		known[other.ID] = at
		changed++
	}
	walk("", func(h *Header) reflect.Value { return reflect.ValueOf(h).Elem() })
	if changed < 30 {
		t.Errorf("changed only %d fields", changed)
	}
	again := someHeader()
	if again.SetID(); again.ID != h.ID || len(h.ID) != 32 {
		t.Errorf("IDs %q and %q of equal headers", h.ID, again.ID)
	}
}

func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "+")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Slice:
		v.SetBytes(append(v.Bytes(), 0))
	case reflect.Uint8:
		v.SetUint(v.Uint() + 1)
	default:
		v.SetInt(v.Int() + 1)
	}
}

// TestKeys checks that different lists with the same bytes have different keys, because the key contains
// their lengths.
func TestKeys(t *testing.T) {
	a := Values{Texts: [][]byte{[]byte("ab"), []byte("c")}}
	b := Values{Texts: [][]byte{[]byte("a"), []byte("bc")}}
	a.SetID()
	b.SetID()
	if a.ID == b.ID {
		t.Error("(ab, c) and (a, bc) have the same key")
	}
	g := GroupAttributes{Groups: []Group{{Path: "/"}, {Path: "/g"}}}
	k := GroupAttributes{Groups: []Group{{Path: "/"}}}
	g.SetID()
	k.SetID()
	if g.ID == k.ID {
		t.Error("one group has the same key as two")
	}
}

// TestMoved checks that ScanID stays the same after a move, and that it is the hash in docs/reference/format.md.
func TestMoved(t *testing.T) {
	at := source.Identity{Size: 3, Modified: time.Unix(5, 7), ETag: `"x"`}
	s := Source{URL: "/a", Size: at.Size, Modified: at.Modified, ETag: at.ETag, Format: "netCDF-3"}
	sum := sha256.Sum256([]byte("\x02/a\x06\x00\x0a\x0e\x03\"x\""))
	if got := s.ScanID(); got != hex.EncodeToString(sum[:16]) {
		t.Errorf("ScanID: got %s", got)
	}
	bare := Source{URL: "/a", Size: 3}
	sum = sha256.Sum256([]byte("\x02/a\x06\x01\x00"))
	if got := bare.ScanID(); got != hex.EncodeToString(sum[:16]) {
		t.Errorf("ScanID without a time: got %s", got)
	}
	once := s.MovedTo("/b", source.Identity{Size: 3, ETag: `"y"`})
	if once.Scanned != s.ScanID() || once.URL != "/b" || once.ETag != `"y"` || !once.Modified.IsZero() || once.Format != s.Format {
		t.Errorf("moved: got %+v", once)
	}
	if twice := once.MovedTo("/c", at); twice.ScanID() != s.ScanID() {
		t.Errorf("moved twice: got %+v", twice)
	}
	if back := once.MovedTo("/a", at); back != s {
		t.Errorf("moved back: got %+v", back)
	}
	later := source.Identity{Size: 3, Modified: time.Unix(5, 8), ETag: `"x"`}
	if copied := once.MovedTo("/a", later); copied.Scanned != s.ScanID() {
		t.Errorf("copied back: got %+v", copied)
	}
}

// TestLongKeys checks that the ID of a key that is hashed in parts is the hash of the whole key.
func TestLongKeys(t *testing.T) {
	var attributes []Attribute
	for i := range 3000 {
		attributes = append(attributes, Attribute{Name: fmt.Sprint("a", i), Type: codec.Type{Kind: codec.String}, Texts: []string{strings.Repeat("x", i%90)}, Scalar: true})
	}
	h := &Header{Variables: []*Variable{{Path: "/a", Attributes: attributes}, {Path: "/b", Attributes: attributes[:7]}, {Path: "/c"}}}
	g := &GroupAttributes{Groups: []Group{{Path: "/", Attributes: attributes}, {Path: "/g"}}}
	h.SetID()
	g.SetID()
	for id, key := range map[string][]byte{h.ID: h.AppendKey(nil), g.ID: g.AppendKey(nil)} {
		if sum := sha256.Sum256(key); id != idOf(sum[:]) {
			t.Errorf("the ID is %s, want %s", id, idOf(sum[:]))
		}
	}
}

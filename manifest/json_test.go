package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
)

// randomType returns a type. Some of them do not exist in Zarr.
func randomType(rng *rand.Rand, depth int) codec.Type {
	sizes := []int{1, 2, 4, 8}
	switch kind := codec.Kind(1 + rng.IntN(13)); kind {
	case codec.Bool:
		return codec.Type{Kind: kind, Size: 1}
	case codec.Int, codec.Uint:
		return codec.Type{Kind: kind, Size: sizes[rng.IntN(4)]}
	case codec.Float:
		return codec.Type{Kind: kind, Size: sizes[1+rng.IntN(3)]}
	case codec.Complex:
		return codec.Type{Kind: kind, Size: 8 << rng.IntN(2)}
	case codec.FixedUTF32:
		return codec.Type{Kind: kind, Size: 4 * rng.IntN(4)}
	case codec.DateTime, codec.TimeDelta:
		return codec.Type{Kind: kind, Size: 8, Unit: []string{"ns", "D", "generic"}[rng.IntN(3)], Ticks: 1}
	case codec.String, codec.Bytes:
		return codec.Type{Kind: kind}
	case codec.Struct:
		t := codec.Type{Kind: kind}
		for i := range 1 + rng.IntN(3) {
			f := codec.Field{Name: fmt.Sprint("f", i), Type: codec.Type{Kind: codec.Int, Size: 2}}
			if depth < 2 {
				f.Type = randomType(rng, depth+1)
			}
			t.Fields = append(t.Fields, f)
			t.Size += f.Type.Size
		}
		return t
	default:
		return codec.Type{Kind: kind, Size: rng.IntN(4)} // sometimes of size 0
	}
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32() >> rng.IntN(9))
	}
	return b
}

// randomElement returns the memory of one element with random bits, so that all kinds of NaN occur.
func randomElement(rng *rand.Rand, t codec.Type) []byte {
	switch {
	case t.Kind == codec.Bool && rng.IntN(4) > 0:
		return []byte{byte(rng.IntN(2))}
	case t.Kind == codec.String && rng.IntN(4) > 0:
		return []byte("grüße\n<&>\u2028"[:rng.IntN(2)*14])
	case t.Varies():
		return randomBytes(rng, rng.IntN(5))
	}
	return randomBytes(rng, t.Size)
}

func randomName(rng *rand.Rand) string {
	if rng.IntN(8) == 0 {
		return string(randomBytes(rng, 3))
	}
	return fmt.Sprintf("name<%d>", rng.IntN(100))
}

func randomAttribute(rng *rand.Rand) Attribute {
	switch rng.IntN(8) {
	case 0:
		return Attribute{Name: randomName(rng), JSON: `{"a": [1,"<"]}`}
	case 1:
		return Attribute{Name: randomName(rng), Unreadable: randomName(rng)}
	}
	a := Attribute{Name: randomName(rng), Type: randomType(rng, 0), Scalar: rng.IntN(2) == 0}
	n := 1
	if !a.Scalar {
		n = rng.IntN(4)
	}
	for range n {
		e := randomElement(rng, a.Type)
		if a.Type.Varies() {
			a.Texts = append(a.Texts, string(e))
		} else {
			a.Data = append(a.Data, e...)
		}
	}
	return a
}

func randomVariable(rng *rand.Rand) Variable {
	v := Variable{Path: "/" + randomName(rng), Type: randomType(rng, 0)}
	for range rng.IntN(3) {
		v.Dims, v.Shape = append(v.Dims, randomName(rng)), append(v.Shape, rng.Int64N(100))
	}
	if rng.IntN(2) == 0 {
		v.Fill = Fill{randomElement(rng, v.Type), rng.IntN(2) == 0}
		if v.Fill.Value == nil {
			v.Fill.Value = []byte{}
		}
	}
	for range rng.IntN(4) {
		v.Attributes = append(v.Attributes, randomAttribute(rng))
	}
	v.Storage = Storage{Layout: []Layout{Chunked, Strided, Inline, Nothing, Parted, Valued}[rng.IntN(6)], Chunks: v.Shape}
	if rng.IntN(3) == 0 {
		v.Storage = Storage{Layout: Chunked, Edges: [][][2]int64{{{3, 4}, {1, 1}}}, RawEdges: true, Stride: 5}
		v.Storage.Codecs = []codec.Spec{
			{Name: "bytes", Config: json.RawMessage(`{"endian":"little"}`)}, {Name: "crc32c"},
			{Name: "sharding_indexed", Config: json.RawMessage(`{"chunk_shape":[1]}`), Clip: true},
		}
		v.Storage.Filters = rng.IntN(4)
	}
	if rng.IntN(4) == 0 {
		v.Enum = []Choice{{randomName(rng), rng.Int64()}}
		v.Unreadable = randomName(rng)
		v.Damaged = rng.IntN(2) == 0
		v.Type = codec.Type{}
		v.Fill = Fill{}
	}
	return v
}

// TestHeaderJSON checks that a decoded header has the same key, and so the same fields, as before
// encoding.
func TestHeaderJSON(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 2000 {
		h := &Header{}
		for range rng.IntN(3) {
			d := Dimension{Path: randomName(rng), Length: rng.Int64N(9), Unlimited: rng.IntN(2) == 0, Anonymous: rng.IntN(2) == 0}
			for range rng.IntN(3) {
				d.Like = append(d.Like, randomName(rng))
			}
			h.Dimensions = append(h.Dimensions, d)
		}
		for range rng.IntN(3) {
			v := randomVariable(rng)
			h.Variables = append(h.Variables, &v)
		}
		if n := len(h.Variables); n > 0 { // a second variable with equal parts, which jsonWriter encodes once
			again := *h.Variables[n-1]
			again.Path = randomName(rng)
			h.Variables = append(h.Variables, &again)
		}
		text, err := h.MarshalJSON()
		if err != nil {
			t.Fatalf("seed %d, header %d: %v", seed, i, err)
		}
		if whole, err := json.Marshal(h); err != nil || !bytes.Equal(whole, text) {
			t.Fatalf("seed %d, header %d: encoding/json writes (%v)\n%s\ninstead of\n%s", seed, i, err, whole, text)
		}
		var back Header
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("seed %d, header %d: %v\n%s", seed, i, err, text)
		}
		if !bytes.Equal(back.AppendKey(nil), h.AppendKey(nil)) {
			t.Fatalf("seed %d, header %d:\n%s\ngot  %+v\nwant %+v", seed, i, text, back, h)
		}
	}
}

// TestGroupsJSON checks that decoded group attributes have the same key as before encoding.
func TestGroupsJSON(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 500 {
		g := &GroupAttributes{}
		for range rng.IntN(3) {
			g.Groups = append(g.Groups, Group{randomName(rng), []Attribute{randomAttribute(rng), randomAttribute(rng)}})
		}
		text, err := json.Marshal(g)
		if err != nil {
			t.Fatalf("seed %d, groups %d: %v", seed, i, err)
		}
		var back GroupAttributes
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("seed %d, groups %d: %v\n%s", seed, i, err, text)
		}
		if !bytes.Equal(back.AppendKey(nil), g.AppendKey(nil)) {
			t.Fatalf("seed %d, groups %d:\n%s\ngot  %+v\nwant %+v", seed, i, text, back, g)
		}
	}
}

// TestHeaderText checks the exact JSON, which other programs read.
func TestHeaderText(t *testing.T) {
	f64 := codec.Type{Kind: codec.Float, Size: 8}
	h := &Header{
		ID:         "not in the JSON",
		Dimensions: []Dimension{{Path: "/time", Length: 31, Unlimited: true}},
		Variables: []*Variable{{
			Path: "/t2m", Dims: []string{"/time"}, Shape: []int64{31}, Type: codec.Type{Kind: codec.Int, Size: 2},
			Fill: Fill{[]byte{0x01, 0x80}, true},
			Attributes: []Attribute{
				{Name: "units", Type: codec.Type{Kind: codec.String}, Texts: []string{"K"}, Scalar: true},
				{Name: "scale_factor", Type: f64, Data: []byte{0, 0, 0, 0, 0, 0, 0xe0, 0x3f}, Scalar: true},
				{Name: "valid_range", Type: codec.Type{Kind: codec.Uint, Size: 1}, Data: []byte{1, 200}},
				{Name: "latin", Type: codec.Type{Kind: codec.String}, Texts: []string{"\xfc"}, Scalar: true},
			},
			Storage: Storage{Layout: Chunked, Chunks: []int64{10}, Filters: 1,
				Codecs: []codec.Spec{{Name: "bytes", Config: json.RawMessage(`{"endian":"little"}`)}, {Name: "numcodecs.zlib", Config: json.RawMessage(`{"level":4}`)}}},
		}},
	}
	want := `{"dimensions":[{"path":"/time","length":31,"unlimited":true}],` +
		`"variables":[{"path":"/t2m","dims":["/time"],"shape":[31],"data_type":"int16","fill_value":-32767,"fill_value_chosen":true,` +
		`"attributes":[{"name":"units","data_type":"string","value":"K"},{"name":"scale_factor","data_type":"float64","value":0.5},` +
		`{"name":"valid_range","data_type":"uint8","values":[1,200]},` +
		`{"name":"latin","data_type":"string","raw":{"texts":["/A=="],"scalar":true}}],` +
		`"storage":{"layout":"chunked","chunks":[10],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},` +
		`{"name":"numcodecs.zlib","configuration":{"level":4}}],"filters":1}}]}`
	got, err := json.Marshal(h)
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}

// TestHeaderJSONRefused checks that decoding rejects invalid headers.
func TestHeaderJSONRefused(t *testing.T) {
	for name, text := range map[string]string{
		"a length below 0":          `{"dimensions":[{"path":"/x","length":-1}]}`,
		"an unknown type":           `{"variables":[{"path":"/v","data_type":"float7","storage":{"layout":"nothing"}}]}`,
		"an unknown kind":           `{"variables":[{"path":"/v","type":{"kind":"quaternion"},"storage":{"layout":"nothing"}}]}`,
		"a fill of another size":    `{"variables":[{"path":"/v","data_type":"int8","raw_fill_value":"AAA=","storage":{"layout":"nothing"}}]}`,
		"dims without a shape":      `{"variables":[{"path":"/v","dims":["/x"],"data_type":"int8","storage":{"layout":"nothing"}}]}`,
		"an unknown layout":         `{"variables":[{"path":"/v","data_type":"int8","storage":{"layout":"scattered"}}]}`,
		"more filters than codecs":  `{"variables":[{"path":"/v","data_type":"int8","storage":{"layout":"chunked","filters":1}}]}`,
		"a clipped codec too far":   `{"variables":[{"path":"/v","data_type":"int8","storage":{"layout":"chunked","clipped":[0]}}]}`,
		"a value without a type":    `{"variables":[{"path":"/v","attributes":[{"name":"a","value":1}],"storage":{"layout":"nothing"}}]}`,
		"half an element":           `{"variables":[{"path":"/v","attributes":[{"name":"a","data_type":"int16","raw":{"data":"AA=="}}],"storage":{"layout":"nothing"}}]}`,
		"a value of another type":   `{"variables":[{"path":"/v","attributes":[{"name":"a","data_type":"int16","value":"x"}],"storage":{"layout":"nothing"}}]}`,
		"a type of too many bytes":  `{"variables":[{"path":"/v","type":{"kind":"raw","size":99999999999},"storage":{"layout":"nothing"}}]}`,
		"a codec that is no object": `{"variables":[{"path":"/v","storage":{"layout":"chunked","codecs":[7]}}]}`,
	} {
		var h Header
		if err := json.Unmarshal([]byte(text), &h); err == nil {
			t.Errorf("%s: decoded as %+v, want an error", name, h)
		}
	}
}

func FuzzHeaderJSON(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 20 {
		text, err := json.Marshal(&Header{Variables: []*Variable{new(randomVariable(rng))}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var h, back Header
		if json.Unmarshal(text, &h) != nil {
			return
		}
		again, err := json.Marshal(&h)
		if err != nil {
			t.Fatalf("%s: decoded, but encoding fails: %v", text, err)
		}
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("%s: encoded as %s, which cannot be decoded: %v", text, again, err)
		}
		if !bytes.Equal(h.AppendKey(nil), back.AppendKey(nil)) && !reflect.DeepEqual(h, back) {
			t.Fatalf("%s: encoded as %s, which differs", text, again)
		}
	})
}

// TestUnreadableVariableIsKept checks that the reason why a variable is unreadable survives encoding.
func TestUnreadableVariableIsKept(t *testing.T) {
	in := Variable{Path: "/ref", Unreadable: "references have no counterpart"}
	text, err := json.Marshal(&in)
	if err != nil {
		t.Fatal(err)
	}
	var out Variable
	if err := json.Unmarshal(text, &out); err != nil || out.Unreadable != in.Unreadable {
		t.Errorf("%s: %+v, %v", text, out, err)
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "unreadable", "comment")), &out); err == nil {
		t.Errorf("a readable variable without a layout was decoded as %+v, want an error", out)
	}
}

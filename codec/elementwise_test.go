package codec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vector is a chunk that zarr-python wrote and read; see generate.py in testdata/elementwise.
type vector struct {
	Type     string
	Codecs   json.RawMessage
	Fill     *hexBytes
	Elements *hexBytes // absent where the chunk is only for decoding
	Stored   hexBytes  // the encoded elements, little-endian
	Decoded  hexBytes  // absent where it is the elements
}

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// readVectors reads a file of testdata/elementwise.
func readVectors(t testing.TB, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "elementwise", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func typeNamed(t testing.TB, name string) Type {
	t.Helper()
	if name == "datetime64[s]" {
		return Type{Kind: DateTime, Size: 8, Unit: "s", Ticks: 1}
	}
	n, ok := parseNumber(name)
	if !ok {
		t.Fatalf("no type %q", name)
	}
	return n.typ()
}

// chain returns the vector's codecs followed by "bytes".
func (v *vector) chain(endian string) string {
	codecs := strings.TrimSuffix(strings.TrimSpace(string(v.Codecs)), "]")
	return codecs + `,{"name":"bytes","configuration":{"endian":"` + endian + `"}}]`
}

func (v *vector) pipeline(t testing.TB, endian string) *Pipeline {
	form := Form{Type: typeNamed(t, v.Type)}
	form.Shape = []int64{int64(len(v.Decoded) / form.Type.Size)}
	if v.Fill != nil {
		form.Fill = *v.Fill
	}
	return mustNew(t, v.chain(endian), form)
}

func TestElementwiseVectors(t *testing.T) {
	for _, file := range []string{"delta", "fixedscaleoffset", "lossy", "scale_offset", "cast_chunks", "packbits"} {
		var vectors []vector
		readVectors(t, file+".json", &vectors)
		if len(vectors) < 4 {
			t.Fatalf("%s: only %d vectors", file, len(vectors))
		}
		for _, v := range vectors {
			if v.Decoded == nil && v.Elements != nil {
				v.Decoded = *v.Elements
			}
			for _, endian := range []string{"little", "big"} {
				v.check(t, endian)
			}
		}
	}
}

func (v *vector) check(t *testing.T, endian string) {
	t.Helper()
	p := v.pipeline(t, endian)
	stored := bytes.Clone(v.Stored)
	if inner := p.innermost().Type; endian == "big" {
		reverseWords(stored, inner.Size)
	}
	got := NewElems(p.Form())
	if err := p.Decode(got, stored); err != nil || !sameNumbers(got.Fixed, v.Decoded, p.Form().Type) {
		t.Errorf("%s %s: decoded to %x (%v), want %x", v.Type, v.chain(endian), got.Fixed, err, v.Decoded)
	}
	if v.Elements == nil {
		return
	}
	encoded, err := p.Encode(nil, Elems{Fixed: *v.Elements})
	if endian == "big" {
		reverseWords(encoded, p.innermost().Type.Size)
	}
	if err != nil || !sameNumbers(encoded, v.Stored, p.innermost().Type) {
		t.Errorf("%s %s: %x encoded as %x (%v), want %x", v.Type, v.chain(endian), *v.Elements, encoded, err, v.Stored)
	}
}

// sameNumbers compares elements bit for bit, except that all NaNs are equal: the payload of a
// NaN result depends on the machine.
func sameNumbers(a, b []byte, t Type) bool {
	n, ok := numberOf(t)
	if bytes.Equal(a, b) || !ok || !n.isFloat() || len(a) != len(b) {
		return bytes.Equal(a, b)
	}
	for ; len(a) > 0; a, b = a[t.Size:], b[t.Size:] {
		x, y := floatValue(a, n), floatValue(b, n)
		if !bytes.Equal(a[:t.Size], b[:t.Size]) && (x == x || y == y) {
			return false
		}
	}
	return true
}

// TestAsTypeVectors converts between all types, in both directions. Encoding refuses each
// element that the stored type cannot hold.
func TestAsTypeVectors(t *testing.T) {
	var file struct {
		Inputs map[string]hexBytes
		Cases  []struct {
			vector
			From string
		}
	}
	readVectors(t, "astype.json", &file)
	if len(file.Cases) != 144 {
		t.Fatalf("%d cases, want 144", len(file.Cases))
	}
	for _, c := range file.Cases {
		stored, ok := file.Inputs[c.From+" as "+c.Type]
		if !ok {
			stored = file.Inputs[c.From]
		}
		v := c.vector
		v.Stored = stored
		v.check(t, "little")
		v.check(t, "big")
		from, _ := parseNumber(c.From)
		to, _ := parseNumber(c.Type)
		refused := 0
		for i := range len(stored) / from.size() {
			one := stored[i*from.size() : (i+1)*from.size()]
			want := c.Decoded[i*to.size() : (i+1)*to.size()]
			got := make([]byte, to.size())
			switch err := convertExactly(got, to, one, from); {
			case err != nil:
				refused++
			case !sameNumbers(got, want, to.typ()):
				t.Errorf("%s %x encoded as %s: %x, want %x", c.From, one, c.Type, got, want)
			}
		}
		if to.canHold(from) && refused > 0 {
			t.Errorf("%s as %s: %d elements refused, though it holds all", c.From, c.Type, refused)
		}
	}
}

func TestCastValueVectors(t *testing.T) {
	var file struct {
		Inputs map[string]hexBytes
		Cases  []struct {
			From, To, Rounding, Results string
			Beyond                      string `json:"out_of_range"`
		}
	}
	readVectors(t, "cast_value.json", &file)
	for _, c := range file.Cases {
		config := fmt.Sprintf(`{"data_type":%q,"rounding":%q`, c.To, c.Rounding)
		if c.Beyond != "" {
			config += fmt.Sprintf(`,"out_of_range":%q`, c.Beyond)
		}
		in := Form{Type: typeNamed(t, c.From), Shape: []int64{1}}
		p := mustNew(t, `[{"name":"cast_value","configuration":`+config+`}},{"name":"bytes","configuration":{"endian":"little"}}]`, in)
		results := strings.Fields(c.Results)
		inputs := file.Inputs[c.From]
		if len(results)*in.Type.Size != len(inputs) {
			t.Fatalf("%s to %s: %d results for %d bytes", c.From, c.To, len(results), len(inputs))
		}
		for i, want := range results {
			one := inputs[i*in.Type.Size : (i+1)*in.Type.Size]
			got, err := p.Encode(nil, Elems{Fixed: one})
			if (err != nil) != (want == "-") {
				t.Errorf("%s %x to %s %s %s: %x, %v; want %s", c.From, one, c.To, c.Rounding, c.Beyond, got, err, want)
				continue
			}
			if w, _ := hex.DecodeString(want); err == nil && !sameNumbers(got, w, typeNamed(t, c.To)) {
				t.Errorf("%s %x to %s %s %s: %x, want %s", c.From, one, c.To, c.Rounding, c.Beyond, got, want)
			}
		}
	}
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

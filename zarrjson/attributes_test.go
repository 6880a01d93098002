package zarrjson

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
)

func mustAttributes(t testing.TB, doc string) Attributes {
	t.Helper()
	a, err := ParseAttributes([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAttributesByteForByte(t *testing.T) {
	cases := map[string]string{
		"empty":       `{}`,
		"space":       `{ }`,
		"one":         `{"a":1}`,
		"spelling":    `{"b" : 1.50e+0, "a":[ 1,2 ] ,"é":"\u00e9é\/"}`,
		"NaN":         `{"x": NaN, "y": [Infinity, -Infinity]}`,
		"surrogate":   `{"x": "\ud800"}`,
		"big numbers": `{"x": 123456789012345678901234567890.0000}`,
		"lines":       "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": []\n  }\n}",
	}
	for name, doc := range cases {
		t.Run(name, func(t *testing.T) {
			whole := strings.Replace(with(), `"attributes":{}`, `"attributes": `+doc+" ", 1)
			a, err := ParseArray([]byte(whole))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(a.Attributes.JSON()); got != doc {
				t.Errorf("kept as %s", got)
			}
			got, err := a.Encode(Indented)
			if err != nil || !strings.Contains(string(got), `"attributes": `+doc+",\n") {
				t.Errorf("written in\n%s (%v)", got, err)
			}
		})
	}
}

func TestAttributesSet(t *testing.T) {
	cases := []struct{ name, before, key, value, after string }{
		{"first", `{}`, "a", `1`, `{"a":1}`},
		{"replaced", `{ "a" : 1 , "b":2}`, "a", ` [1] `, `{ "a" : [1] , "b":2}`},
		{"replaced last", `{"a":1,"b": 2 }`, "b", `null`, `{"a":1,"b": null }`},
		{"appended", `{"a":1}`, "b", `2`, `{"a":1,"b":2}`},
		{"appended with spaces", `{"a": 1, "b": 2}`, "c", `3`, `{"a": 1, "b": 2, "c": 3}`},
		{"appended on a line", "{\n  \"a\": 1\n}", "b", `2`, "{\n  \"a\": 1,\n  \"b\": 2\n}"},
		{"escaped name", `{"\u0061":1}`, "a", `2`, `{"\u0061":2}`},
		{"name to escape", `{}`, "é\"", `2`, `{"\u00e9\"":2}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := mustAttributes(t, c.before)
			if err := a.Set(c.key, []byte(c.value)); err != nil {
				t.Fatal(err)
			}
			if got := string(a.JSON()); got != c.after {
				t.Errorf("%s, not %s", got, c.after)
			}
			if got, ok := a.Get(c.key); !ok || string(got) != strings.TrimSpace(c.value) {
				t.Errorf("got %s (%v)", got, ok)
			}
		})
	}
}

func TestAttributesDelete(t *testing.T) {
	cases := []struct{ name, before, key, after string }{
		{"only", `{ "a":1 }`, "a", `{}`},
		{"first", `{ "a":1, "b":2 }`, "a", `{ "b":2 }`},
		{"middle", `{"a":1, "b":2, "c":3}`, "b", `{"a":1, "c":3}`},
		{"last", `{"a":1, "b":2 }`, "b", `{"a":1 }`},
		{"absent", `{"a":{"b":1}}`, "b", `{"a":{"b":1}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := mustAttributes(t, c.before)
			if found := a.Delete(c.key); found != (c.before != c.after) {
				t.Errorf("found: %v", found)
			}
			if got := string(a.JSON()); got != c.after {
				t.Errorf("%s, not %s", got, c.after)
			}
		})
	}
}

func TestAttributesRefused(t *testing.T) {
	for _, doc := range []string{``, `[]`, `null`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"x":{"a":1,"a":1}}`, `{"a":1}x`, `{"a":nan}`,
		`{"\ud800":1}`, "{\"a\":\"\xff\"}", "{\"a\":\"\n\"}", `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":+1}`, `{"a":1,}`, `{a:1}`, `{"a":"\x"}`, `{"a":"\u12"}`} {
		if a, err := ParseAttributes([]byte(doc)); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v, %v", doc, err, a)
		}
	}
	a := mustAttributes(t, `{"a":1}`)
	if err := a.Set("b", []byte(`{"x":1,"x":1}`)); err == nil || string(a.JSON()) != `{"a":1}` {
		t.Errorf("%v; %s", err, a.JSON())
	}
}

// TestAttributesAgainstAMap sets and deletes at random and compares with a list.
func TestAttributesAgainstAMap(t *testing.T) {
	seed := soak.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, start := range []string{`{}`, `{"k1": 1}`, "{\n \"k0\" :0 ,\n \"k2\":2\n}"} {
		a := mustAttributes(t, start)
		var want [][2]string
		for name, raw := range a.All() {
			want = append(want, [2]string{name, string(raw)})
		}
		for range 200 {
			name, raw := fmt.Sprintf("k%d", random.IntN(6)), fmt.Sprintf("[%d, {}]", random.IntN(100))
			i := slices.IndexFunc(want, func(m [2]string) bool { return m[0] == name })
			switch {
			case random.IntN(2) == 0:
				if a.Delete(name) != (i >= 0) {
					t.Fatalf("seed %d: deleting %s from %s", seed, name, a.JSON())
				}
				if i >= 0 {
					want = slices.Delete(want, i, i+1)
				}
				continue
			case i >= 0:
				want[i][1] = raw
			default:
				want = append(want, [2]string{name, raw})
			}
			if err := a.Set(name, []byte(raw)); err != nil {
				t.Fatal(err)
			}
		}
		again := mustAttributes(t, string(a.JSON()))
		var got [][2]string
		for name, raw := range again.All() {
			got = append(got, [2]string{name, string(raw)})
		}
		if !slices.Equal(got, want) || again.Len() != len(want) {
			t.Fatalf("seed %d: %v, not %v", seed, got, want)
		}
	}
}

func TestOwnAttributesAreLaidOut(t *testing.T) {
	var a Attributes
	for _, m := range [][2]string{{"a", `[1,{"b":[]}]`}, {"c", `"x"`}} {
		if err := a.Set(m[0], []byte(m[1])); err != nil {
			t.Fatal(err)
		}
	}
	got, err := (&Group{Attributes: a}).Encode(Indented)
	want := `{
  "attributes": {
    "a": [
      1,
      {
        "b": []
      }
    ],
    "c": "x"
  },
  "zarr_format": 3,
  "node_type": "group"
}`
	if err != nil || string(got) != want {
		t.Errorf("written as\n%s (%v)", got, err)
	}
}

// TestAttributesOf checks the order of a few and of many attributes, and that a duplicate
// name is refused.
func TestAttributesOf(t *testing.T) {
	for _, n := range []int{0, 1, 2, 32, 33, 100} {
		var list []Attribute
		want := ""
		for i := range n {
			name := fmt.Sprintf("%d", n-i)
			list = append(list, Attribute{name, []byte("1")})
			want += fmt.Sprintf(",%q:1", name)
		}
		want = "{" + strings.TrimPrefix(want, ",") + "}"
		got, err := AttributesOf(list)
		if err != nil || string(got.JSON()) != want {
			t.Errorf("%d: %s, %v", n, got.JSON(), err)
		}
		if n > 0 {
			if _, err := AttributesOf(append(list, list[0])); !errors.Is(err, corrupt) {
				t.Errorf("%d and one again: %v", n, err)
			}
		}
	}
}

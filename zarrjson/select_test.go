package zarrjson

import (
	"slices"
	"testing"
)

func TestAttributesSelect(t *testing.T) {
	// The second name is a backslash and an n, the third a line feed.
	a := Attributes{raw: []byte(`{"a": 1, "\\n": 2, "\n": 3, "\u0062": 4, "ab": 5}`)}
	for _, c := range []struct {
		name  string
		names []string
		want  []string
	}{
		{"plain", []string{"a"}, []string{"a=1"}},
		{"in the document's order", []string{"ab", "a"}, []string{"a=1", "ab=5"}},
		{"a line feed", []string{"\n"}, []string{"\n=3"}},
		{"a backslash", []string{`\n`}, []string{`\n=2`}},
		{"a name with a numeric escape", []string{"b"}, []string{"b=4"}},
		{"none", []string{"c", ""}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for name, value := range a.Select(c.names...) {
				got = append(got, name+"="+string(value))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
}

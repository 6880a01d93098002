package yamlkeys

import (
	"errors"
	"fmt"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestEach(t *testing.T) {
	known := []string{"a", "b"}
	for _, c := range []struct{ text, want string }{
		{"a: 1\nb: 2", "a=1 b=2 "}, {"a: &x 1\nb: *x", "a=1 b=1 "}, {"{}", ""},
		{"- a", "line 1: want a mapping with some of a, b"}, {"a: 1\n? [a]\n: 2", "line 2: a key must be a name"},
		{"a: 1\na: 2", "line 2: a is given twice"}, {"a: 1\nsecret: 2", "refused"},
	} {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(c.text), &doc); err != nil {
			t.Fatal(err)
		}
		got := ""
		err := Each(doc.Content[0], known, func(key, value *yaml.Node) error {
			if key.Value == "secret" {
				return errors.New("refused")
			}
			got += fmt.Sprintf("%s=%s ", key.Value, value.Value)
			return nil
		})
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	if err := Each(&yaml.Node{Line: 3}, nil, nil); err == nil || err.Error() != "line 3: want a mapping" {
		t.Error(err)
	}
}

// Package vectors reads what the tests of decoders compare with: chunks that the C libraries
// wrote, made by the testdata/generate.py beside each decoder.
package vectors

import (
	"encoding/json"
	"testing"
)

// Parse reads the vectors of a JSON text, of which V has a field for each key.
func Parse[V any](t testing.TB, text []byte) []V {
	t.Helper()
	var vs []V
	if err := json.Unmarshal(text, &vs); err != nil {
		t.Fatal(err)
	}
	if len(vs) == 0 {
		t.Fatal("no vectors")
	}
	return vs
}

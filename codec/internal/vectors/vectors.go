// Package vectors reads the test vectors of decoders: chunks that C libraries wrote, and their
// decoded form. The script testdata/generate.py of each decoder makes them.
package vectors

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Parse decodes a JSON list of vectors. V is a struct with a field for each key.
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

// Mentions reports whether the text of err has each of the space-separated words in facts: field
// names, offsets, values and limits. Tests of errors compare these facts, not sentences, so that a text
// can be reworded.
func Mentions(err error, facts string) bool {
	if err == nil {
		return false
	}
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' }
	words := strings.FieldsFunc(err.Error(), func(r rune) bool { return !isWord(r) })
	for fact := range strings.FieldsSeq(facts) {
		if !slices.Contains(words, fact) {
			return false
		}
	}
	return true
}

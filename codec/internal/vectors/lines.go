package vectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
)

// Samples decodes a file with a JSON object a line. The test ends if there are fewer than least.
func Samples[S any](t testing.TB, file []byte, least int) (list []S) {
	t.Helper()
	for lines := json.NewDecoder(bytes.NewReader(file)); ; {
		var s S
		if err := lines.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if len(list) < least {
		t.Fatalf("%d samples, want at least %d", len(list), least)
	}
	return list
}

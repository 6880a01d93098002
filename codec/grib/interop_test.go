package grib_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"varve/fixtures/soak"
	"varve/fixtures/venv"
)

// TestInteropEcCodes decodes random messages of all packings and compares the values with ecCodes'.
func TestInteropEcCodes(t *testing.T) {
	seed, count := soak.Range(t, 400)
	out := filepath.Join(t.TempDir(), "messages.json")
	venv.Run(t, "ecCodes", "testdata/generate.py", out, "--random", fmt.Sprint(seed), fmt.Sprint(count))
	lines, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, m := range messages(t, lines) {
		if m.Error != "" {
			continue // ecCodes cannot read some messages that it has written
		}
		read++
		t.Run(m.Name, func(t *testing.T) { checkMessage(t, m) })
		if t.Failed() {
			t.Fatalf("seed %d: %x", seed, m.Message)
		}
	}
	if read < count*9/10 {
		t.Errorf("ecCodes reads %d of %d messages", read, count)
	}
}

package main

import (
	"os"
	"strings"
	"testing"
)

// TestEveryDependencyHasAReason holds docs/dependencies.md against go.mod.
func TestEveryDependencyHasAReason(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, line := range strings.Split(string(mod), "\n") {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.HasPrefix(line, "\t") || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		direct++
		if !strings.Contains(string(reasons), "| "+fields[0]+" |") {
			t.Errorf("docs/dependencies.md has no line for %s", fields[0])
		}
	}
	if direct < 5 {
		t.Errorf("go.mod has %d direct dependencies; this test reads it wrong", direct)
	}
}

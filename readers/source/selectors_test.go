package source

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocumentSelectors compares the parameters that are stored with those of the documentation.
func TestDocumentSelectors(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| servers | parameters |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	got := map[string][]string{}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		for name := range strings.SplitSeq(cells[2], ",") {
			name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, " `"), "*"))
			got[strings.TrimSpace(cells[1])] = append(got[strings.TrimSpace(cells[1])], name)
		}
	}
	for server, names := range selectors {
		if documented := slices.Sorted(slices.Values(got[server])); !slices.Equal(documented, names) {
			t.Errorf("%s: documented are %q, stored are %q", server, documented, names)
		}
	}
	if len(got) != len(selectors) {
		t.Errorf("documented are %d servers, not %d", len(got), len(selectors))
	}
}

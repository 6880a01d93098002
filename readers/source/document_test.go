package source_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve/readers/source"
)

// section returns the rows of the table under a heading, each as its cells joined by "|".
func section(t *testing.T, heading string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("docs/reference/sources.md has no heading %q", heading)
	}
	rest, _, _ = strings.Cut(rest, "\n#")
	var rows []string
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			rows = append(rows, strings.Join(cells, "|"))
		}
	}
	return rows[1:]
}

// TestDocumentedFaults checks that the documentation lists the same server faults as the tests.
func TestDocumentedFaults(t *testing.T) {
	tables := map[string][]string{}
	add := func(heading, name, want string, requests int) {
		if !strings.Contains(want, " ") && want != "error" {
			want = "`" + want + "`"
		}
		if want == "error" {
			want = "an error"
		}
		tables[heading] = append(tables[heading], fmt.Sprintf("%s|%s|%d", name, want, requests))
	}
	for _, c := range readingFaults {
		add("### While reading a range", c.name, c.want, c.requests)
	}
	for _, c := range openingFaults {
		add("### While opening", c.name, c.want, c.requests)
	}
	for _, c := range manyFaults {
		add("### While several ranges are asked for", c.name, c.want, c.requests)
	}
	for heading, want := range tables {
		if got := section(t, heading); !slices.Equal(got, want) {
			t.Errorf("%s: the table differs from the tests, which have\n| %s |", heading,
				strings.ReplaceAll(strings.Join(want, " |\n| "), "|", " | "))
		}
	}
}

// TestDocumentedOptions checks that the documentation lists the options and their defaults.
func TestDocumentedOptions(t *testing.T) {
	documented := map[string]string{}
	for _, row := range section(t, "## Options") {
		cells := strings.Split(row, "|")
		documented[cells[0]] = cells[1]
	}
	options := reflect.ValueOf(source.DefaultOptions())
	for i := range options.NumField() {
		name := options.Type().Field(i).Name
		got, ok := documented[name]
		if want := written(options.Field(i)); !ok || want != "" && got != want {
			t.Errorf("%s: the default is %s, documented is %q", name, want, got)
		}
		delete(documented, name)
	}
	if len(documented) > 0 {
		t.Errorf("documented, but missing in the code: %v", documented)
	}
}

// written returns a default as the documentation writes it, or "" if the documentation describes it in words.
func written(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Bool:
		return map[bool]string{true: "yes", false: "no"}[v.Bool()]
	case v.Type().String() == "time.Duration":
		return fmt.Sprint(v.Interface())
	case v.Kind() == reflect.Int:
		return fmt.Sprint(v.Int())
	case v.Kind() == reflect.Int64 && v.Int()%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", v.Int()>>20)
	case v.Kind() == reflect.Int64:
		return fmt.Sprintf("%d KiB", v.Int()>>10)
	}
	return ""
}

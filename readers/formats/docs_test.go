package formats_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// TestDocumentedFormats checks the verdicts in docs/reference/formats.md.
func TestDocumentedFormats(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, ofSamples := 0, false
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			ofSamples = false // a table ends
		case strings.Contains(line, "| sample |"):
			ofSamples = true
			continue
		}
		if !ofSamples || len(cells) != 3 || !strings.HasPrefix(line, "| ") {
			continue
		}
		rows++
		sample, want := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		if got, why := verdict(t, filepath.Join("../../fixtures", sample)); got != want {
			t.Errorf("docs/reference/formats.md says that %s is %s; it is %s: %v", sample, want, got, why)
		}
	}
	if rows < 35 {
		t.Errorf("docs/reference/formats.md has %d rows", rows)
	}
}

// verdict opens a sample, reads everything in it, and returns how much could be read.
func verdict(t *testing.T, name string) (string, error) {
	t.Helper()
	src, err := source.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dataset, err := formats.Open(t.Context(), src, nil)
	if err != nil {
		return "refused", err
	}
	why := make([]error, 0, len(dataset.Problems)+len(dataset.Links))
	for _, l := range dataset.Links {
		why = append(why, fmt.Errorf("%s is in another file", l.Path))
	}
	for _, p := range dataset.Problems {
		why = append(why, fmt.Errorf("%s: %w", p.Path, p.Err))
	}
	dataset.Root.Walk(func(g *readers.Group) bool {
		why = append(why, unreadable(t, g)...)
		return true
	})
	if err := errors.Join(why...); err != nil {
		return "listed", err
	}
	return "read", nil
}

// unreadable returns why attributes and variables of a group cannot be read.
func unreadable(t *testing.T, g *readers.Group) (why []error) {
	attributes := g.Attributes
	for _, v := range g.Variables {
		attributes = append(attributes, v.Attributes...)
		if v.ReadAll == nil { // its bytes are in a source that is not opened
			if v.Storage.Undecodable != nil {
				why = append(why, fmt.Errorf("%s: %w", v.Path, v.Storage.Undecodable))
			}
			continue
		}
		if _, err := v.ReadAll(t.Context(), 1<<24); err != nil {
			why = append(why, fmt.Errorf("%s: %w", v.Path, err))
		}
	}
	for _, a := range attributes {
		if a.Err != nil {
			why = append(why, fmt.Errorf("attribute %s: %w", a.Name, a.Err))
		}
	}
	return why
}

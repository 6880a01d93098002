package table

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"varve/manifest"
	"varve/readers/parquet"
)

// documentRows returns the cells of the table under a heading of docs/reference/format.md.
func documentRows(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("docs/reference/format.md has no table %q", heading)
	}
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows[1:]
}

// TestDocumentColumns compares the columns in the documentation with the columns that the writer creates.
func TestDocumentColumns(t *testing.T) {
	var want []string
	for _, kind := range []manifest.TableKind{
		manifest.Sources, manifest.Headers, manifest.Groups, manifest.ValueOf, manifest.Refs, manifest.Blobs, manifest.Tiles, manifest.Patches, manifest.Points, manifest.FilePoints,
	} {
		columns, err := columnsOf(kind, &parquet.File{Columns: tileColumns(1)})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range columns {
			null := "no"
			if c.Optional {
				null = "yes"
			}
			want = append(want, fmt.Sprint(kind, " ", c.Name, " ", c.Type, " ", null))
		}
	}
	var got []string
	for _, row := range documentRows(t, "| kind | column | type | null | what |") {
		got = append(got, strings.Join(row[:4], " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDocumentLayouts compares the documented layouts with the rows of variables.
func TestDocumentLayouts(t *testing.T) {
	rows := documentRows(t, "| layout | rows | content |")
	if len(rows) != 6 {
		t.Errorf("%d layouts", len(rows))
	}
	for _, row := range rows {
		v := manifest.Variable{Shape: []int64{5, 7}, Storage: manifest.Storage{Layout: manifest.Layout(row[0]), Chunks: []int64{2, 3}}}
		want := fmt.Sprint(v.Rows())
		if row[0] == "chunked" && want == "9" {
			want = "one a chunk, in C order of its chunk grid"
		}
		if row[1] != want {
			t.Errorf("%s: %q rows, not %s", row[0], row[1], want)
		}
	}
}

// TestDocumentCuts compares the limits of pages in the documentation with the writer's limits.
func TestDocumentCuts(t *testing.T) {
	refs, tiles, sources, others := cutOf(manifest.Refs), cutOf(manifest.Tiles), cutOf(manifest.Sources), cutOf(manifest.Headers)
	want := map[string]string{
		"rows of a page": fmt.Sprintf("refs, tiles, patches: %d; sources: %d; others: %d, fewer where they take more than %d KiB",
			refs.pageRows, sources.pageRows, others.pageRows, others.pageBytes>>10),
		"rows of a row group": fmt.Sprintf("refs: %s; tiles, patches: %s; others: %s, fewer where they take more than %d MiB",
			thousands(refs.groupRows), thousands(tiles.groupRows), thousands(others.groupRows), others.groupBytes>>20),
		"key-value metadata": "`varve`: `" + metaOf(manifest.Refs).Value + "`",
	}
	if tiles.pageRows != refs.pageRows || sources.groupRows != others.groupRows || sources.groupBytes != others.groupBytes {
		t.Error("the page lists fewer limits than the writer has")
	}
	found := 0
	for _, row := range documentRows(t, "| | |") {
		if text, ok := want[row[0]]; ok {
			found++
			if row[1] != text {
				t.Errorf("%s: got %q, want %q", row[0], row[1], text)
			}
		}
	}
	if found != len(want) {
		t.Errorf("found %d of %d lines", found, len(want))
	}
}

func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

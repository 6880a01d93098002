package grid_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/grid"
)

// table is a Markdown table of the document.
type table struct {
	header string
	rows   [][]string
}

// readTables returns the tables of a Markdown document, without code marks and emphasis.
func readTables(t *testing.T, path string) []table {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	var tables []table
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i, cell := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cell), "*`")
		}
		switch {
		case !inside:
			tables = append(tables, table{header: strings.Join(cells, ", ")})
		case !strings.HasPrefix(line, "|---"):
			last := &tables[len(tables)-1]
			last.rows = append(last.rows, cells)
		}
		inside = true
	}
	return tables
}

// TestDocument checks every row of every table in docs/reference/chunk-grids.md.
func TestDocument(t *testing.T) {
	checks := map[string]func(t *testing.T, row []string){
		"kind, declared by, memory, finds a chunk, written as":                  checkKind,
		"edges, extent, chunks, cells, data sizes, codec sizes":                 checkSizes,
		"padded edges, extent, chunks, cells, data sizes, codec sizes":          checkSizes,
		"edges, extent, index, chunk, index in the chunk":                       checkLookup,
		"edges, extent, the error says":                                         checkRefused,
		"edges, extent, zarr-python, zarrs, Icechunk, varve":                    checkDisagreement,
		"edges, extent, zarr-python, zarrs, Icechunk, varve writes":             checkWritten,
		"policy, edges that are added, function":                                checkPolicy,
		"edges, extent, new extent, policy, edges then, chunks, last data size": checkResized,
		"edges, extent, slice or index, chunks read":                            checkSlice,
		"edges, extent, chunks selected, chunks read":                           checkBlocks,
		"shards, extent, inner lengths, divide, inner edges, cut":               checkInner,
	}
	for _, table := range readTables(t, "../docs/reference/chunk-grids.md") {
		if table.header == "field, meaning" { // of a document: TestChunkLayout in zarrjson
			continue
		}
		check, ok := checks[table.header]
		if !ok || len(table.rows) == 0 {
			t.Errorf("no check for the table %q of %d rows", table.header, len(table.rows))
			continue
		}
		delete(checks, table.header)
		for _, row := range table.rows {
			t.Run(strings.Join(row, ", "), func(t *testing.T) { check(t, row) })
		}
	}
	for header := range checks {
		t.Errorf("the document has no table %q", header)
	}
}

// parseEdges parses edges in the notation of the document.
func parseEdges(t *testing.T, text string) grid.Sizes {
	t.Helper()
	if !strings.HasPrefix(text, "[") {
		return grid.Every(number(t, text))
	}
	text = strings.NewReplacer("[", `["`, ",", `","`, "]", `"]`).Replace(text)
	text = strings.NewReplacer(`"[`, `[`, `]"`, `]`, `[""]`, `[]`).Replace(text)
	var list []any
	check(t, json.Unmarshal([]byte(text), &list))
	var runs []grid.Run
	for _, entry := range list {
		if pair, ok := entry.([]any); ok {
			runs = append(runs, grid.Run{Edge: parseEdge(t, pair[0].(string)), Count: number(t, pair[1].(string))})
		} else {
			runs = append(runs, grid.Run{Edge: parseEdge(t, entry.(string)), Count: 1})
		}
	}
	return grid.RunLength(runs...)
}

func parseEdge(t *testing.T, text string) grid.Edge {
	t.Helper()
	codec, data, padded := strings.Cut(text, "/")
	if !padded {
		return grid.Full(number(t, text))
	}
	return grid.Edge{Codec: number(t, codec), Data: number(t, data)}
}

// writeEdges formats runs in the notation of the document.
func writeEdges(s grid.Sizes) string {
	if size, ok := s.RegularSize(); ok {
		return fmt.Sprint(size)
	}
	var parts []string
	for run := range grid.Merge(slices.Values(s.Runs())) {
		if part := fmt.Sprint(run.Data); run.Count == 1 {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("[%s,%d]", part, run.Count))
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// declared returns the edges as a document has them, which cannot hold a pattern.
func declared(d grid.Dimension) grid.Sizes {
	if t, ok := d.(*grid.Tiled); ok {
		return grid.RunLength(slices.Collect(t.Runs())...)
	}
	return grid.SizesOf(d)
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	check(t, err)
	return n
}

func bindRow(t *testing.T, row []string) (grid.Dimension, error) {
	t.Helper()
	return parseEdges(t, row[0]).Bind(number(t, row[1]))
}

func mustBindRow(t *testing.T, row []string) grid.Dimension {
	t.Helper()
	d, err := bindRow(t, row)
	check(t, err)
	return d
}

// expectText fails unless a value prints as the document has it.
func expectText(t *testing.T, what, want string, got any) {
	t.Helper()
	text := strings.ReplaceAll(fmt.Sprint(got), " ", ",")
	if text != want {
		t.Errorf("%s: %s, the document says %s", what, text, want)
	}
}

func checkKind(t *testing.T, row []string) {
	kinds := map[string]grid.Sizes{"Fixed": grid.Every(10), "Varying": grid.List(10), "Tiled": grid.Pattern(grid.Times(10, 1))}
	s, ok := kinds[row[0]]
	if !ok {
		t.Fatalf("there is no kind %s", row[0])
	}
	d, err := s.Bind(10)
	check(t, err)
	if name := strings.TrimLeft(fmt.Sprintf("%T", d), "*"); name != "grid."+row[0] {
		t.Errorf("the kind is %s", name)
	}
	_, bare := grid.SizesOf(d).RegularSize()
	if bare != strings.Contains(row[4], "bare integer") {
		t.Errorf("written as a bare integer: %v", bare)
	}
}

func checkSizes(t *testing.T, row []string) {
	d := mustBindRow(t, row)
	data, codec := []int64{}, []int64{}
	for i := range d.Chunks() {
		data, codec = append(data, dataSize(d, i)), append(codec, codecSize(d, i))
	}
	expectText(t, "chunks", row[2], d.Chunks())
	expectText(t, "cells", row[3], d.Cells())
	expectText(t, "data sizes", row[4], data)
	expectText(t, "codec sizes", row[5], codec)
}

func checkLookup(t *testing.T, row []string) {
	d := mustBindRow(t, row)
	index := number(t, row[2])
	chunk, err := d.Find(index)
	if row[3] == "error" {
		wantError(t, err, row[4])
		return
	}
	check(t, err)
	expectText(t, "chunk", row[3], chunk)
	expectText(t, "index in the chunk", row[4], index-offsetOf(d, chunk))
}

func checkRefused(t *testing.T, row []string) {
	_, err := bindRow(t, row)
	wantError(t, err, row[2])
}

func checkDisagreement(t *testing.T, row []string) {
	d, err := bindRow(t, row)
	if row[5] == "error" {
		wantError(t, err)
		return
	}
	check(t, err)
	if got := fmt.Sprintf("%d chunks, %d cells", d.Chunks(), d.Cells()); got != row[5] {
		t.Errorf("%s, the document says %s", got, row[5])
	}
	if _, repeats := grid.SizesOf(d).RegularSize(); repeats == strings.HasPrefix(row[0], "[") {
		t.Errorf("declared as one size: %v", repeats)
	}
}

func checkWritten(t *testing.T, row []string) {
	expectText(t, "written", row[5], writeEdges(grid.SizesOf(mustBindRow(t, row))))
}

// parseGrowth parses a growth policy in the notation of the document.
func parseGrowth(t *testing.T, text string) grid.Growth {
	t.Helper()
	name, sizes, _ := strings.Cut(text, " ")
	switch {
	case text == "repeat":
		return grid.Repeat()
	case text == "one chunk":
		return grid.OneChunk()
	case name == "repeat":
		return grid.RepeatSize(number(t, sizes))
	case name == "list":
		return grid.Append(parseEdges(t, sizes).Runs()...)
	case name == "pattern":
		return grid.Cycle(parseEdges(t, sizes).Runs()...)
	}
	t.Fatalf("there is no policy %q", text)
	return grid.Growth{}
}

func checkPolicy(t *testing.T, row []string) {
	growth := parseGrowth(t, row[0])
	functions := map[string]grid.Growth{"grid.Repeat": grid.Repeat(), "grid.RepeatSize": grid.RepeatSize(25), "grid.OneChunk": grid.OneChunk(),
		"grid.Append": grid.Append(grid.Compress(25, 15)...), "grid.Cycle": grid.Cycle(grid.Compress(31, 28)...)}
	if want, ok := functions[row[2]]; !ok || !reflect.DeepEqual(growth, want) {
		t.Errorf("%s is not the policy %s", row[2], row[0])
	}
}

func checkResized(t *testing.T, row []string) {
	d, err := mustBindRow(t, row).Resize(number(t, row[2]), parseGrowth(t, row[3]))
	if row[4] == "error" {
		wantError(t, err)
		return
	}
	check(t, err)
	expectText(t, "edges", row[4], writeEdges(declared(d)))
	expectText(t, "chunks", row[5], d.Chunks())
	expectText(t, "last data size", row[6], dataSize(d, d.Chunks()-1))
}

// parseSelector parses an index or a slice.
func parseSelector(t *testing.T, text string) grid.Selector {
	t.Helper()
	parts := strings.Split(text, ":")
	if len(parts) == 1 {
		return grid.At(number(t, text))
	}
	s := grid.All()
	switch start, stop := parts[0] != "", parts[1] != ""; {
	case start && stop:
		s = grid.Range(number(t, parts[0]), number(t, parts[1]))
	case start:
		s = grid.From(number(t, parts[0]))
	case stop:
		s = grid.To(number(t, parts[1]))
	}
	if len(parts) == 3 {
		s = s.By(number(t, parts[2]))
	}
	return s
}

func checkSlice(t *testing.T, row []string) { checkChunksRead(t, row, grid.Basic) }

func checkBlocks(t *testing.T, row []string) { checkChunksRead(t, row, grid.Block) }

func checkChunksRead(t *testing.T, row []string, index func(*grid.Grid, ...grid.Selector) (*grid.Indexer, error)) {
	t.Helper()
	g, err := grid.New(mustBindRow(t, row))
	check(t, err)
	x, err := index(g, parseSelector(t, row[2]))
	if row[3] == "error" {
		wantError(t, err)
		return
	}
	check(t, err)
	var parts []string
	for c := x.Project(); c.Next(); {
		parts = append(parts, describe(c.Coords[0], &c.Axes[0]))
	}
	if got := strings.Join(parts, " "); got != strings.Replace(row[3], "–", "", 1) {
		t.Errorf("reads %s, the document says %s", got, row[3])
	}
}

// describe formats the selection of one chunk in the notation of the document.
func describe(chunk int64, a *grid.AxisProjection) string {
	text := fmt.Sprintf("%d[%d", chunk, a.In(0))
	switch {
	case a.Count > 1 && a.Step > 1:
		text += fmt.Sprintf(":%d:%d", a.In(a.Count-1)+1, a.Step)
	case a.Count > 1:
		text += fmt.Sprintf(":%d", a.In(a.Count-1)+1)
	}
	text += "]"
	if a.Dropped {
		return text
	}
	return text + fmt.Sprintf("→%d:%d", a.To(0), a.To(a.Count-1)+1)
}

func checkInner(t *testing.T, row []string) {
	d := mustBindRow(t, row)
	var sizes []int64
	check(t, json.Unmarshal([]byte(row[2]), &sizes))
	g, err := grid.New(d)
	check(t, err)
	if divides := g.CheckDivisible(sizes[:1]) == nil; divides != (row[3] == "yes") {
		t.Errorf("divides: %v, the document says %s", divides, row[3])
	}
	runs, err := grid.InnerEdges(d, sizes...)
	check(t, err)
	edges := []int64{}
	for edge := range grid.Expand(runs) {
		edges = append(edges, edge.Codec)
	}
	expectText(t, "inner edges", row[4], edges)
}

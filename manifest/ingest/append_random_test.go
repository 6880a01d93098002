package ingest

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest"
	"varve/zarrjson"
)

// facts formats the properties of arrays that info shows and that reading depends on.
func facts(t *testing.T, s *manifest.Snapshot) string {
	t.Helper()
	var all []any
	for i := range s.Arrays {
		a := &s.Arrays[i]
		schema, err := a.Schema.Encode(zarrjson.Indented)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a.Path, json.RawMessage(schema), a.Variables, a.Dims, a.Reading, a.Chunks)
	}
	text, err := json.MarshalIndent([]any{s.Sources, s.Refs, s.Groups, all}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// split divides files into a first part and one to three more, or into many small parts, so that
// tables are merged.
func split(r *rand.Rand, files []string) [][]string {
	first, most := 1+r.IntN(len(files)-1), 3
	if r.IntN(3) == 0 {
		first, most = 1, len(files)
	}
	parts := [][]string{files[:first]}
	for rest := files[first:]; len(rest) > 0; {
		n := len(rest)
		if most > 3 {
			n = min(n, 1+r.IntN(2))
		} else if len(parts) < most {
			n = 1 + r.IntN(len(rest))
		}
		parts, rest = append(parts, rest[:n]), rest[n:]
	}
	return parts
}

// TestRandomAppends: appending files in any parts and any order gives the same manifest as building
// all at once.
func TestRandomAppends(t *testing.T) {
	configured(t)
	var seen appended
	for seed := range soak.Seeds(t, 15) {
		r := rand.New(rand.NewPCG(seed, 2))
		a := newArchive(t, r, filepath.Join(t.TempDir(), "files"), []int{1, 2, 1, 3}[seed%4])
		if !seen.try(t, r, a) {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d appends extended the plan, %d made a new one", seen.behind, seen.anew)
	if (seen.behind == 0 || seen.anew == 0) && !soak.Selected() {
		t.Error("no append extended the plan, or none made a new one")
	}
}

// appended counts appends by method.
type appended struct {
	behind, anew int
}

// try builds a part of an archive and appends the others.
func (n *appended) try(t *testing.T, r *rand.Rand, a *archive) bool {
	t.Helper()
	files := a.files
	if r.IntN(2) == 0 && !a.squeezed {
		files = shuffled(r, files)
	}
	valueBytes := int64(0)
	if r.IntN(2) == 0 {
		if valueBytes = 1 + r.Int64N(40); a.broadcasts != nil {
			valueBytes += 8 // so that the values of a scalar are read
		}
	}
	opts := func(files []string) *Options {
		o := optionsFor(files...)
		o.ValueBytes = valueBytes
		if len(a.dims) > 1 { // the files of one part may not show along which dimensions they are concatenated
			o.Plan.Concat = a.dims
		}
		if a.broadcasts != nil {
			o.Plan.Broadcast = a.broadcasts.broadcast
		}
		return o
	}
	parts := split(r, files)
	out := filepath.Join(t.TempDir(), "a.varve")
	outcome, err := Build(t.Context(), out, opts(parts[0]))
	for _, part := range parts[1:] {
		if err != nil {
			break
		}
		before := outcome.Snapshot
		outcome, err = Append(t.Context(), out, opts(part))
		if err == nil {
			n.count(before, outcome.Snapshot)
		}
	}
	if err != nil {
		t.Errorf("%v: parts %q", err, parts)
		return false
	}
	if !a.check(t, out) || a.broadcasts != nil && !a.broadcasts.check(t, out) {
		t.Errorf("parts %q of %q", parts, a.files)
		return false
	}
	return !a.alike || a.broadcasts != nil || n.asBuilt(t, outcome.Snapshot, opts(files))
}

// count decides by the tables of tiles whether an append extended the plan. An append that merged
// tables counts as a new plan.
func (n *appended) count(before, after *manifest.Snapshot) {
	for _, table := range before.Tables {
		if table.Kind == manifest.Tiles && !slices.Contains(after.Tables, table) {
			n.anew++
			return
		}
	}
	n.behind++
}

// asBuilt compares an appended manifest with one that was built from all files.
func (n *appended) asBuilt(t *testing.T, got *manifest.Snapshot, opts *Options) bool {
	t.Helper()
	outcome, err := Build(t.Context(), filepath.Join(t.TempDir(), "a.varve"), opts)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := facts(t, got), facts(t, outcome.Snapshot); got != want {
		t.Errorf("appended\n%s\nbuilt\n%s", got, want)
		return false
	}
	return true
}

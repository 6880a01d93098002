package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/manifest/plan"
)

// TestAppendOverlaysEveryPlanFlag names every flag in turn: an append that forgets one would
// plan unlike what the user asked for.
func TestAppendOverlaysEveryPlanFlag(t *testing.T) {
	var opts combineOptions
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	opts.addPlanFlags(flags)
	values := map[string]string{"new-dim": "t=attr:x", "rename": "a=b", "broadcast": "a=time", "missing": "drop", "pad": "fill", "coords": "first", "units": "convert", "overlap": "last", "longitudes": "0..360", "join": "outer",
		"inline": "7", "strict": "true", "keep-foreign": "true", "rectilinear": "true", "padded": "true", "tolerance": "0.5", "chunk-edges": "a:time=3", "dtype": "a=float64", "repack": "a=0.5", "recipe": "era5"}
	flags.VisitAll(func(f *pflag.Flag) {
		var opts combineOptions
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		opts.addPlanFlags(cmd.Flags())
		value := values[f.Name]
		if f.Name == "curation" {
			value = filepath.Join(t.TempDir(), "curation.yaml")
			if err := os.WriteFile(value, []byte("variables: {a: {units: K}}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if value == "" {
			value = "some"
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			t.Fatal(err)
		}
		if err := opts.takeRecipe(cmd); err != nil {
			t.Fatal(err)
		}
		how, err := opts.options([]string{"x"}, nil)
		if err != nil {
			t.Fatalf("--%s: %v", f.Name, err)
		}
		merged := overlay(cmd, plan.Options{Inline: new(int64(plan.DefaultInline))}, how.Plan)
		before := plan.Options{Inline: new(int64(plan.DefaultInline))}
		if equalJSON(t, merged, before) {
			t.Errorf("--%s changes nothing", f.Name)
		}
	})
}

// TestAppendOverlaysOverrides: types that a manifest was built with stay where edges are given.
func TestAppendOverlaysOverrides(t *testing.T) {
	built := plan.Options{Schemas: []plan.Override{{Array: "a", Type: "float64"}, {Array: "a", Chunks: map[string][]int64{"time": {3}}}}}
	for flag, want := range map[string]plan.Options{
		"chunk-edges=b:time=5": {Schemas: []plan.Override{{Array: "a", Type: "float64"}, {Array: "b", Chunks: map[string][]int64{"time": {5}}}}},
		"dtype=b=int8":         {Schemas: []plan.Override{{Array: "a", Chunks: map[string][]int64{"time": {3}}}, {Array: "b", Type: "int8"}}},
	} {
		var opts combineOptions
		cmd := &cobra.Command{}
		opts.addPlanFlags(cmd.Flags())
		name, value, _ := strings.Cut(flag, "=")
		if err := cmd.Flags().Set(name, value); err != nil {
			t.Fatal(err)
		}
		how, err := opts.options([]string{"x"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if merged := overlay(cmd, built, how.Plan); !equalJSON(t, merged, want) {
			t.Errorf("--%s: %+v", flag, merged.Schemas)
		}
	}
}

// TestAppendOverlaysFlip: only directions of dimensions that are named again are replaced.
func TestAppendOverlaysFlip(t *testing.T) {
	if got := flips(map[string]plan.Direction{"lat": plan.Increasing}, nil); len(got) != 1 {
		t.Error(got)
	}
	got := flips(map[string]plan.Direction{"lat": "", "/lat": plan.Increasing, "/a/lon": plan.Increasing, "z": plan.Decreasing},
		map[string]plan.Direction{"lat": plan.Decreasing, "depth": ""})
	if want := map[string]plan.Direction{"lat": plan.Decreasing, "/a/lon": plan.Increasing, "z": plan.Decreasing, "depth": ""}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func equalJSON(t *testing.T, a, b plan.Options) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}

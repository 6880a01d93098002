package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"varve/manifest"
)

// TestInfoWhy: info --why lists each re-encoded chunk with its reason and files, and the counts agree.
func TestInfoWhy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	mustRun(t, "demo", dir)
	out := filepath.Join(dir, "t2m.varve")
	var said struct {
		Counts countsJSON `json:"counts"`
		Chunks []chunkWhy `json:"chunks"`
	}
	if err := json.Unmarshal([]byte(mustRun(t, "info", out, "t2m", "--why", "--json")), &said); err != nil {
		t.Fatal(err)
	}
	if int64(len(said.Chunks)) != said.Counts.Reencoded || len(said.Chunks) == 0 {
		t.Errorf("%d chunks, and %+v", len(said.Chunks), said.Counts)
	}
	for _, c := range said.Chunks {
		if len(c.Reasons) != 1 || c.Reasons[0] != manifest.OtherCodecs || len(c.Sources) != 1 || filepath.Base(c.Sources[0]) != "2021-03.nc" {
			t.Errorf("%+v", c)
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "info", out, "t2m", "0/1/0", "--why", "--json")), &said); err != nil || len(said.Chunks) != 1 || said.Chunks[0].Kind != "verbatim" || len(said.Chunks[0].Reasons) != 0 {
		t.Errorf("%v: %+v", err, said.Chunks)
	}
	for _, args := range [][]string{{"info", out, "--why"}, {"info", out, "t2m", "9/0/0", "--why"}, {"info", out, "t2m", "x", "--why"}, {"info", out, "t2m", "0/0/0"}} {
		if text, err := runCommand(t, t.Context(), args...); err == nil {
			t.Errorf("%v: %s", args, text)
		}
	}
}

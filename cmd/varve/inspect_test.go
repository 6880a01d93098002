package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/manifest/report/reporttest"
)

// record is for what inspect prints in testdata/inspect, and for messages.
var record = reporttest.Record

const sampleDir = "../../fixtures/hdf5"

// inspect runs the command and returns what it printed.
func inspect(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := newInspectCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func TestInspectText(t *testing.T) {
	for _, name := range []string{"netcdf4.nc", "filter_masks.h5", "layouts.h5", "types.h5"} {
		t.Run(name, func(t *testing.T) {
			got, err := inspect(t, filepath.Join(sampleDir, name))
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "inspect", name+".txt")
			if *record {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("inspect printed\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestInspectJSON: there is one line for each file, in the order of the arguments, also for files that
// cannot be read.
func TestInspectJSON(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.nc")
	if err := os.WriteFile(page, []byte("<!DOCTYPE html><p>404"), 0o644); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(sampleDir, "index_btree2.h5")
	out, err := inspect(t, "--json", "--checksum", "--values", page, good, filepath.Join(t.TempDir(), "absent.nc"))
	if err == nil {
		t.Error("two files that cannot be read are no error")
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines: %s", len(lines), out)
	}
	for i, want := range []string{"error", "ok", "error"} {
		var doc struct {
			Status, Error, Kind string
			Objects             []struct {
				Path   string
				Chunks struct {
					N      int
					Sha256 string
				}
				Values string
			}
		}
		if err := json.Unmarshal([]byte(lines[i]), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Status != want {
			t.Errorf("file %d is %q, %s, want %q", i, doc.Status, doc.Error, want)
		}
		if want == "error" && doc.Error == "" {
			t.Errorf("file %d: no reason", i)
		}
		for _, o := range doc.Objects {
			if o.Path == "/plain" && (o.Chunks.N != 99 || len(o.Chunks.Sha256) != 64 || len(o.Values) != 64) {
				t.Errorf("/plain: %+v", o)
			}
		}
	}
	if !strings.Contains(lines[0], "HTML") {
		t.Errorf("a saved error page is not called one: %s", lines[0])
	}
}

func TestInspectRefusesHashesWithoutJSON(t *testing.T) {
	if _, err := inspect(t, "--values", filepath.Join(sampleDir, "netcdf4.nc")); err == nil {
		t.Error("--values without --json is accepted")
	}
}

package ingest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/relocate"
	"varve/manifest/scan"
	"varve/manifest/store"
	"varve/manifest/verify"
	"varve/readers"
	"varve/readers/source"
)

// storedGRIB copies a manifest that varve wrote before formats declared their options as data:
//
//	cp fixtures/gribindex/gfs.20240101.f006.grib2 /tmp/varve-archive/
//	varve build grib.varve /tmp/varve-archive/gfs.20240101.f006.grib2 --names eccodes --grib-times valid --grib-index ignore --vars 2t,prmsl
func storedGRIB(t *testing.T) (dir, archive string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a.varve")
	if err := os.CopyFS(dir, os.DirFS("testdata/options/grib.varve")); err != nil {
		t.Fatal(err)
	}
	archive, err := filepath.Abs("../../fixtures/gribindex")
	if err == nil {
		_, err = relocate.Relocate(t.Context(), dir, &relocate.Options{Moves: []relocate.Move{{From: versionsFolder, To: archive}}, Allow: []string{archive}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, archive
}

// TestStoredGRIBOptions reads a stored manifest that has options of GRIB, and appends a file. Its arrays must equal those of a manifest
// that is built of both files now.
func TestStoredGRIBOptions(t *testing.T) {
	configured(t)
	dir, archive := storedGRIB(t)
	first, second := filepath.Join(archive, "gfs.20240101.f006.grib2"), filepath.Join(archive, "gfs.20240102.f006.grib2")
	before, _ := decoded(t, dir, "/2t", false)
	if _, err := Append(t.Context(), dir, optionsFor(second)); err != nil {
		t.Fatal(err)
	}
	fresh, opts := filepath.Join(t.TempDir(), "fresh.varve"), optionsFor(first, second)
	inline := int64(plan.DefaultInline)
	opts.Plan.Vars, opts.Plan.Inline = []string{"2t", "prmsl"}, &inline
	opts.Plan.Formats = readers.Settings{"names": "eccodes", "grib-times": "valid"}
	if _, err := Build(t.Context(), fresh, opts); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/2t", "/prmsl", "/time", "/latitude"} {
		got, _ := decoded(t, dir, path, false)
		want, _ := decoded(t, fresh, path, false)
		if !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("%s has the values %v, not %v", path, got, want)
		}
	}
	if after, _ := decoded(t, dir, "/2t", false); len(after) != 2*len(before) || !slices.Equal(after[:len(before)], before) {
		t.Errorf("%d values became %v", len(before), after)
	}
	// The keys are those that earlier versions of varve read.
	var old, now map[string]any
	if err := errors.Join(json.Unmarshal(mustCheck(t, dir).Options, &old), json.Unmarshal(mustCheck(t, fresh).Options, &now)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(old, now) || old["Names"] != "eccodes" || old["GRIBTimes"] != "valid" {
		t.Errorf("the options are stored as %v, and now as %v", old, now)
	}
	other := optionsFor(second)
	other.Plan.Formats = readers.Settings{"names": "wgrib2"}
	if _, err := Append(t.Context(), dir, other); err == nil {
		t.Error("a file was appended with other names")
	}
}

// TestVerifyWithOptions: a source is read again with the options of the manifest, and a variable that it lacks is damage.
func TestVerifyWithOptions(t *testing.T) {
	configured(t)
	dir, archive := storedGRIB(t)
	s, err := store.Open(t.Context(), dir, &store.Options{Allow: []string{archive}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err := verify.Verify(t.Context(), s, &verify.Options{Deep: true}); err != nil || len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	src, err := source.Open(t.Context(), filepath.Join(archive, "gfs.20240101.f006.grib2"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	header := &manifest.Header{Variables: []*manifest.Variable{{Path: "/2t"}}}
	for names, isThere := range map[string]bool{"eccodes": true, "cf": false} {
		err := scan.Verify(t.Context(), src, header, &manifest.GroupAttributes{}, source.NewOpener(nil), readers.Settings{"names": names})
		if (err == nil) != isThere || !isThere && !errors.Is(err, readers.ErrCorrupt) {
			t.Errorf("names=%s: %v", names, err)
		}
	}
}

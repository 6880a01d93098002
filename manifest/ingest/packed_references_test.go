package ingest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/manifest/ingest"
	"varve/manifest/verify"
	"varve/readers/source"
	"varve/readers/source/storetest"
)

// TestPackedReferences checks that files in archives refer to files in the same archive: virtual datasets, external files and links.
func TestPackedReferences(t *testing.T) {
	m := storetest.NewMemory(t)
	names := []string{
		"layouts.h5", "layouts.raw", "links_target.h5", "virtual.h5", "virtual_matched.h5", "virtual_numbered.h5", "virtual_part_0.h5",
		"virtual_part_1.h5", "virtual_part_3.h5", "virtual_source.h5", "virtual_sources.h5", "phony_virtual_1.h5", "phony_numbers_1.h5",
	}
	files := make([][]byte, len(names))
	plain := t.TempDir()
	for i, name := range names {
		b, err := os.ReadFile("../../fixtures/hdf5/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "layouts.raw" {
			b = []byte("\x01\x00\x02\x00\x03\x00\x04\x01") // that of the fixtures is too short
		}
		files[i] = b
		writeFile(t, filepath.Join(plain, name), b)
		m.Put("bucket/plain/"+name, b)
	}
	steps := map[string]string{"zip": "all.zip|zip:years/", "stored zip": "all.zip|zip:years/", "tar": "all.tar|tar:years/", "tar.gz": "all.tar.gz|gzip:|tar:years/"}
	folders := map[string]string{}
	tarred := tarOf(t, "years/", names, files)
	for how := range steps {
		folders[how] = t.TempDir()
		switch how {
		case "tar":
			writeFile(t, filepath.Join(folders[how], "all.tar"), tarred)
		case "tar.gz":
			writeFile(t, filepath.Join(folders[how], "all.tar.gz"), gzipped(t, tarred))
		default:
			packers[how](t, folders[how], names, files)
		}
		list, err := os.ReadDir(folders[how])
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		b, err := os.ReadFile(filepath.Join(folders[how], list[0].Name()))
		if err != nil {
			t.Fatal(err)
		}
		m.Put("bucket/"+how+"/"+list[0].Name(), b)
	}
	for _, name := range []string{"virtual.h5", "virtual_matched.h5", "virtual_numbered.h5", "layouts.h5", "phony_virtual_1.h5"} {
		dir := t.TempDir()
		build := func(out, in string) (map[string][]float64, error) {
			out = filepath.Join(dir, out)
			if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{in}}}); err != nil {
				return nil, err
			}
			st := openPacked(t, out, &inflations{})
			r, err := verify.Verify(t.Context(), st, &verify.Options{Deep: true})
			if err != nil || len(r.Problems) > 0 {
				t.Errorf("verify %s: %+v, %v", in, r, err)
			}
			return valuesOf(t, st), nil
		}
		want, err := build("plain.varve", filepath.Join(plain, name))
		if len(want) == 0 || err != nil {
			t.Fatalf("%s has no arrays: %v", name, err)
		}
		link := filepath.Join(dir, "link.zip")
		if err := os.Symlink(filepath.Join(folders["zip"], "all.zip"), link); err != nil {
			t.Fatal(err)
		}
		if got, err := build("link.varve", link+"|zip:years/"+name); err != nil || !sameValues(got, want) {
			t.Errorf("%s in an archive behind a link: got %v, want %v; %v", name, got, want, err)
		}
		// Values that only the reader can decode are refused in object stores.
		far, failed := build("far.varve", "s3://bucket/plain/"+name)
		for how, step := range steps {
			if got, err := build(how+".varve", filepath.Join(folders[how], step+name)); err != nil || !sameValues(got, want) {
				t.Errorf("%s in %s: got %v, want %v; %v", name, how, got, want, err)
			}
			got, err := build(how+" far.varve", "s3://bucket/"+how+"/"+step+name)
			if (err == nil) != (failed == nil) || !sameValues(got, far) {
				t.Errorf("%s in %s in an object store: got %v, want %v; %v", name, how, got, far, err)
			}
		}
	}
}

// tarOf returns a tar file with files in a folder.
func tarOf(t testing.TB, folder string, names []string, files [][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i, name := range names {
		err := w.WriteHeader(&tar.Header{Name: folder + name, Size: int64(len(files[i])), Mode: 0o644})
		if err == nil {
			_, err = w.Write(files[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// zipOf returns a zip file with files of any content.
func zipOf(t testing.TB, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		m, err := w.Create(name)
		if err == nil {
			_, err = m.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestMatchInArchives checks that a pattern selects members of the archives in folders, prefixes and results of searches.
func TestMatchInArchives(t *testing.T) {
	m := storetest.NewMemory(t)
	dir := t.TempDir()
	tarred := tarOf(t, "m/", []string{"e.nc", "f.txt"}, [][]byte{{1}, {2}})
	for name, content := range map[string][]byte{
		"a.nc":              []byte("a"),
		"b.txt":             []byte("b"),
		"x.zip":             zipOf(t, "c.nc", "m/d.txt"),
		"deep/y.tar.gz":     gzipped(t, tarred),
		"deep/none.zip":     zipOf(t, "g.txt"),
		"deep/zarr.zip":     zipOf(t, "zarr.json"),
		"deep/zarr.nc.zip":  zipOf(t, "zarr.json"),
		"deep/h.txt.gz":     gzipped(t, []byte("h")),
		"deep/.hidden.zip":  zipOf(t, "c.nc"),
		"texts/texts.zip":   zipOf(t, "g.txt"),
		"granules/data.zip": zipOf(t, "c.nc"),
	} {
		writeFile(t, filepath.Join(dir, "files", filepath.FromSlash(name)), content)
		m.Put("bucket/files/"+name, content)
	}
	search := writeFile(t, filepath.Join(dir, "items.json"), []byte(`{"type":"FeatureCollection","features":[
		{"id":"1","assets":{"data":{"href":"s3://bucket/files/granules/data.zip"}}},
		{"id":"2","assets":{"data":{"href":"s3://bucket/files/a.nc"}}}]}`))
	for _, root := range []string{filepath.Join(dir, "files"), "s3://bucket/files"} {
		for _, c := range []struct {
			names, searches []string
			match           string
			want            []string
		}{
			{names: []string{root + "/"}, match: "*.nc", want: []string{"a.nc", "deep/y.tar.gz|gzip:|tar:m/e.nc", "granules/data.zip|zip:c.nc", "x.zip|zip:c.nc"}},
			{names: []string{root + "/"}, match: "*.nc*", want: []string{"a.nc", "deep/y.tar.gz|gzip:|tar:m/e.nc", "deep/zarr.nc.zip", "granules/data.zip|zip:c.nc", "x.zip|zip:c.nc"}},
			{names: []string{root + "/deep/zarr.zip"}, match: "*.nc", want: []string{"deep/zarr.zip"}},
			{names: []string{root + "/**/*.zip"}, match: "[cd].*", want: []string{"granules/data.zip|zip:c.nc", "x.zip|zip:c.nc", "x.zip|zip:m/d.txt"}},
			{searches: []string{search}, match: "*.nc", want: []string{"granules/data.zip|zip:c.nc", "a.nc"}},
		} {
			base := root
			if c.searches != nil {
				base = "s3://bucket/files"
			}
			var want []string
			for _, name := range c.want {
				want = append(want, base+"/"+name)
			}
			got, err := (&ingest.Sources{Names: c.names, Searches: c.searches, Match: c.match}).Expand(t.Context())
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, %q, %s: got %q, want %q, %v", c.names, c.searches, c.match, got, want, err)
			}
		}
		if got, err := (&ingest.Sources{Names: []string{root + "/texts/"}, Match: "*.nc"}).Expand(t.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no member matches: %q, %v", got, err)
		}
	}
}

// TestSyncFilesPacked checks that an event for an archive or a compressed file, however it was named, needs a whole sync.
func TestSyncFilesPacked(t *testing.T) {
	for _, how := range []string{"zip", "tar.gz", "gz"} {
		dir := t.TempDir()
		packers[how](t, filepath.Join(dir, "in"), []string{"day1.nc"}, [][]byte{dayFile(t, 1)})
		list, err := filepath.Glob(filepath.Join(dir, "in", "*"))
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		folder := &ingest.Options{Sources: ingest.Sources{Names: []string{filepath.Join(dir, "in")}, Match: "*.nc*"}}
		members, err := folder.Sources.Expand(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// A file without an ending is named with its steps.
		bare := filepath.Join(dir, "bare")
		if err := os.Link(list[0], bare); err != nil {
			t.Fatal(err)
		}
		_, steps := source.CutPacked(members[0])
		for i, c := range []struct {
			opts    *ingest.Options
			changed string
		}{
			{folder, list[0]},
			{&ingest.Options{Sources: ingest.Sources{Names: members}}, list[0]},
			{&ingest.Options{Sources: ingest.Sources{Names: []string{bare + steps}}}, bare},
		} {
			out := filepath.Join(dir, fmt.Sprint(i, ".varve"))
			if _, err := ingest.Build(t.Context(), out, c.opts); err != nil {
				t.Fatal(err)
			}
			if _, err := ingest.SyncFiles(t.Context(), out, []string{c.changed}, c.opts); !errors.Is(err, ingest.ErrWholeSync) {
				t.Errorf("%s: an event for %s: %v", how, c.changed, err)
			}
		}
	}
}

package ingest_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"varve/manifest/ingest"
	"varve/manifest/verify"
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

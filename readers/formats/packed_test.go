package formats_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// referring lists samples that refer to other files, and samples to which they refer.
var referring = []string{
	"hdf4/external.hdf", "hdf4/external.raw", "hdf5/layouts.h5", "hdf5/layouts.raw", "hdf5/virtual.h5", "hdf5/virtual_matched.h5",
	"hdf5/virtual_numbered.h5", "hdf5/virtual_part_0.h5", "hdf5/virtual_part_1.h5", "hdf5/virtual_part_3.h5", "hdf5/virtual_source.h5",
	"hdf5/virtual_sources.h5",
}

func sampleBytes(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../fixtures/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pack writes samples to an archive, in a folder of it.
func pack(t *testing.T, name, folder string, samples []string) {
	t.Helper()
	var out bytes.Buffer
	var closers []io.Closer
	var add func(name string, b []byte) error
	if filepath.Ext(name) == ".zip" {
		w := zip.NewWriter(&out)
		closers = append(closers, w)
		add = func(name string, b []byte) error {
			m, err := w.Create(name)
			if err == nil {
				_, err = m.Write(b)
			}
			return err
		}
	} else {
		to := io.Writer(&out)
		if filepath.Ext(name) == ".tgz" {
			z := gzip.NewWriter(&out)
			to, closers = z, append(closers, z)
		}
		w := tar.NewWriter(to)
		closers = append([]io.Closer{w}, closers...)
		add = func(name string, b []byte) error {
			err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(b)), Mode: 0o644})
			if err == nil {
				_, err = w.Write(b)
			}
			return err
		}
	}
	for _, s := range samples {
		if err := add(folder+filepath.Base(s), sampleBytes(t, s)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range closers {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// allValues returns the values of all variables that can be read, by path.
func allValues(t *testing.T, name string) map[string]string {
	t.Helper()
	o := source.NewOpener(nil)
	defer o.Close()
	src, err := o.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dataset, err := formats.Open(t.Context(), src, &readers.Config{Opener: o})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	out := map[string]string{}
	for _, v := range dataset.Root.Variables {
		value, err := v.ReadAll(t.Context(), 1<<20)
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", name, v.Path, err)
		}
		out[v.Path] = string(value.Data) + string(bytes.Join(value.Texts, []byte{0}))
	}
	return out
}

// TestReferencesInArchives checks that members of archives refer to other members.
func TestReferencesInArchives(t *testing.T) {
	dir := t.TempDir()
	for archive, steps := range map[string]string{"x.zip": "|zip:", "x.tar": "|tar:", "x.tgz": "|gzip:|tar:"} {
		for _, folder := range []string{"", "m/n/"} {
			name := filepath.Join(dir, archive)
			pack(t, name, folder, referring)
			for _, sample := range referring {
				if filepath.Ext(sample) == ".raw" {
					continue
				}
				want := allValues(t, "../../fixtures/"+sample)
				got := allValues(t, name+steps+folder+filepath.Base(sample))
				if len(want) == 0 || len(got) != len(want) {
					t.Errorf("%s in %s: %d variables, want %d", sample, archive, len(got), len(want))
				}
				for path, w := range want {
					if got[path] != w {
						t.Errorf("%s in %s: %s: got %x, want %x", sample, archive, path, got[path], w)
					}
				}
			}
		}
	}
}

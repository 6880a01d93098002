package scan

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/manifest"
	"varve/readers/source"
)

// again is a sink that can restart.
type again struct {
	refs    []manifest.Ref
	inline  [][]byte
	calls   int
	restart int
	points  []*source.Points
}

func (s *again) Append(rows *manifest.RefColumns) error {
	s.calls++
	for i := range rows.Offsets {
		s.refs = append(s.refs, rows.At(i))
	}
	return nil
}

func (s *again) FilePoints(_ context.Context, _ int64, _ *manifest.Source, points *source.Points) error {
	s.points = append(s.points, points)
	return nil
}

func (s *again) Inline(b []byte) (int64, error) {
	s.inline = append(s.inline, bytes.Clone(b))
	return int64(len(s.inline) - 1), nil
}

func (s *again) Restart(context.Context) error {
	*s = again{restart: s.restart + 1}
	return nil
}

// scanIn scans with the given number of rows per batch; 0 disables batches.
func scanIn(t *testing.T, batch int, names []string, skip bool) (*Result, *again) {
	t.Helper()
	sink := &again{}
	o := (&Options{Sink: sink, SkipBroken: skip}).withDefaults()
	o.Opener = source.NewOpener(nil)
	defer o.Opener.Close()
	o.setReaders()
	s := &scanner{Options: o, shared: newInterner(), early: batch > 0, batch: batch}
	found, err := s.all(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	return found, sink
}

func checkSame(t *testing.T, batch int, names []string, skip bool) (early *again) {
	t.Helper()
	want, whole := scanIn(t, 0, names, skip)
	got, early := scanIn(t, batch, names, skip)
	if !slices.Equal(early.refs, whole.refs) || !reflect.DeepEqual(early.inline, whole.inline) {
		t.Errorf("batches of %d: %d refs, %d inline; without %d, %d", batch, len(early.refs), len(early.inline), len(whole.refs), len(whole.inline))
	}
	if got.Rows != want.Rows || len(got.Files) != len(want.Files) || len(got.Broken) != len(want.Broken) {
		t.Fatalf("batches of %d: %d rows of %d files, %d broken; without %d of %d, %d",
			batch, got.Rows, len(got.Files), len(got.Broken), want.Rows, len(want.Files), len(want.Broken))
	}
	for i, f := range got.Files {
		if w := want.Files[i]; f.Row != w.Row || f.Bytes != w.Bytes || f.Header.ID != w.Header.ID || !reflect.DeepEqual(f.Parts, w.Parts) {
			t.Errorf("%s: row %d, %d bytes; without batches row %d, %d bytes", f.URL, f.Row, f.Bytes, w.Row, w.Bytes)
		}
	}
	return early
}

// hdf5Fixtures returns the HDF5 files that can be read completely.
func hdf5Fixtures(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir("../../fixtures", func(name string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(name); err == nil && (ext == ".nc" || ext == ".h5") && !strings.Contains(name, "broken") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestStream checks that the rows that are passed on while files are read equal the rows of complete files.
func TestStream(t *testing.T) {
	names := hdf5Fixtures(t)
	plain, early := 0, 0
	for _, batch := range []int{1, 3, 50} {
		sink := checkSame(t, batch, names, true)
		_, whole := scanIn(t, 0, names, true)
		plain, early = plain+whole.calls, early+sink.calls
	}
	t.Logf("the sink got the rows of %d files in %d calls, and in %d calls without batches", len(names), early, plain)
	if early < plain+100 {
		t.Error("too few batches for this test")
	}
}

// TestTakenBack checks that rows of a broken file are removed.
func TestTakenBack(t *testing.T) {
	names, folder := hdf5Fixtures(t), t.TempDir()
	restarts := 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []int{10, 9, 7} {
			cut := filepath.Join(folder, "cut.h5")
			for at := range 64 {
				data[len(data)*part/11+at*len(data)/1000] ^= 0xff
			}
			if err := os.WriteFile(cut, data, 0o644); err != nil {
				t.Fatal(err)
			}
			restarts += checkSame(t, 2, []string{names[0], cut, names[len(names)-1]}, true).restart
		}
	}
	t.Logf("%d scans were restarted", restarts)
	if restarts == 0 {
		t.Error("no scan was restarted")
	}
}

// TestStreamCancelled checks that a cancelled scan ends, whether its files are being read, waiting for a
// worker, or waiting for their turn.
func TestStreamCancelled(t *testing.T) {
	names := hdf5Fixtures(t)
	for at := range 300 {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Duration(at)*50*time.Microsecond, cancel)
		done := make(chan error, 1)
		go func() {
			_, err := Scan(ctx, names, &Options{Workers: 1 + at%3, Sink: &again{}, SkipBroken: true})
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled after %d steps: %v", at, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("cancelled after %d steps, but did not end", at)
		}
		cancel()
	}
}

// TestCutRefs checks that cut removes rows from all columns and from the number of stored bytes.
func TestCutRefs(t *testing.T) {
	r := newRefs()
	defer r.free()
	r.set(r.add(2), manifest.Ref{Offset: 8, Size: 5, Mask: 1})
	r.set(r.add(1), manifest.Ref{Offset: 90, Size: 7, Other: 2})
	r.cut(1)
	if r.len() != 1 || r.stored != 5 || len(r.Masks) != 1 || len(r.Others) != 1 {
		t.Errorf("%+v", r)
	}
}

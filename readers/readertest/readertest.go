// Package readertest is the conformance suite of readers. A test of a format passes its readers.Format and small valid sources to
// Run, or to RunFolder if sources are folders:
//
//	readertest.Run(t, Format(), readertest.Sample{Name: "sample.grd", Data: data})
//
// # What a reader must do
//
//   - Find its sources by their content, whatever their names are. A source in which a byte of the magic differs is not of the
//     format, and Open refuses it too: it may be called without Detect. Text, HTML, zeros and no bytes at all are not of the format. Detect is also called for folders, which Source.IsFolder tells.
//   - Return the same dataset for the same bytes: from memory or a file, from one goroutine or many, and also if other sources were
//     read meanwhile. The first words of Dataset.Format are the name of the format or one of its aliases. Refs of chunks are within the source.
//   - Never write to a source.
//   - Treat all bytes as hostile. Damage is an error of Open, an entry in Problems, or an error where values and refs are read, and never
//     a panic. The error of Open is a readers.Error with the name of the source, and the offset or the object, unless a source ends too early or
//     has no magic. It wraps readers.ErrCorrupt if bytes
//     violate the format, and errors.ErrUnsupported if they are valid but not supported. A source that lacks its last bytes must not
//     give another dataset without such a mark.
//   - Read within the source only: compare an offset or length in the source with Source.Size before a read.
//   - Allocate what the size of the source justifies, and no more than a number in the source claims. The suite does not measure that.
//   - Return an error of the storage as it is, not as damage: it may be gone with the next attempt.
//   - Stop when the context ends, and return its error. Pass the context to each read.
//   - Work with the default of each option, whose help has at most 100 characters, and accept only the values of its kind.
//
// The suite opens each sample whole, truncated after every byte, with every byte changed, on storage that fails, with a cancelled
// context, from many goroutines at once, and as a file that may not be written.
package readertest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/readers"
	"varve/readers/source"
)

// Sample is a small valid source.
type Sample struct {
	Name string
	Data []byte
	// Whole lists lengths at which a truncated sample is a valid source too, so that the truncation
	// cannot be detected.
	Whole []int
}

// maxCuts limits the number of positions that are tried in a sample, and maxShortCuts in short
// tests. Smaller samples are tried at every byte.
const (
	maxCuts      = 4 << 10
	maxShortCuts = 256
)

// tested is a format with its reader.
type tested struct {
	readers.Format
	readers.Reader
}

// newTested returns the reader of a format with default options, whose declarations it tests.
func newTested(t *testing.T, f readers.Format) tested {
	t.Helper()
	if f.Name == "" || f.Detect == nil && len(f.Magic) == 0 {
		t.Fatalf("the format %q needs a name, and Magic or Detect", f.Name)
	}
	for _, o := range f.Options {
		if _, err := o.Value(readers.Settings{o.Name: o.DefaultValue()}); err != nil {
			t.Errorf("option %s: the default %v: %v", o.Name, o.DefaultValue(), err)
		}
		if _, err := o.Value(readers.Settings{o.Name: struct{}{}}); err == nil {
			t.Errorf("option %s takes any value", o.Name)
		}
		if o.Help == "" || len(o.Help) > maxHelp {
			t.Errorf("option %s: the help has %d characters; want 1 to %d", o.Name, len(o.Help), maxHelp)
		}
	}
	reader, err := f.Reader(nil)
	if err != nil {
		t.Fatal(err)
	}
	return tested{f, reader}
}

// maxHelp limits the help of an option, so that it fits into a line.
const maxHelp = 100

// Run runs the suite with a format and samples of it.
func Run(t *testing.T, format readers.Format, samples ...Sample) {
	if len(samples) == 0 {
		t.Fatal("no samples")
	}
	reader := newTested(t, format)
	t.Run("other content", func(t *testing.T) { testOther(t, reader) })
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) { runSample(t, reader, s) })
	}
}

func runSample(t *testing.T, reader tested, s Sample) {
	whole := Describe(context.Background(), reader, s.source())
	if whole.Err != nil {
		t.Fatalf("the whole sample: %v", whole.Err)
	}
	if whole.Marked {
		t.Fatalf("the undamaged sample has problems, which would hide damage:\n%s", whole.Text)
	}
	if is, err := reader.Detects(context.Background(), s.source()); !is || err != nil {
		t.Fatalf("Detect: got %v, %v", is, err)
	}
	for name, run := range map[string]func(*testing.T, tested, Sample, Description){
		"placed":      testPlaced,
		"wrong magic": testMagic,
		"cut off":     testCuts,
		"changed":     testChanges,
		"failing":     testFailing,
		"cancelled":   testCancelled,
		"concurrent":  testConcurrent,
		"untouched":   testUntouched,
	} {
		t.Run(name, func(t *testing.T) { run(t, reader, s, whole) })
	}
}

func (s Sample) source() *source.Source { return source.New(s.Name, &Memory{Data: s.Data}) }

// testOther opens sources of no format, and folders.
func testOther(t *testing.T, reader tested) {
	for name, data := range map[string]string{
		"nothing":  "",
		"one byte": "C",
		"zeros":    strings.Repeat("\x00", 4096),
		"a page":   "<!DOCTYPE html>\n<html><body>404</body></html>",
		"text":     "CDF, HDF5, SIMPLE, Dataset and others are names of formats.\n",
	} {
		src := source.New(name, &Memory{Data: []byte(data)})
		if is, err := reader.Detects(context.Background(), src); is || err != nil {
			t.Errorf("%s: Detect gave %v, %v", name, is, err)
		}
		if _, err := reader.Open(context.Background(), src); err == nil {
			t.Errorf("%s: Open gave no error", name)
		}
	}
	for _, files := range []map[string][]byte{{}, {"a.txt": []byte("text")}, {"sub/zarr.json": []byte("{}")}} {
		testNot(t, reader, FolderSample{Name: "folder", Files: files}.source())
	}
}

// testMagic changes the magic of the format: each of its bytes, or the first four bytes together if only Detect knows it.
func testMagic(t *testing.T, reader tested, s Sample, _ Description) {
	changes := [][]int{{0, 1, 2, 3}}
	if reader.Detect == nil {
		changes = nil
		for _, m := range reader.Magic {
			if end := m.At + int64(len(m.Bytes)); end <= int64(len(s.Data)) && string(s.Data[m.At:end]) == m.Bytes {
				for i := m.At; i < end; i++ {
					changes = append(changes, []int{int(i)})
				}
			}
		}
	}
	for _, places := range changes {
		data := bytes.Clone(s.Data)
		for _, i := range places {
			data[i] ^= 0x20
		}
		testNot(t, reader, source.New(s.Name, &Memory{Data: data}))
	}
}

// testPlaced compares the dataset of a sample with what the format declares, and its refs with the size of the sample.
func testPlaced(t *testing.T, reader tested, s Sample, _ Description) {
	data, err := reader.Open(context.Background(), s.source())
	if err != nil {
		t.Fatal(err)
	}
	if !reader.Describes(data.Format) {
		t.Errorf("the dataset has the format %q; want one whose first words are %q or one of %q", data.Format, reader.Name, reader.Aliases)
	}
	size := uint64(len(s.Data))
	for path, v := range Variables(data) {
		for ref, err := range v.Storage.Refs(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if within := uint64(ref.Offset) <= size && ref.Size <= size-uint64(ref.Offset); v.Storage.Source == "" && ref.Other == nil && !within {
				t.Errorf("%s: chunk %v has %d bytes at %d, in a source of %d", path, ref.Index, ref.Size, ref.Offset, size)
			}
		}
	}
}

// checkDamage tests the error of Open for a source with damage at a byte. isPlaced demands an offset or an object.
func checkDamage(t *testing.T, name string, at int, err error, isPlaced bool) {
	t.Helper()
	var where *readers.Error
	switch {
	case err == nil:
	case !errors.Is(err, readers.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported):
		t.Errorf("damage at byte %d is neither readers.ErrCorrupt nor errors.ErrUnsupported: %v", at, err)
	case !errors.As(err, &where) || where.Source != name:
		t.Errorf("damage at byte %d: the error does not name the source: %v", at, err)
	case isPlaced && where.Offset < 0 && where.Path == "" && !isTooShort(err):
		t.Errorf("damage at byte %d: the error names neither an offset nor an object: %v", at, err)
	}
}

// isTooShort reports whether an error says that a source ends too early, which is true of all of it. All readers say it with
// these words.
func isTooShort(err error) bool { return strings.Contains(err.Error(), "file is truncated") }

// step returns the distance of the positions that are tried.
func (s Sample) step() int {
	places := maxCuts
	if testing.Short() {
		places = maxShortCuts
	}
	return len(s.Data)/places + 1
}

func testCuts(t *testing.T, reader tested, s Sample, whole Description) {
	for n := 0; n < len(s.Data); n += s.step() {
		if slices.Contains(s.Whole, n) {
			continue
		}
		ranges := &Memory{Data: s.Data[:n]}
		got := Describe(context.Background(), reader, source.New(s.Name, ranges))
		if !got.marked() && got.Text != whole.Text {
			t.Errorf("the first %d of %d bytes: neither an error nor a problem, and a different dataset:\n%s", n, len(s.Data), got.Text)
		}
		checkDamage(t, s.Name, n, got.Err, false) // that a source ends too early is true of all of it
		ranges.report(t, n)
	}
}

// testChanges checks that reading does not panic or read outside, and errors: a change may be valid.
func testChanges(t *testing.T, reader tested, s Sample, _ Description) {
	masks := []byte{0xff, 0x01, 0x80, 0x20}
	for n := 0; n < len(s.Data); n += s.step() {
		data := bytes.Clone(s.Data)
		// Different masks hit flags, high bits and letters.
		data[n] ^= masks[n%len(masks)]
		ranges := &Memory{Data: data}
		src := source.New(s.Name, ranges)
		is, err := reader.Detects(context.Background(), src)
		if err != nil {
			t.Errorf("change at byte %d: Detect gave %v", n, err)
		}
		checkDamage(t, s.Name, n, Describe(context.Background(), reader, src).Err, is)
		ranges.report(t, n)
	}
}

var errStorage = errors.New("the storage of the test failed")

func testFailing(t *testing.T, reader tested, s Sample, whole Description) {
	testStorageFailures(t, reader, whole, func(failAfter int) (*source.Source, func() bool) {
		ranges := &Memory{Data: s.Data, failAfter: failAfter}
		return source.New(s.Name, ranges), ranges.hasFailed
	})
}

// testStorageFailures lets storage fail after 0, 1, 2, … reads, until no read fails.
func testStorageFailures(t *testing.T, reader readers.Reader, whole Description, open func(failAfter int) (src *source.Source, failed func() bool)) {
	t.Helper()
	for good := range 64 {
		src, failed := open(good + 1)
		got := Describe(context.Background(), reader, src)
		if !failed() {
			return
		}
		switch {
		case !got.marked() && got.Text != whole.Text:
			t.Errorf("a failure after %d reads changed the dataset and left no mark", good)
		case got.Err != nil && !errors.Is(got.Err, errStorage):
			t.Errorf("a failure after %d reads is reported as another error: %v", good, got.Err)
		case got.Err != nil && errors.Is(got.Err, readers.ErrCorrupt):
			t.Errorf("a failure after %d reads is reported as damage: %v", good, got.Err)
		}
	}
}

func testCancelled(t *testing.T, reader tested, s Sample, _ Description) {
	testCancelledContext(t, reader, s.source)
}

func testCancelledContext(t *testing.T, reader readers.Reader, open func() *source.Source) {
	t.Helper()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := reader.Open(ended, open()); !errors.Is(err, context.Canceled) {
		t.Errorf("Open gave %v", err)
	}
	data, err := reader.Open(context.Background(), open())
	if err != nil {
		t.Fatal(err)
	}
	data.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			if err := drain(ended, v); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", v.Path, err)
			}
		}
		return true
	})
}

func drain(ctx context.Context, v *readers.Variable) error {
	for _, err := range v.Storage.Refs(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

func testConcurrent(t *testing.T, reader tested, s Sample, whole Description) {
	testGoroutines(t, reader, s.source(), whole)
}

func testGoroutines(t *testing.T, reader readers.Reader, src *source.Source, whole Description) {
	t.Helper()
	shared, err := reader.Open(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			got := DescribeDataset(context.Background(), shared)
			if i%2 == 1 {
				got = Describe(context.Background(), reader, src)
			}
			if got.Text != whole.Text {
				t.Errorf("goroutine %d read another dataset:\n%s", i, got.Text)
			}
		})
	}
	wg.Wait()
}

func testUntouched(t *testing.T, reader tested, s Sample, whole Description) {
	name := filepath.Join(t.TempDir(), "sample")
	if err := os.WriteFile(name, s.Data, 0o400); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	got := Describe(context.Background(), reader, src)
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	if got.Text != whole.Text {
		t.Errorf("a file gives another dataset than memory:\n%s", got.Text)
	}
	after, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(data, s.Data) || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the file was changed (%v)", err)
	}
}

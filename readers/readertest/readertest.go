// Package readertest is the conformance suite of readers.
//
// A reader's test passes small valid sources. The suite opens each of them whole, truncated after
// every byte, with every byte changed, on storage that fails, with a cancelled context, and from
// many goroutines at once. It checks that
//
//   - the same source gives the same dataset, and is not changed;
//   - a damaged source gives an error, or a dataset that marks every difference from the undamaged
//     one, never a panic, and never a read outside the source;
//   - an error of the storage is returned, and not reported as damage;
//   - a cancelled context ends the work.
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

// Run runs the suite with a reader and its samples.
func Run(t *testing.T, reader readers.Reader, samples ...Sample) {
	if len(samples) == 0 {
		t.Fatal("no samples")
	}
	t.Run("other content", func(t *testing.T) { testOther(t, reader) })
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) { runSample(t, reader, s) })
	}
}

func runSample(t *testing.T, reader readers.Reader, s Sample) {
	whole := Describe(context.Background(), reader, s.source())
	if whole.Err != nil {
		t.Fatalf("the whole sample: %v", whole.Err)
	}
	if whole.Marked {
		t.Fatalf("the undamaged sample has problems, which would hide damage:\n%s", whole.Text)
	}
	if is, err := reader.Detect(context.Background(), s.source()); !is || err != nil {
		t.Fatalf("Detect: got %v, %v", is, err)
	}
	for name, run := range map[string]func(*testing.T, readers.Reader, Sample, Description){
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

// testOther opens sources of no format.
func testOther(t *testing.T, reader readers.Reader) {
	for name, data := range map[string]string{
		"nothing":  "",
		"one byte": "C",
		"zeros":    strings.Repeat("\x00", 4096),
		"a page":   "<!DOCTYPE html>\n<html><body>404</body></html>",
		"text":     "CDF, HDF5, SIMPLE, Dataset and others are names of formats.\n",
	} {
		src := source.New(name, &Memory{Data: []byte(data)})
		if is, err := reader.Detect(context.Background(), src); is || err != nil {
			t.Errorf("%s: Detect gave %v, %v", name, is, err)
		}
		if _, err := reader.Open(context.Background(), src); err == nil {
			t.Errorf("%s: Open gave no error", name)
		}
	}
}

func testMagic(t *testing.T, reader readers.Reader, s Sample, _ Description) {
	data := bytes.Clone(s.Data)
	for i := range min(4, len(data)) {
		data[i] ^= 0x20
	}
	src := source.New(s.Name, &Memory{Data: data})
	if is, err := reader.Detect(context.Background(), src); is || err != nil {
		t.Errorf("Detect gave %v, %v", is, err)
	}
	if _, err := reader.Open(context.Background(), src); err == nil {
		t.Error("Open gave no error")
	}
}

// step returns the distance of the positions that are tried.
func (s Sample) step() int {
	places := maxCuts
	if testing.Short() {
		places = maxShortCuts
	}
	return len(s.Data)/places + 1
}

func testCuts(t *testing.T, reader readers.Reader, s Sample, whole Description) {
	for n := 0; n < len(s.Data); n += s.step() {
		if slices.Contains(s.Whole, n) {
			continue
		}
		ranges := &Memory{Data: s.Data[:n]}
		got := Describe(context.Background(), reader, source.New(s.Name, ranges))
		if !got.marked() && got.Text != whole.Text {
			t.Errorf("the first %d of %d bytes: neither an error nor a problem, and a different dataset:\n%s", n, len(s.Data), got.Text)
		}
		ranges.report(t, n)
	}
}

// testChanges checks only that reading does not panic or read outside: a change may be valid.
func testChanges(t *testing.T, reader readers.Reader, s Sample, _ Description) {
	masks := []byte{0xff, 0x01, 0x80, 0x20}
	for n := 0; n < len(s.Data); n += s.step() {
		data := bytes.Clone(s.Data)
		// Different masks hit flags, high bits and letters.
		data[n] ^= masks[n%len(masks)]
		ranges := &Memory{Data: data}
		Describe(context.Background(), reader, source.New(s.Name, ranges))
		ranges.report(t, n)
	}
}

var errStorage = errors.New("the storage of the test failed")

func testFailing(t *testing.T, reader readers.Reader, s Sample, whole Description) {
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

func testCancelled(t *testing.T, reader readers.Reader, s Sample, _ Description) {
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

func testConcurrent(t *testing.T, reader readers.Reader, s Sample, whole Description) {
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

func testUntouched(t *testing.T, reader readers.Reader, s Sample, whole Description) {
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

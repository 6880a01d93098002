package scan

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/readers/source"
)

// without is a Choice of all paths except one.
type without string

func (w without) Wanted(path string) bool  { return path != string(w) }
func (w without) Dropped(path string) bool { return path == string(w) }

// TestSparedWhileHandedOn checks that rows of a dropped, damaged variable are removed if they were passed to
// the sink while the source was read.
func TestSparedWhileHandedOn(t *testing.T) {
	const indexOfU = 11768 // the offset of the index of /u
	data, err := os.ReadFile("../ingest/testdata/spared_1.nc")
	if err != nil {
		t.Fatal(err)
	}
	data[indexOfU] ^= 0xff
	name := filepath.Join(t.TempDir(), "damaged.nc")
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, dropped := range []string{"/u", "/t"} {
		var sinks []*again
		for _, batch := range []int{0, 1} {
			sink := &again{}
			o := (&Options{Sink: sink, Choice: without(dropped), SkipBroken: true}).withDefaults()
			o.Opener = source.NewOpener(nil)
			defer o.Opener.Close()
			o.setReaders()
			found, err := (&scanner{Options: o, shared: newInterner(), early: batch > 0, batch: batch}).all(t.Context(), []string{name})
			if err != nil {
				t.Fatal(err)
			}
			if spared := dropped == "/u"; found.Spared != spared || (len(found.Files) == 1) != spared || (len(found.Broken) == 0) != spared {
				t.Errorf("without %s, %d rows at a time: %d files, %v broken, spared: %t", dropped, batch, len(found.Files), found.Broken, found.Spared)
			}
			if dropped == "/t" && (len(found.Broken) != 1 || !slices.Equal(found.Broken[0].Drop, []string{"/u"})) {
				t.Errorf("broken are %+v", found.Broken)
			}
			if want := int64(len(sink.refs)); found.Rows != want {
				t.Errorf("the sink has %d rows, but the result has %d", want, found.Rows)
			}
			sinks = append(sinks, sink)
		}
		if !slices.Equal(sinks[0].refs, sinks[1].refs) || dropped == "/u" && sinks[1].restart == 0 {
			t.Errorf("without %s: %v, and %v with %d restarts", dropped, sinks[0].refs, sinks[1].refs, sinks[1].restart)
		}
	}
}

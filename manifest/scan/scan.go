// Package scan reads the sources of an archive: their headers, from which a plan is made, and the location of
// every stored chunk.
//
//	names ─┬─ worker ── open, read metadata, read indexes ─┬─ in the order of the names ─┬─ Files
//	       ├─ worker                                       │                             └─ RefSink
//	       └─ …                                            └─ Broken
//
// Sources are read in parallel, but their results are passed on in order, so that equal archives give equal
// results, byte for byte. Only a few sources per worker are read ahead, so memory grows only with the entries
// of the files; equal headers and values are stored once.
//
//	opened     an open source with its dataset and the files that it names
//	account    collects the variables of a source: a header, rows of refs, small values
//	entry      a variable that is being added to an account
//	reading    a source with its links, being added to an account
//
// A variable that is a part of a virtual dataset, or whose values are read later, has its own account.
package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"varve/manifest"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// Options configure a scan. Zero values select the defaults.
type Options struct {
	Workers int            // sources read concurrently; 0: see source.Workers
	Opener  *source.Opener // nil means an opener with default options

	// ValueBytes limits the size of the values that are read for one variable: coordinates, and values that only
	// a reader can decode, such as strings of varying length. 0 means 16 MiB.
	ValueBytes int64
	// Allow lists folders and URLs of other files that sources may name, in addition to the folder of the
	// source.
	Allow []string
	// Readers open the sources. nil means readers with Allow and Opener.
	Readers *formats.Readers
	// KeepQuery lists parameters of URLs that are stored: see plan.Options.
	KeepQuery []string
	// Choice selects the needed variables; nil selects all.
	Choice Choice
	// SkipBroken makes Scan succeed in spite of broken sources.
	SkipBroken bool

	// FirstFile and FirstRow are the numbers of the first file and of its first ref. They are not 0 if the
	// manifest already has files.
	FirstFile int
	FirstRow  int64

	Sink     RefSink        // receives the refs; nil: refs are read only where values need them
	Progress func(Progress) // called by one goroutine
}

// RefSink receives refs in the order of files, variables and chunks. It is called by one goroutine. Slices
// are valid during the call only.
type RefSink interface {
	// Append adds rows.
	Append(rows *manifest.RefColumns) error
	// Inline adds the bytes of a later ref and returns their row.
	Inline(b []byte) (row int64, err error)
	// FilePoints adds the access points of a source that is a packed file, after its refs, of which row is the first.
	FilePoints(ctx context.Context, row int64, src *manifest.Source, points *source.Points) error
}

// Progress describes the progress of a scan.
type Progress struct {
	Sources, Done, Broken int
	Refs                  int64 // number of rows
	Bytes                 int64 // total size of the chunks
}

// Result is the result of a scan.
type Result struct {
	// Files are the usable sources in the order of their names, each followed by the hidden files that it
	// adds.
	Files  []*manifest.File
	Broken []Broken
	Rows   int64 // number of refs
	// LedOn is true if sources name other files, whether these exist or not: virtual datasets, links, stores of
	// many objects. Then a later scan may have another result although no source has changed.
	LedOn bool
	// Spared is true if damage was ignored because Choice excludes it. With another Choice the sources may be
	// broken.
	Spared bool
}

// Broken is a source that cannot be used.
type Broken struct {
	URL string
	Err error
	// Drop lists the paths of all damaged objects, if the source is usable without them.
	Drop []string
}

// BrokenError reports broken sources.
type BrokenError struct {
	Broken []Broken
	// Match is a pattern that the names of all sources match that can be read, or empty. It is set if sources were found in folders.
	Match string
}

const maxListed = 20

// Error lists the first sources, one per line.
func (e *BrokenError) Error() string {
	var b strings.Builder
	noun := "sources"
	if len(e.Broken) == 1 {
		noun = "source"
	}
	fmt.Fprintf(&b, "%d %s cannot be used", len(e.Broken), noun)
	for i, x := range e.Broken {
		if i == maxListed {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Broken)-i)
			break
		}
		b.WriteString("\n  " + x.String())
	}
	return b.String()
}

// Unwrap returns the errors of all sources.
func (e *BrokenError) Unwrap() []error {
	list := make([]error, len(e.Broken))
	for i, x := range e.Broken {
		list[i] = x.Err
	}
	return list
}

// String names the source once, with the error.
func (x Broken) String() string {
	text := x.Err.Error()
	if !strings.Contains(text, x.URL) {
		text = x.URL + ": " + text
	}
	return text
}

func (o *Options) withDefaults() *Options {
	out := Options{}
	if o != nil {
		out = *o
	}
	if out.ValueBytes <= 0 {
		out.ValueBytes = manifest.DefaultValueBytes
	}
	return &out
}

// Scan reads the sources with the given names, which are paths and URLs. It reads all sources even if some
// are broken; without SkipBroken, it then returns a BrokenError together with the result.
func Scan(ctx context.Context, names []string, opts *Options) (*Result, error) {
	o := opts.withDefaults()
	if o.Opener == nil {
		o.Opener = source.NewOpener(nil)
		defer o.Opener.Close()
	}
	o.setReaders()
	s := &scanner{Options: o, shared: newInterner(), batch: batchRows}
	_, s.early = o.Sink.(Restarter)
	return s.all(ctx, names)
}

// setReaders sets the readers if there are none. The opener must be set.
func (o *Options) setReaders() {
	if o.Readers == nil {
		o.Readers = formats.New(&readers.Config{Allow: o.Allow, Opener: o.Opener})
	}
}

// all scans all sources. If rows were passed to the sink that must be removed, it restarts the sink and scans
// again. That happens if a source is broken or unsupported, or if its index is not sorted.
func (s *scanner) all(ctx context.Context, names []string) (*Result, error) {
	c := newCollector(s, len(names))
	defer func() {
		c.result.LedOn = s.ledOn.Load() || slices.ContainsFunc(c.result.Files, func(f *manifest.File) bool { return f.Hidden })
	}()
	err := s.run(ctx, names, c)
	if sink, ok := s.Sink.(Restarter); ok && errors.Is(err, errHanded) {
		if err = sink.Restart(ctx); err != nil {
			return c.result, err
		}
		s.early, c = false, newCollector(s, len(names))
		err = s.run(ctx, names, c)
	}
	if err == nil && len(c.result.Broken) > 0 && !s.SkipBroken {
		err = &BrokenError{Broken: c.result.Broken}
	}
	return c.result, err
}

// scanner is the state that all workers of a scan share.
type scanner struct {
	*Options
	shared *interner
	early  bool        // rows are passed to the sink while files are read
	batch  int         // rows per batch
	ledOn  atomic.Bool // a source named another file
}

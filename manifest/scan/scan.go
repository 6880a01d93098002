// Package scan reads what is in the sources of an archive: the headers that a plan is made
// from, and where every stored chunk is.
//
//	names ─┬─ worker ── open, read metadata, read indexes ─┬─ in the order of the names ─┬─ Files
//	       ├─ worker                                       │                             └─ RefSink
//	       └─ …                                            └─ Broken
//
// Sources are read in parallel and handed on in order, so that equal archives give equal
// results, byte for byte. No more sources are under way than a few for each worker: memory
// does not grow with the archive but by its files' own entries, and what files have in common
// is kept once.
//
//	opened     a source that is open, with what is in it and what it leads to
//	account    what is put down of variables of a source: a header, rows of refs, small values
//	entry      one variable on its way into an account
//	reading    a source on its way into an account of all that is in it and that links lead to
//
// A variable that a virtual dataset is made of, or whose values are wanted later, has an account of
// its own.
package scan

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"varve/manifest"
	"varve/readers/source"
)

// Options say how sources are scanned. What is zero is as described.
type Options struct {
	Workers int            // sources read at a time; 0: as many as there are processors
	Opener  *source.Opener // nil: one with default options

	// ValueBytes bounds what is read of one variable's values while scanning: coordinates,
	// and what only a reader can decode, such as strings of varying length. 0: 16 MiB.
	ValueBytes int64
	// Allow names folders and URLs that files may be in that sources name, besides the
	// folder of the source and those in it.
	Allow []string
	// Choice says what is asked for; nil: everything.
	Choice Choice
	// SkipBroken makes broken sources no error.
	SkipBroken bool

	// FirstFile and FirstRow are the numbers of the first file and of its first ref, where
	// others are known from before.
	FirstFile int
	FirstRow  int64

	Sink     RefSink        // nil: refs are read only for values
	Progress func(Progress) // called by one goroutine
}

// RefSink takes refs, in the order of files, variables and chunks. It is called by one
// goroutine. Slices are only valid during the call.
type RefSink interface {
	// Append adds rows; all four are of one length. Masks and others may be nil, which stands
	// for zeros.
	Append(offsets, sizes []int64, masks []uint32, others []int32) error
	// Inline adds bytes that a ref will point at, and returns their row.
	Inline(b []byte) (row int64, err error)
}

// Progress says how far a scan is.
type Progress struct {
	Sources, Done, Broken int
	Refs                  int64 // rows
	Bytes                 int64 // that refs point at
}

// Result is what a scan found.
type Result struct {
	// Files are the sources that are not broken in the order of their names, each followed
	// by the hidden ones that it brought up.
	Files  []*manifest.File
	Broken []Broken
	Rows   int64 // of refs
	// LedOn says that sources lead to others, be these there or not: virtual datasets, links, stores of
	// many objects. What was found may then be other though no source has changed.
	LedOn bool
	// Spared says that some of what was not asked for is damaged. With another Choice its sources may be broken.
	Spared bool
}

// Broken is a source that cannot be used.
type Broken struct {
	URL string
	Err error
	// Drop are the paths of all that is damaged, if a Choice may do without.
	Drop []string
}

// BrokenError is the error of a scan that met broken sources.
type BrokenError struct{ Broken []Broken }

const maxListed = 20

// Error lists the first of the sources, one a line.
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
	if out.Workers <= 0 {
		out.Workers = runtime.GOMAXPROCS(0)
	}
	if out.ValueBytes <= 0 {
		out.ValueBytes = manifest.DefaultValueBytes
	}
	return &out
}

// Scan reads the sources of the given names: paths and URLs, one each. All sources are looked
// at even if some are broken; without SkipBroken these make a BrokenError, which comes with
// the result all the same.
func Scan(ctx context.Context, names []string, opts *Options) (*Result, error) {
	o := opts.withDefaults()
	if o.Opener == nil {
		o.Opener = source.NewOpener(nil)
		defer o.Opener.Close()
	}
	s := &scanner{Options: o, shared: newInterner(), batch: batchRows}
	_, s.early = o.Sink.(Restarter)
	return s.all(ctx, names)
}

// all scans all sources, and again if rows were handed on that have to be taken back: of a
// source that is broken, or not understood, further on, or whose index is not in order.
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

// scanner is what all workers of a scan share.
type scanner struct {
	*Options
	shared *interner
	early  bool        // rows are handed on while files are read
	batch  int         // so many at a time
	ledOn  atomic.Bool // a source named another
}

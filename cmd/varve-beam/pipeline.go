package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"varve/codec"
	"varve/manifest/build"
	"varve/manifest/plan"
	"varve/manifest/scan"
	"varve/readers/source"
)

func init() {
	register.DoFn3x1[context.Context, slice, func(result), error](&scanSlice{})
	register.DoFn3x1[context.Context, int, func(*result) bool, error](&gather{})
	register.Emitter1[result]()
	register.Iter1[result]()
}

// slice is a run of the sources that become one part. Their names are in the list of the job.
type slice struct {
	Index     int
	At, Bytes int64 // in the list
	Part      string
}

// result is what became of a slice.
type result struct {
	Index  int
	Part   string
	Files  int64    // that are in the part; without any it does not count
	Broken []string // what is wrong with each that cannot be read
}

// job is a scan on its way. All that workers have to know goes with their functions, but for the names
// of sources, as what Beam carries to a cluster has to be small:
//
//	PLACE/.scan-ID.sources     names in order, one a line
//	PLACE/.scan-ID.json        the report, when the job is done
//	PLACE/part-00000-SUM.parquet
//
// Names that begin with a dot are no sources to varve: "varve build OUT PLACE/" takes the parts.
type job struct {
	opts   *options
	place  place
	id     string
	slices []slice
}

func (j *job) list() string   { return ".scan-" + j.id + ".sources" }
func (j *job) report() string { return ".scan-" + j.id + ".json" }

// newJob cuts sources into slices, and writes down their names.
func newJob(ctx context.Context, opts *options, names []string) (*job, error) {
	j := &job{opts: opts, place: place(opts.parts), id: rand.Text()}
	how := fmt.Appendf(nil, "%t %d %q %q\n", opts.skipBroken, opts.valueBytes, opts.allow, opts.drop)
	digits := len(fmt.Sprint((len(names) - 1) / opts.files))
	var list bytes.Buffer
	for some := range slices.Chunk(names, opts.files) {
		at := list.Len()
		for _, name := range some {
			if strings.ContainsAny(name, "\n\r") {
				return nil, fmt.Errorf("%q: a name of more than one line cannot be told to workers: %w", name, errors.ErrUnsupported)
			}
			list.WriteString(name + "\n")
		}
		sum := sha256.Sum256(append(bytes.Clone(how), list.Bytes()[at:]...))
		index := len(j.slices)
		j.slices = append(j.slices, slice{index, int64(at), int64(list.Len() - at), fmt.Sprintf("part-%0*d-%x.parquet", max(digits, 5), index, sum[:8])})
	}
	return j, j.place.write(ctx, j.list(), list.Bytes())
}

// pipeline adds the job's steps.
func (j *job) pipeline(s beam.Scope) {
	s = s.Scope("varve scan")
	todo := beam.Reshuffle(s, beam.CreateList(s, j.slices)) // without which one worker does them all
	done := beam.ParDo(s, &scanSlice{
		Place: j.place, List: j.place.name(j.list()), Workers: j.opts.workers, SkipBroken: j.opts.skipBroken,
		ValueBytes: j.opts.valueBytes, Allow: j.opts.allow, Drop: j.opts.drop, Download: j.opts.download,
	}, todo)
	beam.ParDo0(s, &gather{Place: j.place, Report: j.report(), Slices: len(j.slices), SkipBroken: j.opts.skipBroken}, beam.GroupByKey(s, beam.AddFixedKey(s, done)))
}

// end returns the report of the job, which is over, and removes what only the job needed.
func (j *job) end(ctx context.Context) (*report, error) {
	ctx = context.WithoutCancel(ctx)
	data, err := j.place.read(ctx, j.report())
	found := &report{}
	if err == nil {
		err = json.Unmarshal(data, found)
	}
	for _, name := range []string{j.list(), j.report()} {
		if removed := j.place.remove(ctx, name); !errors.Is(removed, fs.ErrNotExist) {
			err = cmp.Or(err, removed)
		}
	}
	return found, err
}

// What runners show while a job runs.
var (
	scannedFiles = beam.NewCounter("varve", "sources")
	brokenFiles  = beam.NewCounter("varve", "broken")
)

// scanSlice scans slices into parts. What it has of capital letters comes from the driver.
type scanSlice struct {
	Place      place
	List       string
	Workers    int
	SkipBroken bool
	ValueBytes int64
	Allow      []string
	Drop       []string
	Download   bool

	opener *source.Opener
}

// Setup is called once, before all slices.
func (f *scanSlice) Setup() { f.opener = source.NewOpener(&source.Options{Download: f.Download}) }

// Teardown is called behind all slices.
func (f *scanSlice) Teardown() error { return f.opener.Close() }

// ProcessElement scans a slice. Sources that are damaged are a result: to try again would not mend them.
// All else is an error, which another worker may not meet.
func (f *scanSlice) ProcessElement(ctx context.Context, s slice, emit func(result)) error {
	names, err := f.names(ctx, s)
	if err != nil {
		return err
	}
	outcome, err := build.Scan(ctx, f.Place.name(s.Part), &build.Options{
		Sources: build.Sources{Names: names}, Workers: f.Workers, SkipBroken: f.SkipBroken, ValueBytes: f.ValueBytes, Allow: f.Allow, Opener: f.opener, Plan: plan.Options{Drop: f.Drop},
	})
	r := result{Index: s.Index, Part: f.Place.name(s.Part)}
	var all *scan.BrokenError
	switch {
	case err == nil:
		r.Files, r.Broken = outcome.Files, told(outcome.Broken)
	case errors.As(err, &all) && !slices.ContainsFunc(all.Broken, func(b scan.Broken) bool { return !isDamaged(b.Err) }):
		r.Broken = told(all.Broken)
	default:
		return fmt.Errorf("%s: %w", s.Part, err)
	}
	scannedFiles.Inc(ctx, r.Files)
	brokenFiles.Inc(ctx, int64(len(r.Broken)))
	emit(r)
	return nil
}

// isDamaged reports whether what is wrong with a source is in its bytes.
func isDamaged(err error) bool {
	return errors.Is(err, codec.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported)
}

func told(list []scan.Broken) (out []string) {
	for _, b := range list {
		out = append(out, b.String())
	}
	return out
}

// names reads those of a slice.
func (f *scanSlice) names(ctx context.Context, s slice) ([]string, error) {
	list, err := f.opener.Open(ctx, f.List)
	if err != nil {
		return nil, err
	}
	defer list.Close()
	text := make([]byte, s.Bytes)
	if _, err := list.ReadAt(ctx, text, s.At); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}

// gather writes the report of all slices. It fails the job if a source is broken that is not to be.
type gather struct {
	Place      place
	Report     string
	Slices     int
	SkipBroken bool
}

// ProcessElement is called with all results.
func (g *gather) ProcessElement(ctx context.Context, _ int, next func(*result) bool) error {
	all := make([]*result, g.Slices)
	for r := (result{}); next(&r); r = (result{}) {
		all[r.Index] = &r
	}
	out := &report{}
	for i, r := range all {
		if r == nil {
			return fmt.Errorf("slice %d of %d has no result", i, g.Slices)
		}
		if r.Files > 0 {
			out.Parts = append(out.Parts, r.Part)
		}
		out.Broken = append(out.Broken, r.Broken...)
	}
	data, err := json.Marshal(out)
	if err == nil {
		err = g.Place.write(ctx, g.Report, data)
	}
	return cmp.Or(err, out.failed(g.SkipBroken))
}

// report is what became of a job.
type report struct {
	Parts  []string // those that hold sources, in the order of these
	Broken []string // what is wrong with each that cannot be read
}

const mostNamed = 20

// failed is the error of sources that could not be read, of which the first are named.
func (r *report) failed(skip bool) error {
	switch {
	case len(r.Broken) > 0 && !skip:
		var text strings.Builder
		_ = r.text(&text, mostNamed) // to memory
		return fmt.Errorf("sources that cannot be read: %d (--skip-broken leaves them out)\n%s", len(r.Broken), strings.TrimSuffix(text.String(), "\n"))
	case len(r.Parts) == 0:
		return errors.New("no source is left")
	}
	return nil
}

// text names sources that could not be read.
func (r *report) text(w io.Writer, most int) error {
	for i, b := range r.Broken {
		if i == most {
			_, err := fmt.Fprintf(w, "and %d more\n", len(r.Broken)-most)
			return err
		}
		if _, err := fmt.Fprintln(w, b); err != nil {
			return err
		}
	}
	return nil
}

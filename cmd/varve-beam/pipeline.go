package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"varve/codec"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/text"
	"varve/manifest/scan"
	"varve/readers/source"
)

func init() {
	register.DoFn3x1[context.Context, slice, func(result), error](&scanSlice{})
	register.DoFn3x1[context.Context, int, func(*result) bool, error](&gather{})
	register.Emitter1[result]()
	register.Iter1[result]()
}

// slice is a run of consecutive sources that become one part. Their names are in the job's list file.
type slice struct {
	Index     int
	At, Bytes int64 // byte range of the names in the list file
	Part      string
}

// result is the outcome of scanning a slice.
type result struct {
	Index  int
	Part   string
	Files  int64    // number of sources in the part
	Broken []string // for each source that cannot be read: its name and the error
}

// job is a scan that runs on a cluster. Beam carries the parameters of the workers' functions. The
// names of the sources are in a file instead, because Beam limits the size of a job:
//
//	PLACE/.scan-ID.sources     names in order, one per line
//	PLACE/.scan-ID.json        the report, written when the job is done
//	PLACE/part-00000-SUM.parquet
//
// varve ignores files whose names begin with a dot, so "varve build OUT PLACE/" takes only the parts.
type job struct {
	opts   *options
	place  place
	id     string
	slices []slice
}

func (j *job) list() string   { return jobFiles + j.id + ".sources" }
func (j *job) report() string { return jobFiles + j.id + ".json" }

const (
	jobFiles = ".scan-"
	// jobLife is the longest time that a job may take. After it, its files are the rest of a killed driver.
	jobLife = 14 * 24 * time.Hour
)

// newJob cuts names into slices of opts.files sources and writes the job's list file.
func newJob(ctx context.Context, opts *options, names []string) (*job, error) {
	j := &job{opts: opts, place: place(opts.parts), id: rand.Text()}
	cut, err := ingest.Cut(names, opts.files, fmt.Sprintf("%t %d %q %q\n", opts.skipBroken, opts.valueBytes, opts.allow, opts.drop))
	if err != nil {
		return nil, err
	}
	if err := j.place.removeOld(ctx, jobFiles, jobLife); err != nil {
		return nil, err
	}
	var list bytes.Buffer
	for i, one := range cut {
		at := list.Len()
		list.WriteString(strings.Join(one.Names, "\n") + "\n")
		j.slices = append(j.slices, slice{i, int64(at), int64(list.Len() - at), one.Part})
	}
	return j, j.place.write(ctx, j.list(), list.Bytes())
}

// pipeline adds the job's steps to a Beam pipeline.
func (j *job) pipeline(s beam.Scope) {
	s = s.Scope("varve scan")
	// Without a reshuffle, Beam fuses the steps and one worker scans all slices.
	todo := beam.Reshuffle(s, beam.CreateList(s, j.slices))
	done := beam.ParDo(s, &scanSlice{
		Place: j.place, List: j.place.name(j.list()), Workers: j.opts.workers, SkipBroken: j.opts.skipBroken,
		ValueBytes: j.opts.valueBytes, Allow: j.opts.allow, Drop: j.opts.drop, Download: j.opts.download,
	}, todo)
	beam.ParDo0(s, &gather{Place: j.place, Report: j.report(), Slices: len(j.slices), SkipBroken: j.opts.skipBroken}, beam.GroupByKey(s, beam.AddFixedKey(s, done)))
}

// end returns the report of a job that has ended, and removes the job's list and report files.
func (j *job) end(ctx context.Context) (*jobReport, error) {
	ctx = context.WithoutCancel(ctx) // the files are removed even after an interrupt
	data, err := j.place.read(ctx, j.report())
	found := &jobReport{}
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

// Counters that runners show while a job runs.
var (
	scannedFiles = beam.NewCounter("varve", "sources")
	brokenFiles  = beam.NewCounter("varve", "broken")
)

// scanSlice scans slices into parts. Beam copies the exported fields from the driver to workers.
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

// Setup makes the opener that all slices of a worker share. Beam calls it before the first slice.
func (f *scanSlice) Setup() { f.opener = source.NewOpener(&source.Options{Download: f.Download}) }

// Teardown closes the opener. Beam calls it after the last slice.
func (f *scanSlice) Teardown() error { return f.opener.Close() }

// ProcessElement scans a slice. Damaged sources are part of the result, because trying again would
// not help. Any other failure is an error, so that the runner tries the slice again, perhaps on
// another worker.
func (f *scanSlice) ProcessElement(ctx context.Context, s slice, emit func(result)) error {
	names, err := f.names(ctx, s)
	if err != nil {
		return err
	}
	outcome, err := ingest.Scan(ctx, f.Place.name(s.Part), &ingest.Options{
		Sources: ingest.Sources{Names: names}, Workers: f.Workers, SkipBroken: f.SkipBroken, ValueBytes: f.ValueBytes, Allow: f.Allow, Opener: f.opener, Plan: plan.Options{Drop: f.Drop},
	})
	r := result{Index: s.Index, Part: f.Place.name(s.Part)}
	var all *scan.BrokenError
	switch {
	case err == nil:
		r.Files, r.Broken = outcome.Files, describe(outcome.Broken)
	case errors.As(err, &all) && !slices.ContainsFunc(all.Broken, func(b scan.Broken) bool { return !isDamaged(b.Err) }):
		r.Broken = describe(all.Broken)
	default:
		return fmt.Errorf("%s: %w", s.Part, err)
	}
	scannedFiles.Inc(ctx, r.Files)
	brokenFiles.Inc(ctx, int64(len(r.Broken)))
	emit(r)
	return nil
}

// isDamaged reports whether the bytes of a source cause err, so that reading it again would fail too.
func isDamaged(err error) bool {
	return errors.Is(err, codec.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported)
}

// printer writes options as flags.
var printer = &text.Printer{Option: func(s report.Setting) string {
	return strings.TrimSuffix("--"+string(s.Option)+" "+s.Value, " ")
}}

// describe returns one line for each broken source: its name, the error and the flags that help.
func describe(list []scan.Broken) (out []string) {
	for i, f := range ingest.UnreadableFindings(&scan.BrokenError{Broken: list}) {
		// The first line of the message already names --skip-broken.
		f.Remedies = slices.DeleteFunc(f.Remedies, func(r report.Remedy) bool { return r.Option == report.SkipBroken })
		f.Files = report.Files{} // the line begins with the name
		out = append(out, list[i].URL+": "+printer.Line(&f))
	}
	return out
}

// names reads the names of a slice's sources from the list file.
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

// gather writes the report of all slices. Unless SkipBroken is set, it fails the job if a source is
// broken.
type gather struct {
	Place      place
	Report     string
	Slices     int
	SkipBroken bool
}

// ProcessElement collects the results of all slices, which come in any order, and writes the report.
func (g *gather) ProcessElement(ctx context.Context, _ int, next func(*result) bool) error {
	all := make([]*result, g.Slices)
	for r := (result{}); next(&r); r = (result{}) {
		all[r.Index] = &r
	}
	out, files := &jobReport{}, int64(0)
	for i, r := range all {
		if r == nil {
			return fmt.Errorf("slice %d of %d has no result: the runner lost it; run the command again", i, g.Slices)
		}
		// A part without sources lists those that were left out.
		if r.Files > 0 || len(r.Broken) > 0 {
			out.Parts = append(out.Parts, r.Part)
		}
		files += r.Files
		out.Broken = append(out.Broken, r.Broken...)
	}
	if files == 0 {
		out.Parts = nil
	}
	data, err := json.Marshal(out)
	if err == nil {
		err = g.Place.write(ctx, g.Report, data)
	}
	return cmp.Or(err, out.failed(g.SkipBroken))
}

// jobReport is the outcome of a job.
type jobReport struct {
	Parts  []string // names of the parts, in the order of the sources; nil if no source can be read
	Broken []string // for each source that cannot be read: its name and the error
}

// maxNamed is the number of broken sources that an error lists.
const maxNamed = 20

// failed returns an error if sources are broken and skip is false, or if no source is left. The
// error lists the first maxNamed broken sources.
func (r *jobReport) failed(skip bool) error {
	switch {
	case len(r.Broken) > 0 && !skip:
		var text strings.Builder
		_ = r.text(&text, maxNamed) // writing to memory cannot fail
		return fmt.Errorf("%d sources cannot be read; add --skip-broken to leave them out\n%s", len(r.Broken), strings.TrimSuffix(text.String(), "\n"))
	case len(r.Parts) == 0:
		return errors.New("none of the sources can be read")
	}
	return nil
}

// text writes the broken sources to w, at most `most` of them, one per line.
func (r *jobReport) text(w io.Writer, most int) error {
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

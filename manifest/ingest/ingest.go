// Package ingest makes manifests: it scans sources, plans the combined dataset, and publishes a
// snapshot.
//
//	sources ── scan ─┬─ files ── plan ── arrays, placements ─┐
//	                 └─ refs ─────────────── tables ─────────┴─ snapshot
//
// A snapshot becomes visible only when all of its tables are written.
package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"time"

	"varve/manifest"
	"varve/manifest/internal/picture"
	"varve/manifest/internal/planner"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/scan"
	"varve/readers/source"
)

// Options say what to build, and how. The zero value of each field is a valid default; nil options
// equal the zero value and name no sources.
type Options struct {
	Sources    Sources
	Plan       plan.Options // how to combine the files; Append ignores it unless Replan is set
	Workers    int          // number of sources to read at once; 0 means one per processor
	SkipBroken bool         // leave out sources that cannot be read
	SkipKnown  bool         // for Append: leave out sources that the manifest has, if they are unchanged
	// Allow lists folders and URLs where sources may refer to other files, besides their own. If somebody else built the
	// manifest, it also permits to read sources there: see store.Options.Allow.
	Allow    []string
	Pictures bool // draw the arrays
	Force    bool // replace an existing manifest, but keep its history
	// KeepScan is a folder for the results of scans. Sources that were scanned before and are
	// unchanged are taken from there. The folder is made if necessary. If it is empty, nothing is
	// kept.
	KeepScan string
	// Checksums stores a checksum of each stored chunk, which every later read of a whole chunk verifies. The build
	// reads all chunks once for it. Later appends to the manifest store them too.
	Checksums bool
	// MaxDelete is the percentage of the sources up to which Sync removes sources; nil means no limit. If more would be
	// removed, the error wraps a *MaxDeleteError, and no snapshot is made.
	MaxDelete *int
	// RefuseNew makes Append refuse a variable that no known source has, if its array would be the fill value at all of
	// their positions. Such files are often of another product.
	RefuseNew bool
	// Replan makes Append use Plan, and plan all files again if necessary. Without it, Append uses
	// the options with which the manifest was built.
	Replan bool
	Opener *source.Opener // nil means default options
	Writer string         // name of the program, for the snapshot
	// Message says in the history why the snapshot was made. If it is empty, the history says how it was made.
	Message string
	// ValueBytes limits the size in bytes of a variable's values that are read because the manifest
	// stores them, or because they place files. 0 means 16 MiB.
	ValueBytes int64
	// Progress receives how many sources are scanned, and then Comparing how many variables are read
	// to compare files, and then Checking how many chunks have a checksum. A single goroutine calls them.
	Progress, Comparing, Checking func(done, total int64)
}

// Result is the result of a build, with its report.
type Result struct {
	Snapshot *manifest.Snapshot // nil if the files cannot be combined
	Report   *report.Report
	Files    int64 // the number of sources that were scanned
	// Broken lists all sources that Scan left out because they cannot be read.
	Broken []scan.Broken
	// Reading is what Check read from servers. A build reads the same.
	Reading Reading
	// Pictures holds, by path, SVG pictures of the arrays that read files, if the options ask for them.
	// A page that shows them needs PictureStyle.
	Pictures map[string]template.HTML
}

// Reading says how much was read from servers. It is zero if all sources are local.
type Reading struct {
	source.Stats
	Time time.Duration
}

// PictureStyle is the CSS of an Result's pictures.
const PictureStyle = picture.Style

// Build makes the manifest dir. The error is a *plan.Error if files cannot be combined, a
// *scan.BrokenError if some cannot be read, and a *plan.OptionError if an option is invalid. After
// an error, only folders for drafts and lock files remain; other processes may be waiting for the
// locks. If dir exists and may not be replaced, the error wraps fs.ErrExist, and also
// manifest.ErrForeign if it is no manifest.
//
// Build seals the manifest with a key in the user's config folder, and makes the key if there is
// none: see store.Options.Allow. If it cannot, the Report has a finding.
func Build(ctx context.Context, dir string, opts *Options) (*Result, error) {
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	names, err := opts.expand(ctx)
	if err != nil {
		return nil, err
	}
	repository, err := repo.Create(ctx, dir, &repo.CreateOptions{Replace: opts.Force})
	if err != nil {
		return nil, err
	}
	outcome, err := buildIn(ctx, repository, names, opts)
	return outcome, closing(repository, err)
}

func buildIn(ctx context.Context, repository *repo.Repository, names []string, opts *Options) (*Result, error) {
	parent, err := repository.Current(ctx)
	if err != nil {
		return nil, err
	}
	j := newJob(repository, opts)
	defer j.abort()
	if err := j.scan(ctx, names); err != nil {
		return j.refused(err), err
	}
	outcome, err := j.plan(ctx, "build")
	if err != nil {
		return outcome, err
	}
	if err := j.addChecksums(ctx, outcome.Snapshot, nil); err != nil {
		return outcome, err
	}
	return outcome, repository.Publish(ctx, outcome.Snapshot, parent)
}

// Check reports what Build would do. If files cannot be combined, it returns both an outcome and
// the error.
func Check(ctx context.Context, opts *Options) (outcome *Result, err error) {
	if opts, err = opts.checked(); err != nil {
		return nil, err
	}
	names, err := opts.expand(ctx)
	if err != nil {
		return nil, err
	}
	// A plan needs tables of references, so Check builds in a temporary folder.
	dir, remove, err := scratch()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	repository, err := repo.Create(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	began, before := time.Now(), opts.Opener.Stats()
	j := newJob(repository, opts)
	defer j.abort()
	if err = j.scan(ctx, names); err != nil {
		return j.refused(err), closing(repository, err)
	}
	outcome, err = j.plan(ctx, "check")
	if read := opts.Opener.Stats(); outcome != nil && read != before {
		outcome.Reading = Reading{source.Stats{Requests: read.Requests - before.Requests, Bytes: read.Bytes - before.Bytes}, time.Since(began)}
	}
	return outcome, closing(repository, err)
}

// checked returns valid options for nil, or an error for invalid options. Options are checked
// first, because a scan may take hours.
func (opts *Options) checked() (*Options, error) {
	out := Options{}
	if opts != nil {
		out = *opts
	}
	if out.Opener == nil {
		out.Opener = source.NewOpener(nil) // it has no connections that live longer than a minute without use
	}
	out.Sources.opener = out.Opener
	out.Opener.AllowPrivate(out.Allow...)
	return &out, out.Plan.Check()
}

// revised returns the options for sources that are added to a manifest with the options built, or are read again.
func (opts *Options) revised(built *plan.Options) (*Options, error) {
	own := *opts
	settings, err := opts.Plan.RevisedFormats(built)
	if err != nil {
		return nil, err
	}
	// A new file must be combined as the old ones were, not as today's flags say.
	if !opts.Replan {
		own.Plan = *built
	}
	own.Plan.Formats, own.Plan.KeepQuery, own.Plan.DirectionsOf = settings, opts.keepQuery(built), built.Flip
	return &own, nil
}

func closing(c io.Closer, err error) error {
	// The first error is the cause; an error of Close is usually a consequence.
	if closed := c.Close(); err == nil {
		return closed
	}
	return err
}

// encode returns the plan's options in the form that a snapshot stores.
func (opts *Options) encode() (json.RawMessage, error) {
	text, err := json.Marshal(&opts.Plan)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	return text, nil
}

// Faults returns the bugs of older versions of varve that may affect a manifest. Building it again removes them.
func Faults(s *manifest.Snapshot) []report.Fault { return planner.Faults(s) }

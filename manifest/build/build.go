// Package build makes manifests: it scans sources, has a plan made of them, and publishes
// what the plan says.
//
//	sources ── scan ─┬─ files ── plan ── arrays, placements ─┐
//	                 └─ refs ─────────────── tables ─────────┴─ snapshot
//
// Nothing of a manifest is to be seen before all of it is written.
package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"varve/manifest"
	"varve/manifest/picture"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/scan"
	"varve/readers/source"
)

// Options say what is built of what. What is zero is as described; nil options are all zero, and
// name no sources.
type Options struct {
	Sources    Sources
	Plan       plan.Options // how they become arrays; of Append: see Replan
	Workers    int          // sources read at a time; 0: as many as there are processors
	SkipBroken bool         // leave out sources that cannot be read
	SkipKnown  bool         // of Append: pass over sources that the manifest has, if they are what was scanned
	Allow      []string     // folders and URLs that sources may name others in, besides their own
	Pictures   bool         // draw the arrays
	Force      bool         // build over what is there; its history is kept
	// KeepScan is a folder to keep what is scanned in, for the next time: sources that were scanned before
	// and have not changed are taken from there. It is made if there is none. Empty: nothing is kept.
	KeepScan string
	// Replan has Append plan with Plan, all files anew if it has to. Without it Plan does not count:
	// files are appended with the options that the manifest was built with, which it keeps.
	Replan bool
	Opener *source.Opener // nil: one with default options
	Writer string         // the program, for the snapshot
	// ValueBytes bounds the values of one variable that are read because a manifest keeps them, or
	// they say how files follow one another; 0: 16 MiB.
	ValueBytes int64
	// Progress is called by one goroutine with how many sources are done, Compared after that with
	// how many variables were read because their values decide how files belong together.
	Progress, Compared func(done, total int64)
}

// Outcome is what was built, and what there is to say about it.
type Outcome struct {
	Snapshot *manifest.Snapshot // nil where files cannot be combined
	Report   *report.Report
	Files    int64 // sources that were scanned
	// Broken are the sources that Scan left out because they cannot be read, all of them.
	Broken []scan.Broken
	// Pictures are those of the arrays that are made of files, by path, if they were asked for.
	Pictures map[string]*picture.Picture
}

// Build makes the manifest dir. If files cannot be combined the error is a *plan.Error, if
// some cannot be read a *scan.BrokenError; an option whose value is none is a *plan.OptionError.
// Then nothing is left behind but folders for what is being written, and locks, which others may
// be waiting for. Where something stands that is not to be replaced the error is an fs.ErrExist,
// and a manifest.ErrForeign if it is no manifest.
//
// The manifest is sealed with a key that is in the user's config folder, where Build makes one
// if there is none: see store.Options.Allow. Where it cannot, the Report says so.
func Build(ctx context.Context, dir string, opts *Options) (*Outcome, error) {
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	names, err := opts.Sources.Expand(ctx)
	if err != nil {
		return nil, err
	}
	repo, err := manifest.Create(ctx, dir, opts.Force)
	if err != nil {
		return nil, err
	}
	outcome, err := buildIn(ctx, repo, names, opts)
	return outcome, closing(repo, err)
}

func buildIn(ctx context.Context, repo *manifest.Repository, names []string, opts *Options) (*Outcome, error) {
	parent, err := repo.Current(ctx)
	if err != nil {
		return nil, err
	}
	j := newJob(repo, opts)
	defer j.abort()
	if err := j.scan(ctx, names); err != nil {
		return j.refused(err), err
	}
	outcome, err := j.plan(ctx, "build")
	if err != nil {
		return outcome, err
	}
	return outcome, repo.Publish(ctx, outcome.Snapshot, parent)
}

// Check says what Build would do. Where files cannot be combined it returns both an outcome
// and the error.
func Check(ctx context.Context, opts *Options) (outcome *Outcome, err error) {
	if opts, err = opts.checked(); err != nil {
		return nil, err
	}
	names, err := opts.Sources.Expand(ctx)
	if err != nil {
		return nil, err
	}
	dir, remove, err := scratch()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	repo, err := manifest.Create(ctx, dir, false)
	if err != nil {
		return nil, err
	}
	j := newJob(repo, opts)
	defer j.abort()
	if err = j.scan(ctx, names); err != nil {
		return j.refused(err), closing(repo, err)
	}
	outcome, err = j.plan(ctx, "check")
	return outcome, closing(repo, err)
}

// checked are the options that nil stands for, or an error of those whose values are none: files
// are scanned for hours before they are used.
func (opts *Options) checked() (*Options, error) {
	if opts == nil {
		opts = &Options{}
	}
	return opts, opts.Plan.Check()
}

func closing(c io.Closer, err error) error {
	if closed := c.Close(); err == nil {
		return closed
	}
	return err
}

// options returns the plan's options as a snapshot keeps them.
func (opts *Options) encode() (json.RawMessage, error) {
	text, err := json.Marshal(&opts.Plan)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	return text, nil
}

package ingest

import (
	"context"
	"encoding/json"
	"fmt"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/plan"
	"varve/manifest/repo"
)

// Curate publishes a snapshot of the same files with another curation instead of the one that the manifest has. A curation that
// changes nothing removes the old one. No file is read, except values that the plan needs.
func Curate(ctx context.Context, dir string, c *plan.Curation, opts *Options) (*Result, error) {
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	return revise(ctx, dir, func(ctx context.Context, r *repo.Repository, old *manifest.Snapshot, built *plan.Options) (*Result, error) {
		return curateIn(ctx, r, old, built, c, opts)
	})
}

// curationOf returns the curation of a snapshot, or nil.
func curationOf(s *manifest.Snapshot) (*plan.Curation, error) {
	if s.Options == nil {
		return nil, nil
	}
	built := &plan.Options{}
	if err := json.Unmarshal(s.Options, built); err != nil {
		return nil, fmt.Errorf("options of snapshot %s: %w", s.ID, err)
	}
	return built.Curation, nil
}

func curateIn(ctx context.Context, repository *repo.Repository, old *manifest.Snapshot, built *plan.Options, c *plan.Curation, opts *Options) (*Result, error) {
	own := *opts
	own.Plan = *built
	own.Plan.DirectionsOf = built.Flip
	own.Plan.Curation = c
	if c.IsEmpty() {
		own.Plan.Curation = nil
	}
	if err := own.Plan.Check(); err != nil {
		return nil, err
	}
	reader, err := table.Open(old.Tables, table.InRepository(repository), table.NewCache(refCache))
	if err != nil {
		return nil, err
	}
	a, err := newAppend(repository, &own, old, reader)
	defer a.abort()
	var out *Result
	if err == nil {
		err = a.scan(ctx, nil)
	}
	if err == nil {
		out, err = a.planAll(ctx, "curate")
	}
	if err = closing(reader, err); err != nil {
		return out, err
	}
	if err := a.addChecksums(ctx, out.Snapshot, old); err != nil {
		return out, err
	}
	return out, repository.Publish(ctx, out.Snapshot, old.ID)
}

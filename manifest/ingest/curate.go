package ingest

import (
	"context"

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

func curateIn(ctx context.Context, repository *repo.Repository, old *manifest.Snapshot, built *plan.Options, c *plan.Curation, opts *Options) (*Result, error) {
	own := *opts
	own.Plan = *built
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
	a := newAppend(repository, &own, old, reader)
	defer a.abort()
	var out *Result
	if err = a.scan(ctx, nil); err == nil {
		out, err = a.planAll(ctx, "curate")
	}
	if err = closing(reader, err); err != nil {
		return out, err
	}
	if err := addChecksums(ctx, repository, out.Snapshot, old, &own); err != nil {
		return out, err
	}
	return out, repository.Publish(ctx, out.Snapshot, old.ID)
}

package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
	repository, err := repo.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	var out *Result
	for range attempts {
		out, err = curateIn(ctx, repository, c, opts)
		if !errors.Is(err, repo.ErrConflict) {
			break
		}
	}
	return out, closing(repository, err)
}

func curateIn(ctx context.Context, repository *repo.Repository, c *plan.Curation, opts *Options) (*Result, error) {
	parent, err := repository.Current(ctx)
	if err != nil {
		return nil, err
	}
	old, err := repository.Load(ctx, parent)
	if err != nil {
		return nil, err
	}
	own := *opts
	own.Plan = plan.Options{}
	if old.Options != nil {
		if err := json.Unmarshal(old.Options, &own.Plan); err != nil {
			return nil, fmt.Errorf("%s: options of snapshot %s: %w", repository.Name(), old.ID, err)
		}
	}
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
	return out, repository.Publish(ctx, out.Snapshot, parent)
}

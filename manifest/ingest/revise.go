package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/repo"
)

// attempts limits how often a command starts over because another process published a snapshot first. In each round at
// least one process publishes, so a hundred of them can work at a time.
const attempts = 100

// reviser publishes a snapshot after the current one, old. built has the options with which old was built.
type reviser[T any] func(ctx context.Context, r *repo.Repository, old *manifest.Snapshot, built *plan.Options) (T, error)

// revise opens a manifest and calls a reviser for its current snapshot. If another process publishes a snapshot first, it
// starts over.
func revise[T any](ctx context.Context, dir string, do reviser[T]) (out T, err error) {
	repository, old, err := repo.OpenCurrent(ctx, dir)
	if err != nil {
		return out, err
	}
	for n := 1; ; n++ {
		out, err = reviseIn(ctx, repository, old, do)
		if !errors.Is(err, repo.ErrConflict) || n == attempts {
			break
		}
		if old, err = repository.LoadCurrent(ctx); err != nil {
			break
		}
	}
	return out, closing(repository, err)
}

func reviseIn[T any](ctx context.Context, repository *repo.Repository, old *manifest.Snapshot, do reviser[T]) (out T, err error) {
	built := &plan.Options{}
	if old.Options != nil {
		if err := json.Unmarshal(old.Options, built); err != nil {
			return out, fmt.Errorf("%s: options of snapshot %s: %w", repository.Name(), old.ID, err)
		}
	}
	return do(ctx, repository, old, built)
}

package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Collected is what a GC removed.
type Collected struct {
	Files []string // within the repository, in the order of removal
	Bytes int64
}

// GC removes what the newest snapshots do not need: older ones, tables that only they
// needed or that were never published, and drafts. It is ErrBusy, and removes nothing, as
// long as anybody writes, also through this Repository; and removes nothing unless it can
// read every snapshot that it keeps.
//
// When it fails half-way, Collected says what is gone.
func (r *Repository) GC(ctx context.Context, keep int) (done Collected, err error) {
	if keep < 1 {
		return done, fmt.Errorf("%s: cannot keep %d snapshots: the current one always stays", r.name, keep)
	}
	release, err := r.files.exclude(ctx)
	if err != nil {
		return done, fmt.Errorf("%s: %w", r.name, err)
	}
	defer func() { err = errors.Join(err, release()) }()

	needed, err := r.needed(ctx, keep)
	if err != nil {
		return done, err
	}
	// Snapshots go first: one without its tables would be found damaged.
	for _, name := range []string{snapshotFolder, "tables", "patches", "drafts"} {
		if err := r.sweep(ctx, name, needed, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// needed returns the files of the newest snapshots.
func (r *Repository) needed(ctx context.Context, keep int) (map[string]bool, error) {
	needed := make(map[string]bool)
	for snap, err := range r.History(ctx) {
		if err != nil {
			return nil, err
		}
		needed[snapshotName(snap.ID)] = true
		for _, t := range snap.Tables {
			needed[t.Name] = true
		}
		// What lies behind may be damaged, and does not matter.
		if keep--; keep == 0 {
			break
		}
	}
	return needed, nil
}

// sweep removes what is not needed in a folder.
func (r *Repository) sweep(ctx context.Context, folder string, needed map[string]bool, done *Collected) error {
	entries, err := r.files.list(ctx, folder)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return needed[folder+"/"+e.name] })
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = folder + "/" + e.name
	}
	n, err := r.files.remove(ctx, names...)
	for i, e := range entries[:n] {
		done.Files = append(done.Files, names[i])
		done.Bytes += e.size
	}
	return err
}

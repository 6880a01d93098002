package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Collected lists the files that GC removed.
type Collected struct {
	Files []string // names within the repository, in the order of removal
	Bytes int64
}

// GC keeps the newest snapshots, as many as keep says, and the files that they use. It removes older
// snapshots, tables that only these use or that were never published, and drafts. While any process writes,
// also through this Repository, it returns ErrBusy and removes nothing. It also removes nothing unless it
// can read every snapshot that it keeps.
//
// If GC fails half-way, Collected lists the files that it removed.
func (r *Repository) GC(ctx context.Context, keep int) (done Collected, err error) {
	if keep < 1 {
		return done, fmt.Errorf("%s: cannot keep %d snapshots; keep at least 1, the current one", r.name, keep)
	}
	release, err := r.files.lockForGC(ctx)
	if err != nil {
		return done, fmt.Errorf("%s: %w", r.name, err)
	}
	defer func() { err = errors.Join(err, release()) }()

	needed, err := r.needed(ctx, keep)
	if err != nil {
		return done, err
	}
	// Remove snapshots first: a snapshot without its tables would look damaged.
	for _, name := range []string{snapshotFolder, "tables", "patches", "drafts"} {
		if err := r.sweep(ctx, name, needed, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// needed returns the names of the files that the newest snapshots use.
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
		// Stop here: older snapshots may be damaged, which does not matter.
		if keep--; keep == 0 {
			break
		}
	}
	return needed, nil
}

// sweep removes the files of a folder that are not needed.
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

package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"varve/manifest"
)

// Collected lists the files that GC removed.
type Collected struct {
	Files []string // names within the repository, in the order of removal
	Bytes int64
}

// GCOptions say which snapshots GC keeps. It always keeps those with tags.
type GCOptions struct {
	Keep   int  // the number of newest snapshots to keep, at least 1
	Daily  int  // keep the newest snapshot of each of the last days that have snapshots, as many days as this
	DryRun bool // only list what would be removed

	tidied string // the day, if a writer tidies: then current gets it, and compacted chunks stay
}

// GC removes the snapshots that the options do not keep, tables that only these use or that were never published,
// and drafts. While any process writes, also through this Repository, it returns ErrBusy and removes nothing. It
// also removes nothing unless it can read every snapshot that it keeps.
//
// If GC fails half-way, Collected lists the files that it removed.
func (r *Repository) GC(ctx context.Context, opts *GCOptions) (done Collected, err error) {
	if opts.Keep < 1 {
		return done, fmt.Errorf("%s: cannot keep %d snapshots; keep at least 1, the current one", r.name, opts.Keep)
	}
	release, err := r.files.lockForGC(ctx)
	if err != nil {
		return done, fmt.Errorf("%s: %w", r.name, err)
	}
	defer func() { err = errors.Join(err, release()) }()

	if opts.tidied != "" {
		// Before anything that may take long: the next writer must not try again today.
		if err := r.noteTidied(ctx, opts.tidied); err != nil {
			return done, err
		}
	}
	kept, err := r.choose(ctx, opts)
	if err != nil {
		return done, err
	}
	needed, err := r.needed(ctx, kept)
	if err != nil {
		return done, err
	}
	if !opts.DryRun {
		if err := r.noteKept(ctx, kept); err != nil {
			return done, err
		}
	}
	// Remove snapshots first: a snapshot without its tables would look damaged.
	for _, name := range []string{snapshotFolder, "tables", "patches", draftFolder} {
		if name == "patches" && opts.tidied != "" {
			continue
		}
		if err := r.sweep(ctx, name, needed, opts.DryRun, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// choose returns the snapshots to keep, the newest first.
func (r *Repository) choose(ctx context.Context, opts *GCOptions) (kept []*manifest.Entry, err error) {
	p, err := r.pointer(ctx)
	if err != nil {
		return nil, err
	}
	tagged := map[string]bool{}
	for _, id := range p.Tags {
		tagged[id] = true
	}
	newest, days, day := opts.Keep, opts.Daily, ""
	for e, err := range r.Log(ctx) {
		if err != nil {
			return nil, err
		}
		isKept := tagged[e.ID] || newest > 0
		newest--
		if at := e.Created.Format(time.DateOnly); days > 0 && at != day {
			isKept, day = true, at
			days--
		}
		if isKept {
			kept = append(kept, e)
		}
		delete(tagged, e.ID)
		// Stop here: older snapshots may be damaged, which does not matter.
		if newest <= 0 && days <= 0 && len(tagged) == 0 {
			break
		}
	}
	for id := range tagged {
		return nil, r.damaged(snapshotName(id), manifest.FileMissing, "it has a tag")
	}
	return kept, nil
}

// needed returns the names of the files that snapshots use.
func (r *Repository) needed(ctx context.Context, kept []*manifest.Entry) (map[string]bool, error) {
	needed := make(map[string]bool)
	for _, e := range kept {
		snap, err := r.Load(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		needed[snapshotName(snap.ID)] = true
		for _, t := range snap.Tables {
			needed[t.Name] = true
		}
	}
	return needed, nil
}

// maxKept is the number of snapshots that GC keeps behind removed ones.
const maxKept = 10_000

// noteKept lists in current the kept snapshots that are found in no other way once the others are removed. It does so
// before anything is removed: a GC that is killed must not make the next one forget them.
func (r *Repository) noteKept(ctx context.Context, kept []*manifest.Entry) error {
	p, err := r.pointer(ctx)
	if err != nil {
		return err
	}
	var starts []string
	for i, e := range kept[1:] {
		if kept[i].Parent != e.ID {
			starts = append(starts, e.ID)
		}
	}
	if len(starts) > maxKept {
		return fmt.Errorf("%s: gc can keep at most %d snapshots behind removed ones, not %d", r.name, maxKept, len(starts))
	}
	if slices.Equal(starts, p.Kept) {
		return nil
	}
	p.Kept = starts
	return r.files.keep(ctx, &p)
}

// noteTidied records the day in current.
func (r *Repository) noteTidied(ctx context.Context, day string) error {
	p, err := r.pointer(ctx)
	if err != nil {
		return err
	}
	p.Tidied = day
	return r.files.keep(ctx, &p)
}

// sweep removes the files of a folder that are not needed, or only lists them.
func (r *Repository) sweep(ctx context.Context, folder string, needed map[string]bool, dryRun bool, done *Collected) error {
	var names []string
	var sizes []int64
	for e, err := range r.files.List(ctx, folder) {
		if err != nil {
			return err
		}
		if name := folder + "/" + e.Name; !needed[name] {
			names, sizes = append(names, name), append(sizes, e.Size)
		}
	}
	n := len(names)
	var err error
	if !dryRun {
		n, err = r.files.Remove(ctx, names...)
	}
	done.Files = append(done.Files, names[:n]...)
	for _, size := range sizes[:n] {
		done.Bytes += size
	}
	return err
}

package ingest

import (
	"context"
	"io"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/manifest/store"
)

// checksums computes the checksums of an unpublished snapshot. It comes after the plan, because a plan may be refused, and
// this reads all chunks once.
type checksums struct {
	repo  *repo.Repository
	snap  *manifest.Snapshot
	store *store.Store
	opts  *Options
	done  int64 // refs
	total int64
}

// addChecksums adds checksums to the refs of a snapshot that are in no table of an older snapshot, if the options ask
// for them or the older snapshot has them. old may be nil.
func addChecksums(ctx context.Context, repository *repo.Repository, snap, old *manifest.Snapshot, opts *Options) error {
	snap.Checksums = opts.Checksums || old != nil && old.Checksums
	if !snap.Checksums {
		return nil
	}
	c := &checksums{repo: repository, snap: snap, opts: opts}
	var tables []int
	for i, t := range snap.Tables {
		isOld := old != nil && slices.ContainsFunc(old.Tables, func(o manifest.Table) bool { return o.Name == t.Name })
		if t.Kind == manifest.Refs && !isOld {
			tables = append(tables, i)
			c.total += t.Rows
		}
	}
	if len(tables) == 0 {
		return nil
	}
	var err error
	// The user named these sources, so they may be read.
	if c.store, err = store.New(repository, snap, &store.Options{Trusted: true, Opener: opts.Opener}); err != nil {
		return err
	}
	made := slices.Clone(snap.Tables)
	for _, i := range tables {
		if made[i], err = c.table(ctx, snap.Tables[i]); err != nil {
			break
		}
	}
	if err = closing(c.store, err); err != nil {
		return err
	}
	for _, i := range tables {
		if made[i].Name == snap.Tables[i].Name {
			continue
		}
		if err := repository.Drop(snap.Tables[i]); err != nil {
			return err
		}
	}
	snap.Tables = made
	return nil
}

// table writes a table of refs again, with checksums.
func (c *checksums) table(ctx context.Context, t manifest.Table) (manifest.Table, error) {
	drafts := newTables(c.repo)
	defer drafts.abort()
	d, err := start(ctx, drafts, manifest.Refs, func(w io.Writer) *table.RefWriter { return table.NewCheckedRefs(w) })
	if err != nil {
		return t, err
	}
	if err := c.refs(ctx, t, d.rows); err != nil {
		return t, err
	}
	if err := d.finish(drafts); err != nil {
		return t, err
	}
	made := drafts.done[0]
	made.First = t.First
	return made, nil
}

// refs reads the chunks of a table, and writes its refs with their checksums. Refs that were copied from an older snapshot
// keep theirs.
func (c *checksums) refs(ctx context.Context, t manifest.Table, out *table.RefWriter) error {
	isKnown := func(ref manifest.Ref) bool { return ref.Checksum != 0 }
	return c.store.SumRefs(ctx, t.First, t.Rows, c.opts.Workers, isKnown, func(r *store.SummedRefs) error {
		if r.Err != nil {
			return r.Err
		}
		for i, known := range r.Checksums {
			if known != 0 {
				r.Sums[i] = known
			}
		}
		r.Checksums = r.Sums
		if err := out.Append(&r.RefColumns); err != nil {
			return err
		}
		if c.done += int64(len(r.Sums)); c.opts.Checking != nil {
			c.opts.Checking(c.done, c.total)
		}
		return nil
	})
}

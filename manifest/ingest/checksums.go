package ingest

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers/source"
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
	read  map[int64]bool // rows of the sources whose chunks were read
}

// addChecksums adds checksums to the refs of a snapshot that are in no table of an older snapshot, if the options ask
// for them or the older snapshot has them. old may be nil.
func (j *job) addChecksums(ctx context.Context, snap, old *manifest.Snapshot) error {
	repository, opts := j.repo, j.opts.Options
	snap.Checksums = opts.Checksums || old != nil && old.Checksums
	if !snap.Checksums {
		return nil
	}
	c := &checksums{repo: repository, snap: snap, opts: opts, read: map[int64]bool{}}
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
	// The user named all sources of a build, so they may be read.
	how := &store.Options{Trusted: j.access == nil, Access: j.access, Opener: opts.Opener}
	if j.access != nil {
		places, err := j.places()
		if err == nil {
			err = j.access.Include(places, j.urls(false))
		}
		if err != nil {
			return err
		}
	}
	var err error
	if c.store, err = store.New(repository, snap, how); err != nil {
		return err
	}
	made := slices.Clone(snap.Tables)
	for _, i := range tables {
		if made[i], err = c.table(ctx, snap.Tables[i]); err != nil {
			break
		}
	}
	if err == nil {
		err = c.sources(ctx)
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
	isKnown := func(_ *manifest.Variable, ref manifest.Ref) bool { return ref.Checksum != 0 }
	return c.store.SumRefs(ctx, t.First, t.Rows, c.opts.Workers, isKnown, func(r *store.SummedRefs) error {
		if r.Err != nil {
			return r.Err
		}
		for i := range r.Sums {
			if err := r.Damaged[i]; err != nil {
				return err
			}
		}
		for _, source := range r.Sources {
			c.read[source] = true
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

// sources compares the checksums of the sources whose chunks were read: a checksum of damaged bytes must not be stored as that
// of the right ones.
func (c *checksums) sources(ctx context.Context) error {
	group, within := source.NewGroup(ctx, c.opts.Workers)
	for _, row := range slices.Sorted(maps.Keys(c.read)) {
		src, err := c.store.Source(within, row)
		if err != nil {
			return cmp.Or(group.Wait(), err)
		}
		group.Go(src.URL, func() error { return c.store.VerifySource(within, row) })
	}
	return cmp.Or(group.Wait(), ctx.Err())
}

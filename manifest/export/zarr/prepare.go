package zarr

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"varve/manifest/internal/change"
)

// prepare settles what stands at the destination.
func (c *copier) prepare(ctx context.Context) error {
	if empty, err := c.home.isEmpty(ctx); empty || err != nil {
		return err
	}
	done, begun, err := c.standing(ctx)
	switch {
	case err != nil:
		return err
	case !done && begun == nil:
		return c.home.clear(ctx) // what a removal left
	case !done && bytes.Equal(begun, c.journalHead()):
		return nil // this copy was begun, and goes on
	case c.opts.Force:
		return c.home.clear(ctx)
	case c.opts.Append:
		return c.extend(ctx, begun)
	case begun != nil:
		return nil // the journal says why not
	}
	return fmt.Errorf("%s is there: append to it (--append), or replace it: %w", c.home.name(""), fs.ErrExist)
}

// standing reports whether there is a copy, and how the journal begins of one that is being
// made or appended to; nil without a journal.
func (c *copier) standing(ctx context.Context) (done bool, begun []byte, err error) {
	if done, err = c.home.has(ctx, stateName); err != nil {
		return false, nil, err
	}
	begun, err = c.home.begun(ctx, len(c.journalHead()))
	return done, begun, err
}

// extend finds what is new since the copy was made. An append to it that was begun, and is
// not this one, is forgotten: what it wrote is among what is new.
func (c *copier) extend(ctx context.Context, begun []byte) error {
	dest := c.home.name("")
	b, err := c.home.read(ctx, stateName)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the copy is not complete: finish it before anything is appended (without --append)", dest)
	}
	if err != nil {
		return err
	}
	var was state
	if err := json.Unmarshal(b, &was); err != nil {
		return fmt.Errorf("%s: %w", c.home.name(stateName), err)
	}
	is := c.state()
	is.Snapshot = was.Snapshot
	if x, _ := json.Marshal(is); string(x) != string(b) {
		return fmt.Errorf("%s was copied with other chunks, shards or another format: append with the same, or replace the copy (--force)", dest)
	}
	if c.opts.Manifest == nil {
		return fmt.Errorf("%s: nothing can be appended without the manifest's folder: %w", dest, errors.ErrUnsupported)
	}
	h := change.NewHistory(c.opts.Manifest)
	old, err := h.Load(ctx, was.Snapshot)
	if err == nil {
		err = c.compare(ctx, &change.Snapshots{Old: old, Now: c.snapshot, Past: h})
	} else if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is a copy of snapshot %.12s, which the manifest no longer has: replace the copy: %w", dest, was.Snapshot, fs.ErrExist)
	}
	if err = errors.Join(err, h.Close()); err != nil || begun == nil || bytes.Equal(begun, c.journalHead()) {
		return err
	}
	return c.home.removeJournal(ctx)
}

// compare leaves of every array what is new.
func (c *copier) compare(ctx context.Context, s *change.Snapshots) error {
	for _, t := range c.arrays {
		old, err := previous(s.Old, t, c.opts)
		if err != nil {
			return err
		}
		if old == nil {
			continue // an array that is new
		}
		t.old = old
		ch, err := s.Elements(ctx, t.spec)
		if err != nil {
			return err
		}
		t.fresh = change.Growth(old.grid, t.grid)
		if ch.Kind == change.Everything && t.kept() {
			t.fresh = ch // an array that is in the manifest is small: it is written again
			continue
		}
		if ch.Kind == change.Everything || t.fresh.Kind == change.Everything {
			return fmt.Errorf("%s: what was copied is not as it was: %s: replace the copy (--force)", t.spec.Path, cmp.Or(ch.Why, t.fresh.Why))
		}
		if t.isCutAnew() {
			return fmt.Errorf("%s: it is cut into other chunks than when it was copied: replace the copy (--force), with chunks that stay (--chunks) if more is to be appended", t.spec.Path)
		}
	}
	return nil
}

// isCutAnew reports whether chunks that were copied have other lengths now. Who reads the copy
// while it grows would take the new ones for the old.
func (t *target) isCutAnew() bool {
	if t.fresh.Kind != change.Behind {
		return false
	}
	was, is := t.old.grid.Dim(t.fresh.Axis), t.grid.Dim(t.fresh.Axis)
	for i := t.fresh.From; i < was.Chunks(); i++ {
		if i >= is.Chunks() || was.CodecSize(i) != is.CodecSize(i) {
			return true
		}
	}
	return false
}

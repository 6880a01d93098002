package zarr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"varve/manifest/export/internal/change"
)

// prepare settles what stands at the destination.
func (c *copier) prepare(ctx context.Context) error {
	entries, err := os.ReadDir(c.dest)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.dest, stateFolder)); err != nil {
		return fmt.Errorf("%s is there, and varve did not copy it: export to another folder: %w", c.dest, fs.ErrExist)
	}
	done, begun, err := c.standing()
	switch {
	case err != nil:
		return err
	case !done && begun == nil:
		return c.clear() // what a removal left
	case !done && bytes.Equal(begun, c.journalHead()):
		return nil // this copy was begun, and goes on
	case c.opts.Force:
		return c.clear()
	case c.opts.Append:
		return c.extend(ctx, begun)
	case begun != nil:
		return nil // the journal says why not
	}
	return fmt.Errorf("%s is there: append to it, or replace it: %w", c.dest, fs.ErrExist)
}

// standing reports whether there is a copy, and how the journal begins of one that is being
// made or appended to; nil without a journal.
func (c *copier) standing() (done bool, begun []byte, err error) {
	_, err = os.Stat(filepath.Join(c.dest, stateFolder, stateName))
	if done = err == nil; !done && !errors.Is(err, fs.ErrNotExist) {
		return false, nil, err
	}
	f, err := os.Open(filepath.Join(c.dest, stateFolder, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return done, nil, nil
	}
	if err != nil {
		return done, nil, err
	}
	begun, err = io.ReadAll(io.LimitReader(f, int64(len(c.journalHead()))))
	return done, begun, errors.Join(err, f.Close())
}

// clear removes what stands at the destination: first that it is a copy, last that varve may
// remove it.
func (c *copier) clear() error {
	first := []string{stateFolder + "/" + stateName, stateFolder + "/" + journalName, "zarr.json", ".zmetadata"}
	for _, key := range first {
		if err := os.Remove(filepath.Join(c.dest, key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	entries, err := os.ReadDir(c.dest)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == stateFolder {
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.dest, e.Name())); err != nil {
			return err
		}
	}
	return os.RemoveAll(c.dest)
}

// extend finds what is new since the copy was made. An append to it that was begun, and is
// not this one, is forgotten: what it wrote is among what is new.
func (c *copier) extend(ctx context.Context, begun []byte) error {
	b, err := os.ReadFile(filepath.Join(c.dest, stateFolder, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the copy is not complete: finish it before anything is appended", c.dest)
	}
	if err != nil {
		return err
	}
	var was state
	if err := json.Unmarshal(b, &was); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(c.dest, stateFolder, stateName), err)
	}
	is := c.state()
	is.Snapshot = was.Snapshot
	if x, _ := json.Marshal(is); string(x) != string(b) {
		return fmt.Errorf("%s was copied with other chunks or another format; append with the same", c.dest)
	}
	if c.opts.Manifest == nil {
		return fmt.Errorf("%s: nothing can be appended without the manifest's folder: %w", c.dest, errors.ErrUnsupported)
	}
	h := change.NewHistory(c.opts.Manifest)
	old, err := h.Load(ctx, was.Snapshot)
	if err == nil {
		err = c.compare(ctx, &change.Snapshots{Old: old, Now: c.snapshot, Past: h})
	} else if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is a copy of snapshot %.12s, which the manifest no longer has: replace the copy: %w", c.dest, was.Snapshot, fs.ErrExist)
	}
	if err = errors.Join(err, h.Close()); err != nil || begun == nil || bytes.Equal(begun, c.journalHead()) {
		return err
	}
	return os.Remove(filepath.Join(c.dest, stateFolder, journalName))
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
		if ch.Kind == change.Everything || t.fresh.Kind == change.Everything || ch.Kind == change.Behind && t.fresh.Kind == change.Behind && ch.Axis != t.fresh.Axis {
			return fmt.Errorf("%s: what was copied is not as it was: replace the copy", t.spec.Path)
		}
		if t.isCutAnew() {
			return fmt.Errorf("%s: it is cut into other chunks than when it was copied: replace the copy, or name chunks that stay (--chunks)", t.spec.Path)
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

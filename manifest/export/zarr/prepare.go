package zarr

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"varve/manifest"
	"varve/manifest/internal/change"
	"varve/manifest/internal/home"
)

// prepare decides about existing content at the destination: continue, append, replace or fail.
func (c *copier) prepare(ctx context.Context) error {
	if empty, err := c.home.isEmpty(ctx); empty || err != nil {
		return err
	}
	done, begun, err := c.existing(ctx)
	switch {
	case err != nil && !(errors.Is(err, fs.ErrExist) && c.opts.Force):
		return err
	case !done && begun == nil && !c.opts.Slice.IsWhole():
		return nil // another slice is about to begin
	case !done && begun == nil:
		return c.clear(ctx) // the rest of an interrupted removal
	case !done && bytes.Equal(begun, c.journalHead()):
		return nil // continue this copy
	case c.opts.Force:
		return c.clear(ctx)
	case c.opts.Append:
		return c.extend(ctx, begun)
	case begun != nil:
		return nil // the journal's check returns the error
	}
	return &manifest.ExistsError{Name: c.home.Name(""), CanAppend: true}
}

// clear removes everything, also temporary blocks elsewhere.
func (c *copier) clear(ctx context.Context) error {
	b, err := c.findBlocks(ctx)
	if err == nil {
		err = c.removeBlocks(ctx, b)
	}
	return errors.Join(err, c.home.clear(ctx))
}

// existing reports whether a complete copy exists, and returns the beginning of the journal of a running copy
// or append or of its slices, or nil. It fails if there are slices of another copy.
func (c *copier) existing(ctx context.Context) (done bool, begun []byte, err error) {
	if done, err = home.Has(ctx, c.home, stateName); err != nil {
		return false, nil, err
	}
	head := c.journalHead()
	if begun, err = c.home.begun(ctx, len(head)); err != nil {
		return false, nil, err
	}
	slices, err := c.home.slices(ctx)
	for _, s := range slices {
		records, err := c.home.records(ctx, s)
		switch {
		case err != nil:
			return false, nil, err
		case bytes.HasPrefix(head, records): // it was stopped before it wrote anything
		case !bytes.HasPrefix(records, head):
			return done, begun, fmt.Errorf("%s: %w", c.home.Name(""), errOtherCopy())
		case begun == nil:
			begun = head
		}
	}
	return done, begun, err
}

// extend finds the chunks that are new since the copy. The journal of another unfinished append is discarded,
// because its chunks are among the new ones.
func (c *copier) extend(ctx context.Context, begun []byte) error {
	dest := c.home.Name("")
	b, err := c.home.Read(ctx, stateName, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the copy is incomplete; finish it first by an export that does not append", dest)
	}
	if err != nil {
		return err
	}
	var was state
	if err := json.Unmarshal(b, &was); err != nil {
		return fmt.Errorf("%s: %w", c.home.Name(stateName), err)
	}
	is := c.state()
	is.Snapshot = was.Snapshot
	if x, _ := json.Marshal(is); string(x) != string(b) {
		return &manifest.ExistsError{Name: dest, Why: "was copied with other chunks, shards, padding, conventions or another format; append with the same"}
	}
	if c.opts.Manifest == nil {
		return fmt.Errorf("%s: nothing can be appended without the manifest's folder: %w", dest, errors.ErrUnsupported)
	}
	h := change.NewHistory(c.opts.Manifest)
	old, err := h.Load(ctx, was.Snapshot)
	if err == nil && is.Padded {
		old, err = old.WithPadding()
	}
	switch {
	case err == nil:
		err = c.compare(ctx, &change.Snapshots{Old: old, Now: c.snapshot, Past: h})
	case errors.Is(err, fs.ErrNotExist):
		err = &manifest.ExistsError{Name: dest, Why: fmt.Sprintf("is a copy of snapshot %.12s, which the manifest no longer has", was.Snapshot)}
	default:
		err = fmt.Errorf("%s: the snapshot of the copy: %w", c.home.Name(stateName), err)
	}
	if err = errors.Join(err, h.Close()); err != nil || begun == nil || bytes.Equal(begun, c.journalHead()) {
		return err
	}
	return c.home.removeJournal(ctx)
}

// compare sets the changes of every array.
func (c *copier) compare(ctx context.Context, s *change.Snapshots) error {
	for _, t := range c.arrays {
		old, err := previous(s.Old, t, c.opts)
		if err != nil {
			return err
		}
		if old == nil {
			continue // a new array
		}
		t.old = old
		if err := change.CheckGrid(c.home.Name(""), t.spec.Path, old.schema.ChunkGrid.Name, t.schema.ChunkGrid.Name); err != nil && !c.opts.Rectilinear {
			return manifest.WithRemedy(err, "rectilinear", "")
		}
		ch, err := s.Elements(ctx, t.spec)
		if err != nil {
			return err
		}
		t.fresh = change.Growth(old.grid, t.grid)
		if ch.Kind == change.Everything && t.kept() {
			t.fresh = ch // arrays in the manifest are small and are written again
			continue
		}
		if ch.Kind == change.Everything || t.fresh.Kind == change.Everything {
			return &manifest.ExistsError{Name: t.spec.Path, Why: "has changed since it was copied: " + cmp.Or(ch.Why, t.fresh.Why)}
		}
		if t.hasNewLengths() {
			return &manifest.ExistsError{Name: t.spec.Path, Why: "has other chunks than when it was copied; declare chunk lengths that do not change with the next append"}
		}
	}
	return nil
}

// hasNewLengths reports whether copied chunks have other lengths now. A client that reads during the append would
// confuse the new chunks with the old.
func (t *target) hasNewLengths() bool {
	if t.fresh.Kind != change.Tail {
		return false
	}
	was, is := t.old.grid.Dim(t.fresh.Axis), t.grid.Dim(t.fresh.Axis)
	for i := t.fresh.From; i < was.Chunks(); i++ {
		before, _ := was.CodecSize(i)
		if now, ok := is.CodecSize(i); !ok || i >= is.Chunks() || before != now {
			return true
		}
	}
	return false
}

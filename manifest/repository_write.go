package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"slices"
	"time"
)

// TableWriter writes the file of a table.
type TableWriter struct {
	r     *Repository
	kind  TableKind
	draft draft // nil once it is committed or given up
	sum   hash.Hash
	bytes int64
	err   error // the first; nothing is committed after one
}

// NewTable starts a table, which has to be committed or aborted. No GC removes it until the
// Repository is closed, or has published and has no other table under way. So whoever builds
// two snapshots at a time opens a Repository for each.
func (r *Repository) NewTable(ctx context.Context, kind TableKind) (*TableWriter, error) {
	if err := r.enter(ctx); err != nil {
		return nil, err
	}
	d, err := r.files.begin()
	if err != nil {
		return nil, err
	}
	r.writers.Add(1)
	return &TableWriter{r: r, kind: kind, draft: d, sum: sha256.New()}, nil
}

// Write implements io.Writer.
func (w *TableWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.draft.Write(p)
	w.sum.Write(p[:n])
	w.bytes += int64(n)
	w.err = err
	return n, err
}

// Commit ends the table. This Repository finds it from now on under the name that its content
// gives it; it is brought to disk, and found by others, with the first snapshot that has it.
// The First and Rows of what is returned are the caller's to set.
func (w *TableWriter) Commit() (Table, error) {
	if w.err != nil {
		return Table{}, w.err
	}
	sum := hex.EncodeToString(w.sum.Sum(nil))
	t := Table{Kind: w.kind, Name: tableName(w.kind, sum), Bytes: w.bytes, Sum: sum}
	if w.err = w.r.keep(t.Name, w.draft); w.err != nil {
		return Table{}, w.err
	}
	w.err = fs.ErrClosed
	w.draft = nil
	w.r.writers.Add(-1)
	return t, nil
}

// keep holds a draft ready for being published. One with the same content will do for both.
func (r *Repository) keep(name string, d draft) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ready[name] != nil {
		return d.discard()
	}
	if r.ready == nil {
		r.ready = map[string]draft{}
	}
	r.ready[name] = d
	return nil
}

// Drop removes a table that was committed and is not to be published. One that was published
// stays.
func (r *Repository) Drop(t Table) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.ready[t.Name]
	if d == nil {
		return nil
	}
	delete(r.ready, t.Name)
	return d.discard()
}

// discard removes what is ready and was not published.
func (r *Repository) discard() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.ready {
		err = errors.Join(err, d.discard())
	}
	clear(r.ready)
	return err
}

// Abort gives up the table. After Commit it does nothing.
func (w *TableWriter) Abort() error {
	if w.err == nil {
		w.err = fs.ErrClosed
	}
	if w.draft == nil {
		return nil
	}
	err := w.draft.discard()
	w.draft = nil
	w.r.writers.Add(-1)
	return err
}

// enter takes the lock of a writer, unless it is held.
func (r *Repository) enter(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.release != nil {
		return nil
	}
	release, err := r.files.share(ctx)
	if err != nil {
		return err
	}
	r.release = release
	return nil
}

// leave gives it back.
func (r *Repository) leave() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.release == nil {
		return nil
	}
	release := r.release
	r.release = nil
	return release()
}

// Publish makes a snapshot the current one, if that is still parent, whose id is empty where
// nothing was published; else the error is ErrConflict and nothing changed. It sets Varve,
// ID, Parent and, where it is zero, Created, and leaves out files of patches that no array
// has any more.
//
// When it returns an error that is no ErrConflict the snapshot may be current or not, but
// is so wholly.
func (r *Repository) Publish(ctx context.Context, snap *Snapshot, parent string) error {
	if err := r.enter(ctx); err != nil {
		return err
	}
	since, err := r.files.settle(ctx)
	if err != nil {
		return err
	}
	snap.Varve, snap.Parent = Version, parent
	if snap.Created.IsZero() {
		snap.Created = time.Now()
	}
	snap.Created = snap.Created.UTC().Truncate(time.Millisecond)
	snap.dropPatches()
	data, err := encodeSnapshot(snap)
	if err != nil {
		return err
	}
	if err := r.checkPresent(ctx, snap); err != nil {
		return err
	}
	snap.ID = sumOf(data)
	if err := r.expect(ctx, parent); err != nil {
		return err
	}
	if err := r.finish(ctx, snapshotName(snap.ID), snap, data); err != nil {
		return err
	}
	if err := r.advance(ctx, since, parent, snap.ID); err != nil {
		return err
	}
	if r.writers.Load() > 0 {
		return nil
	}
	return r.leave()
}

// expect sees whether a snapshot is current, before much is done to follow it.
func (r *Repository) expect(ctx context.Context, parent string) error {
	now, err := r.Current(ctx)
	if err == nil && now != parent {
		err = r.conflict(parent)
	}
	return err
}

func (r *Repository) conflict(parent string) error {
	return fmt.Errorf("%s: %w: it was to follow %s", r.name, ErrConflict, nameOf(parent))
}

// finish gives the file of a snapshot and its tables their names.
func (r *Repository) finish(ctx context.Context, file string, snap *Snapshot, data []byte) error {
	own, err := r.files.begin()
	if err != nil {
		return err
	}
	if _, err := own.Write(data); err != nil {
		return joinDiscard(err, own)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	drafts := []named{{own, file}}
	for name, d := range r.ready {
		if slices.ContainsFunc(snap.Tables, func(t Table) bool { return t.Name == name }) {
			drafts = append(drafts, named{d, name})
		}
	}
	if err := r.files.finish(ctx, drafts...); err != nil {
		return joinDiscard(err, own)
	}
	for _, n := range drafts {
		delete(r.ready, n.name)
	}
	return nil
}

// advance moves current from one snapshot to the next. Who cancels now is too late, unless
// there is somebody to wait for.
func (r *Repository) advance(ctx context.Context, since settled, from, to string) error {
	err := r.files.swap(ctx, since, encodePointer(from), encodePointer(to))
	if !errors.Is(err, ErrConflict) {
		return err
	}
	// A request may have been done and its answer lost, and another writer may have gone on
	// from there: that is no conflict.
	for e, err := range r.Log(ctx) {
		if err != nil || e.ID == from {
			break
		}
		if e.ID == to {
			return nil
		}
	}
	return r.conflict(from)
}

func nameOf(id string) string {
	if id == "" {
		return "nothing"
	}
	return "snapshot " + id
}

// Restore publishes what an earlier snapshot of the history held, as a new one behind all
// others.
func (r *Repository) Restore(ctx context.Context, id string) (*Snapshot, error) {
	parent, err := r.Current(ctx)
	if err != nil {
		return nil, err
	}
	snap, err := r.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	snap.Message, snap.Created = "restore "+id, time.Time{}
	if err := r.Publish(ctx, snap, parent); err != nil {
		return nil, err
	}
	return snap, nil
}

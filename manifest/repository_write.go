package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
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

// Commit brings the table to disk under the name that its content gives it. The First and
// Rows of what it returns are the caller's to set.
func (w *TableWriter) Commit() (Table, error) {
	if w.err != nil {
		return Table{}, w.err
	}
	sum := hex.EncodeToString(w.sum.Sum(nil))
	t := Table{Kind: w.kind, Name: tableName(w.kind, sum), Bytes: w.bytes, Sum: sum}
	if w.err = w.draft.finish(t.Name); w.err != nil {
		return Table{}, w.err
	}
	w.err = fs.ErrClosed
	w.draft = nil
	w.r.writers.Add(-1)
	return t, nil
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
	if err := writeAll(r.files, snapshotName(snap.ID), data); err != nil {
		return err
	}
	if err := r.advance(ctx, parent, snap.ID); err != nil {
		return err
	}
	if r.writers.Load() > 0 {
		return nil
	}
	return r.leave()
}

// advance moves current from one snapshot to the next.
func (r *Repository) advance(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := r.files.swap(ctx, currentName, encodePointer(from), encodePointer(to))
	if errors.Is(err, ErrConflict) {
		return fmt.Errorf("%s: %w: it was to follow %s", r.name, err, nameOf(from))
	}
	return err
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

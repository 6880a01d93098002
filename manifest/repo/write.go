package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"slices"
	"time"

	"varve/manifest"
	"varve/manifest/internal/home"
)

// TableWriter writes the file of a table.
type TableWriter struct {
	r     *Repository
	kind  manifest.TableKind
	draft home.Draft // nil after Commit and Abort
	sum   hash.Hash
	bytes int64
	err   error // the first error; Commit returns it
}

// NewTable starts a table. The caller must call Commit or Abort. GC does not remove the table until the
// Repository is closed, or has published while no other table was being written. So use a separate
// Repository for each of two snapshots that are built at the same time.
func (r *Repository) NewTable(ctx context.Context, kind manifest.TableKind) (*TableWriter, error) {
	if err := r.startWriting(ctx); err != nil {
		return nil, err
	}
	d, err := r.files.Begin()
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

// Commit completes the table and returns it; its name contains the SHA-256 of its content. Until a snapshot
// with the table is published, only this Repository can open it, and it may not be on disk. The caller sets
// First and Rows of the result.
func (w *TableWriter) Commit() (manifest.Table, error) {
	if w.err != nil {
		return manifest.Table{}, w.err
	}
	sum := hex.EncodeToString(w.sum.Sum(nil))
	t := manifest.Table{Kind: w.kind, Name: manifest.TableName(w.kind, sum), Bytes: w.bytes, Sum: sum}
	if w.err = w.r.addCommitted(t.Name, w.draft); w.err != nil {
		return manifest.Table{}, w.err
	}
	w.err = fs.ErrClosed
	w.draft = nil
	w.r.writers.Add(-1)
	return t, nil
}

// addCommitted remembers a committed draft until it is published. Of two drafts with the same content it
// discards the second.
func (r *Repository) addCommitted(name string, d home.Draft) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ready[name] != nil {
		return d.Discard()
	}
	if r.ready == nil {
		r.ready = map[string]home.Draft{}
	}
	r.ready[name] = d
	return nil
}

// Drop removes a table that was committed but will not be published. It does nothing to a published
// table.
func (r *Repository) Drop(t manifest.Table) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.ready[t.Name]
	if d == nil {
		return nil
	}
	delete(r.ready, t.Name)
	return d.Discard()
}

// discard removes the drafts that were committed but not published.
func (r *Repository) discard() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(r.ready)) { // the simulation needs the same order each time
		err = errors.Join(err, r.ready[name].Discard())
	}
	clear(r.ready)
	return err
}

// Abort discards the table. After Commit it does nothing.
func (w *TableWriter) Abort() error {
	if w.err == nil {
		w.err = fs.ErrClosed
	}
	if w.draft == nil {
		return nil
	}
	err := w.draft.Discard()
	w.draft = nil
	w.r.writers.Add(-1)
	return err
}

// Replace gives committed tables their names, in place of damaged files of published tables with these names. A reader that
// has opened a damaged file keeps it; others read the new one.
func (r *Repository) Replace(ctx context.Context, tables []manifest.Table) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var drafts []home.Named
	for _, t := range tables {
		d := r.ready[t.Name]
		if d == nil {
			return fmt.Errorf("%s: %w: it was not committed", r.path(t.Name), fs.ErrNotExist)
		}
		drafts = append(drafts, home.Named{Draft: d, Key: t.Name})
	}
	if err := r.files.Finish(ctx, drafts...); err != nil {
		return err
	}
	for _, n := range drafts {
		delete(r.ready, n.Key)
	}
	return nil
}

// startWriting takes the writer's lock, unless this Repository holds it already.
func (r *Repository) startWriting(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.release != nil {
		return nil
	}
	at := home.Now()
	since, release, err := r.files.holdOffGC(ctx)
	if err != nil {
		return err
	}
	r.release, r.since = release, &writersState{since, at}
	return nil
}

// stopWriting releases the writer's lock.
func (r *Repository) stopWriting() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.release == nil {
		return nil
	}
	release := r.release
	r.release, r.since = nil, nil
	return release()
}

// Publish makes a snapshot the current one if parent is still current; parent is empty if nothing was
// published yet. Otherwise it returns ErrConflict and changes nothing. It sets Varve, ID and Parent,
// sets Created if it is zero, and removes files of compacted chunks that no array uses any more.
//
// After any other error the snapshot may or may not be current; if it is, it is complete.
func (r *Repository) Publish(ctx context.Context, snap *manifest.Snapshot, parent string) error {
	if err := r.startWriting(ctx); err != nil {
		return err
	}
	if err := snap.SetVersion(); err != nil {
		return err
	}
	snap.Parent = parent
	if snap.Created.IsZero() {
		snap.Created = time.Now()
	}
	snap.Created = snap.Created.UTC().Truncate(time.Millisecond)
	snap.DropPatches()
	data, err := snap.Encode()
	if err != nil {
		return err
	}
	snap.ID = home.VersionOf(data)
	published, err := r.tryPublish(ctx, snap, data, parent)
	if err != nil {
		return err
	}
	// Keep the lock while other tables are being written: without it GC would remove them.
	if r.writers.Load() > 0 {
		return nil
	}
	if err := r.stopWriting(); err != nil {
		return err
	}
	r.tidy(ctx, published)
	return nil
}

// pointerAttempts is the number of attempts to replace current while others change its tags.
const pointerAttempts = 10

// tryPublish stores a snapshot and makes it current. It tries again if only tags have changed, or the mark of a GC. It returns the
// new content of current.
func (r *Repository) tryPublish(ctx context.Context, snap *manifest.Snapshot, data []byte, parent string) (*pointer, error) {
	for attempt := range pointerAttempts {
		// Read the state of current before checking that files exist: swapCurrent then detects a GC that
		// started after the check.
		since, err := r.state(ctx)
		if err != nil {
			return nil, err
		}
		p, err := r.decode(since)
		if err != nil {
			return nil, err
		}
		err = r.checkPresent(ctx, snap, p.Snapshot)
		if isMissing(err) && attempt > 0 {
			return nil, r.conflict(parent) // a GC removed files that were not published yet
		}
		if err == nil && p.Snapshot != parent {
			err = r.conflict(parent)
		}
		if err != nil {
			return nil, err
		}
		if err := r.finish(ctx, snapshotName(snap.ID), snap, data); err != nil {
			return nil, err
		}
		next := &p
		next.Varve, next.Snapshot, next.Sweeping = manifest.Version, snap.ID, false
		if err := r.files.swapCurrent(ctx, since, next); !errors.Is(err, ErrConflict) {
			return next, err
		}
		if done, err := r.isPublished(ctx, parent, snap.ID); done || err != nil {
			return next, err
		}
	}
	return nil, r.conflict(parent)
}

// stateLife is how long a state of current is used for publishing without another look. Publishing an older one is safe too,
// but may fail after the tables were stored.
const stateLife = home.Life

// state returns a state of current for swapCurrent: the one that was read when this process became a writer, or the present one.
func (r *Repository) state(ctx context.Context) (pointerState, error) {
	r.mu.Lock()
	since := r.since
	r.since = nil
	r.mu.Unlock()
	if since != nil && since.at.Age() < stateLife {
		return since.pointerState, nil
	}
	return r.files.waitForGC(ctx)
}

// isPublished reports whether a snapshot was published although replacing current was a conflict. The store may have executed
// the request although its answer was lost, and then another writer may have published a snapshot with ours as its parent. If
// ours is in the history, there was no conflict. If current still names the parent, only tags have changed, and isPublished
// returns false. Otherwise it returns ErrConflict.
func (r *Repository) isPublished(ctx context.Context, parent, id string) (bool, error) {
	now, err := r.pointer(ctx)
	if err == nil && now.Snapshot == parent {
		return false, nil
	}
	for e, err := range r.Log(ctx) {
		if err != nil || e.ID == parent {
			break
		}
		if e.ID == id {
			return true, nil
		}
	}
	return false, r.conflict(parent)
}

func (r *Repository) conflict(parent string) error {
	return &ConflictError{r.name, parent}
}

// ConflictError is returned by Publish if the parent of the new snapshot is no longer current. Nothing was
// written. It wraps ErrConflict.
type ConflictError struct {
	Name   string // of the repository
	Parent string // the parent of the new snapshot; empty if it has none
}

// Error says that nothing was written.
func (e *ConflictError) Error() string {
	if e.Parent == "" {
		return e.Name + " was created by another process in the meantime; nothing was written"
	}
	return fmt.Sprintf("%s: another process replaced snapshot %.12s in the meantime; nothing was written", e.Name, e.Parent)
}

// Unwrap makes it an ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// finish gives the file of a snapshot and its committed tables their names.
func (r *Repository) finish(ctx context.Context, file string, snap *manifest.Snapshot, data []byte) error {
	own, err := r.files.Begin()
	if err != nil {
		return err
	}
	if _, err := own.Write(data); err != nil {
		return home.Discard(err, own)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	drafts := []home.Named{{Draft: own, Key: file}}
	for _, t := range snap.Tables {
		isAdded := slices.ContainsFunc(drafts, func(n home.Named) bool { return n.Key == t.Name })
		if d := r.ready[t.Name]; d != nil && !isAdded {
			drafts = append(drafts, home.Named{Draft: d, Key: t.Name})
		}
	}
	if err := r.files.Finish(ctx, drafts...); err != nil {
		return home.Discard(err, own)
	}
	for _, n := range drafts {
		delete(r.ready, n.Key)
	}
	return nil
}

// Restore publishes an earlier snapshot of the history again, as the newest one.
func (r *Repository) Restore(ctx context.Context, id string) (*manifest.Snapshot, error) {
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

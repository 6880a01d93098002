// Package repo stores manifests: a Repository is a folder, or a prefix in an object store, with immutable
// snapshots and their tables, and one small file that names the current snapshot.
package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"varve/manifest"
	"varve/manifest/internal/home"
	"varve/readers/source"
)

// Repository is a folder, or a prefix in an object store, with a manifest: immutable files, and one small
// file that names the current snapshot.
//
//	OUT/current                     {"varve":1,"snapshot":"ID"}, and tags: the only file that is ever replaced
//	OUT/snapshots/ID.json           a Snapshot; ID is the SHA-256 of the file
//	OUT/tables/KIND-SUM.parquet     a Table; SUM is the SHA-256 of the file
//	OUT/patches/chunks-SUM.bin      compacted chunks, one after another; SUM is the SHA-256 of the file
//	OUT/patches/patches-SUM.parquet a Table with the location of each chunk in such a file
//	OUT/drafts/                     files that are being written
//	OUT/locks/                      empty files that writers lock; in object stores, leases
//
// Every file is first written as a draft. Publishing a snapshot flushes the drafts of all its files to
// the disk or the store, then gives each its name, and replaces current last. So a reader finds either
// the old snapshot or the new one, each complete, even if a writer is killed. No reader finds the drafts
// of a killed writer; GC removes them.
//
// A Repository may be used by any number of goroutines, and a folder or prefix by any number of
// processes.
type Repository struct {
	name  string
	files files
	now   func() time.Time // nil means time.Now

	mu      sync.Mutex
	release func() error          // releases the writer's lock; nil if it is not held
	since   *writersState         // the state of current when the lock was taken; nil once it was used
	ready   map[string]home.Draft // tables that were committed but not published, by name
	loaded  loaded                // the snapshot that was loaded last
	writers atomic.Int64          // number of tables that are being written
}

// writersState is the state of current at a moment when this process had the writer's lock.
type writersState struct {
	pointerState
	at home.Since
}

// loaded is a snapshot that was read, and its tables.
type loaded struct {
	id     string
	tables []manifest.Table
}

var (
	// ErrConflict is returned by Publish if the parent of the new snapshot is no longer current.
	ErrConflict = home.ErrConflict
	// ErrBusy is returned by GC while a writer is active.
	ErrBusy = home.ErrBusy
)

const (
	currentName    = "current"
	snapshotFolder = "snapshots"
)

// pointer is the content of the file current.
type pointer struct {
	Varve    int               `json:"varve"`
	Snapshot string            `json:"snapshot"`
	Tags     map[string]string `json:"tags,omitempty"` // snapshots by their tags
	// Kept are the snapshots that GC kept although it removed snapshots between them and the newest ones. So
	// they cannot be found through their children. The newest come first.
	Kept []string `json:"kept,omitempty"`
	// Policy is what the user set for writers that tidy, and Tidied the day of the last tidying.
	Policy *Policy `json:"policy,omitempty"`
	Tidied string  `json:"tidied,omitempty"`
	// Write is a random text, so that no two states of the file are equal. Sweeping is the mark of a GC
	// that is removing files. Only object stores use the two fields.
	Write    string `json:"write,omitempty"`
	Sweeping bool   `json:"sweeping,omitempty"`
}

// CreateOptions are the options of Create.
type CreateOptions struct {
	// Replace allows a repository in which something was published: the next snapshot follows the existing
	// snapshots, which remain.
	Replace bool
}

// Create makes a repository in a folder or below a prefix, such as s3://bucket/name. The folder may be
// missing or empty, or have a repository in which nothing was published.
//
// In an object store, reads of opened files end when ctx is cancelled.
func Create(ctx context.Context, name string, opts *CreateOptions) (*Repository, error) {
	if opts == nil {
		opts = &CreateOptions{}
	}
	store, err := openFiles(ctx, name, home.CreateFolder)
	if err != nil {
		return nil, err
	}
	r := &Repository{name: source.Shown(name), files: store}
	if err := r.checkFree(ctx, opts.Replace); err != nil {
		return nil, store.Close(err)
	}
	return r, nil
}

// checkFree returns nil if a new manifest may be built here.
func (r *Repository) checkFree(ctx context.Context, force bool) error {
	for f, err := range r.files.List(ctx, "") {
		if err != nil {
			return err
		}
		switch f.Name {
		case currentName, snapshotFolder, "tables", "patches", draftFolder, lockFolder:
		default:
			return fmt.Errorf("%s: %w: it holds %s, which varve did not write; choose another folder", r.name, manifest.ErrForeign, f.Name)
		}
	}
	if force {
		return nil
	}
	id, err := r.Current(ctx)
	if err == nil && id != "" {
		err = &manifest.ExistsError{Name: r.name, CanAppend: true}
	}
	return err
}

// Open opens a repository in which a snapshot was published. In an object store, reads of opened files
// end when ctx is cancelled.
func Open(ctx context.Context, name string) (*Repository, error) {
	r, _, err := open(ctx, name)
	return r, err
}

// OpenCurrent opens a repository and loads its current snapshot. It reads the file current only once.
func OpenCurrent(ctx context.Context, name string) (*Repository, *manifest.Snapshot, error) {
	r, id, err := open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	snap, err := r.Load(ctx, id)
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return r, snap, nil
}

// open opens a repository, and returns the ID of its current snapshot.
func open(ctx context.Context, name string) (*Repository, string, error) {
	store, err := openFiles(ctx, name, home.OpenFolder)
	if err != nil {
		return nil, "", err
	}
	r := &Repository{name: source.Shown(name), files: store}
	id, err := r.Current(ctx)
	if err == nil && id == "" {
		err = absent(fmt.Sprintf("%s is not a manifest, or its build was interrupted: it has no file %q; varve build OUT SRC makes a manifest", r.name, currentName))
	}
	if err != nil {
		return nil, "", store.Close(err)
	}
	return r, id, nil
}

// IsFolder reports whether a local folder is a repository. The repository may be damaged.
func IsFolder(dir string) bool {
	current, err := os.Lstat(filepath.Join(dir, currentName))
	if err != nil || !current.Mode().IsRegular() {
		return false
	}
	snapshots, err := os.Lstat(filepath.Join(dir, snapshotFolder))
	return err == nil && snapshots.IsDir()
}

// IsPlace reports whether a folder of an object store is a repository, given the names of the files and
// folders in it. The repository may be damaged.
func IsPlace(files, folders []string) bool {
	return slices.Contains(files, currentName) && slices.Contains(folders, snapshotFolder)
}

// Name returns the folder or prefix that was passed to Create or Open, without secrets.
func (r *Repository) Name() string { return r.name }

// Close releases locks and connections, and removes tables that were committed but not published.
func (r *Repository) Close() error {
	return r.files.Close(errors.Join(r.discard(), r.stopWriting()))
}

// Current returns the ID of the current snapshot. It is empty before the first one is published.
func (r *Repository) Current(ctx context.Context) (string, error) {
	p, err := r.pointer(ctx)
	return p.Snapshot, err
}

// LoadCurrent reads the current snapshot.
func (r *Repository) LoadCurrent(ctx context.Context) (*manifest.Snapshot, error) {
	id, err := r.Current(ctx)
	if err != nil {
		return nil, err
	}
	return r.Load(ctx, id)
}

// pointer reads current. Before the first snapshot is published, the pointer is empty.
func (r *Repository) pointer(ctx context.Context) (p pointer, err error) {
	if err := ctx.Err(); err != nil {
		return p, err
	}
	now, err := readCurrent(ctx, r.files)
	if err != nil {
		return p, err
	}
	return r.decode(now)
}

// decode decodes a state of current.
func (r *Repository) decode(now pointerState) (p pointer, err error) {
	if now.data == nil {
		return p, nil
	}
	if err := json.Unmarshal(now.data, &p); err != nil {
		return pointer{}, r.damagedPointer(err.Error())
	}
	if p.Varve != manifest.Version {
		return pointer{}, fmt.Errorf("%s: the manifest has version %d, which is %w: this varve reads version %d", r.name, p.Varve, errors.ErrUnsupported, manifest.Version)
	}
	for _, id := range slices.Concat([]string{p.Snapshot}, slices.Collect(maps.Values(p.Tags)), p.Kept) {
		if !manifest.IsSum(id) {
			return pointer{}, r.damagedPointer(fmt.Sprintf("snapshot is %.80q, not 64 hex digits", id))
		}
	}
	return p, nil
}

// damagedPointer returns an error that says how to repair the file: nothing else records which
// snapshot is current.
func (r *Repository) damagedPointer(detail string) error {
	return r.damaged(currentName, manifest.FileCorrupt, fmt.Sprintf("%s; choose a snapshot in %s and make the file say %s",
		detail, r.path(snapshotFolder), bytes.TrimSpace((&pointer{Varve: manifest.Version, Snapshot: "ID"}).encode())))
}

// Load reads a snapshot and verifies its SHA-256.
func (r *Repository) Load(ctx context.Context, id string) (*manifest.Snapshot, error) {
	data, err := r.read(ctx, id)
	if err != nil {
		return nil, err
	}
	snap, err := manifest.DecodeSnapshot(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path(snapshotName(id)), err)
	}
	snap.ID = id
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded = loaded{id, slices.Clone(snap.Tables)}
	return snap, nil
}

// read returns the content of a snapshot's file.
func (r *Repository) read(ctx context.Context, id string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !manifest.IsSum(id) {
		return nil, fmt.Errorf("%s: %.80q is not the ID of a snapshot, which has 64 hex digits", r.name, id)
	}
	name := snapshotName(id)
	data, err := r.files.Read(ctx, name, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r.damaged(name, manifest.FileMissing, "")
	}
	if err == nil && home.VersionOf(data) != id {
		err = r.damaged(name, alteration(data), "its SHA-256 differs from its name")
	}
	return data, err
}

// alteration distinguishes a truncated snapshot, which lacks the final brace, from one that was
// changed.
func alteration(data []byte) manifest.Damage {
	if bytes.HasSuffix(data, []byte("\n}\n")) {
		return manifest.FileCorrupt
	}
	return manifest.FileTruncated
}

// Find returns the ID of the snapshot with this tag, or of the only snapshot of the history whose ID starts with
// this prefix.
func (r *Repository) Find(ctx context.Context, prefix string) (string, error) {
	tags, err := r.Tags(ctx)
	if err != nil {
		return "", err
	}
	if id, ok := tags[prefix]; ok {
		return id, nil
	}
	found := ""
	for snap, err := range r.Log(ctx) {
		if err != nil {
			return "", err
		}
		if len(prefix) == 0 || len(prefix) > len(snap.ID) || snap.ID[:len(prefix)] != prefix {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("%s: snapshot %q is ambiguous: it can be %s or %s", r.name, prefix, found, snap.ID)
		}
		found = snap.ID
	}
	if found == "" {
		return "", absent(fmt.Sprintf("%s has no snapshot or tag %.80q; varve history lists them", r.name, prefix))
	}
	return found, nil
}

// History yields the current snapshot and all ancestors that GC kept, the newest first.
func (r *Repository) History(ctx context.Context) iter.Seq2[*manifest.Snapshot, error] {
	return walkParents(ctx, r, func(id string) (*manifest.Snapshot, string, error) {
		snap, err := r.Load(ctx, id)
		if err != nil {
			return nil, "", err
		}
		return snap, snap.Parent, nil
	})
}

// Log yields the snapshots of History but decodes only the first lines of each. It still reads each
// file and verifies its SHA-256.
func (r *Repository) Log(ctx context.Context) iter.Seq2[*manifest.Entry, error] {
	return walkParents(ctx, r, func(id string) (*manifest.Entry, string, error) {
		data, err := r.read(ctx, id)
		if err != nil {
			return nil, "", err
		}
		e, err := manifest.DecodeEntry(data)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", r.path(snapshotName(id)), err)
		}
		e.ID = id
		return e, e.Parent, nil
	})
}

// walkParents yields the current snapshot and its ancestors, until the file of one is missing, and then the same for
// each older snapshot that GC kept.
func walkParents[T any](ctx context.Context, r *Repository, load func(id string) (*T, string, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		p, err := r.pointer(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		seen := map[string]bool{"": true} // the first snapshot has no parent
		for _, start := range append([]string{p.Snapshot}, p.Kept...) {
			for id := start; !seen[id]; {
				seen[id] = true
				one, parent, err := load(id)
				// GC removes old snapshots, so a missing ancestor is a gap in the history. A missing
				// current snapshot is damage.
				if isMissing(err) && id != p.Snapshot {
					break
				}
				if !yield(one, err) || err != nil {
					return
				}
				id = parent
			}
		}
	}
}

func (r *Repository) damaged(name string, damage manifest.Damage, detail string) error {
	return &manifest.DamageError{Name: r.path(name), Damage: damage, Detail: detail}
}

func isMissing(err error) bool {
	var d *manifest.DamageError
	return errors.As(err, &d) && d.Damage == manifest.FileMissing
}

// path returns the name of a repository's file for messages.
func (r *Repository) path(name string) string { return r.files.Name(name) }

func snapshotName(id string) string { return snapshotFolder + "/" + id + ".json" }

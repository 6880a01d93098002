package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"varve/codec"
	"varve/readers/source"
)

// Repository is a folder, or a prefix in an object store, that holds a manifest: files that
// never change, and one small file that says which of them count.
//
//	OUT/current                     {"varve":1,"snapshot":"ID"}: the only file that is ever replaced
//	OUT/snapshots/ID.json           a Snapshot; ID is the SHA-256 of the file
//	OUT/tables/KIND-SUM.parquet     a Table; SUM is the SHA-256 of the file
//	OUT/patches/chunks-SUM.bin      re-encoded chunks, behind one another; SUM is the SHA-256 of the file
//	OUT/patches/patches-SUM.parquet a Table that says where in such a file each chunk is
//	OUT/drafts/                     files that are being written
//	OUT/locks/                      empty files that writers hold locks on; in object stores leases
//
// A file is written as a draft, brought to disk or into the store, and only then given its
// name; that is done for all files of a snapshot when it is published. current is replaced
// last. So a reader finds the old snapshot whole or the new one whole, whenever a writer
// stops. What a writer leaves behind is found by no reader, and removed by GC.
//
// A Repository may be used by any number of goroutines, and a folder or a prefix by any number
// of processes.
type Repository struct {
	name  string
	files files

	mu      sync.Mutex
	release func() error     // gives back the lock of a writer; nil if there is none
	ready   map[string]draft // tables that were committed and are not published, by name
	writers atomic.Int64     // tables under way
}

var (
	// ErrConflict marks the error of publishing behind a snapshot that is no longer current.
	ErrConflict = errors.New("another writer was faster")
	// ErrForeign marks the error of writing where something stands that varve did not write, and
	// does not replace. It is an fs.ErrExist.
	ErrForeign = fmt.Errorf("%w", fs.ErrExist)
	// ErrBusy marks the error of removing files while somebody writes.
	ErrBusy = errors.New("a writer is at work")
)

const (
	currentName    = "current"
	snapshotFolder = "snapshots"
)

// pointer is the file current.
type pointer struct {
	Varve    int    `json:"varve"`
	Snapshot string `json:"snapshot"`
	// Write is nobody else's, so that no two states of the file are equal. Sweeping says that
	// somebody removes files. Both are of object stores only.
	Write    string `json:"write,omitempty"`
	Sweeping bool   `json:"sweeping,omitempty"`
}

// Create makes a repository in a folder or below a prefix, such as s3://bucket/name, which may
// be missing, empty, or hold one that was never published. With force it may hold any
// repository: what is published then comes behind its snapshots, and takes nothing away from
// them.
//
// In an object store, what is read later of files that were opened ends with ctx.
func Create(ctx context.Context, name string, force bool) (*Repository, error) {
	store, err := home(ctx, name, createFolder)
	if err != nil {
		return nil, err
	}
	r := &Repository{name: source.Shown(name), files: store}
	if err := r.checkFree(ctx, force); err != nil {
		return nil, errors.Join(err, store.close())
	}
	return r, nil
}

// checkFree returns nil if a manifest may be built here.
func (r *Repository) checkFree(ctx context.Context, force bool) error {
	names, err := r.files.list(ctx, "")
	if err != nil {
		return err
	}
	for _, f := range names {
		switch f.name {
		case currentName, snapshotFolder, "tables", "patches", "drafts", "locks":
		default:
			return fmt.Errorf("%s: %w: it holds %s, which is no part of a manifest", r.name, ErrForeign, f.name)
		}
	}
	if force {
		return nil
	}
	id, err := r.Current(ctx)
	if err == nil && id != "" {
		err = fmt.Errorf("%s: %w: it is a manifest; append adds files to it, and --force builds over it", r.name, fs.ErrExist)
	}
	return err
}

// Open opens a repository in which something was published. In an object store, what is read
// later of files that were opened ends with ctx.
func Open(ctx context.Context, name string) (*Repository, error) {
	store, err := home(ctx, name, openFolder)
	if err != nil {
		return nil, err
	}
	r := &Repository{name: source.Shown(name), files: store}
	id, err := r.Current(ctx)
	if err == nil && id == "" {
		err = fmt.Errorf("%s is no manifest: it has no file %q (%w); varve build OUT SRC makes one, also where that was interrupted", r.name, currentName, fs.ErrNotExist)
	}
	if err != nil {
		return nil, errors.Join(err, store.close())
	}
	return r, nil
}

// IsFolder reports whether a folder is a repository, or was.
func IsFolder(dir string) bool {
	current, err := os.Lstat(filepath.Join(dir, currentName))
	if err != nil || !current.Mode().IsRegular() {
		return false
	}
	snapshots, err := os.Lstat(filepath.Join(dir, snapshotFolder))
	return err == nil && snapshots.IsDir()
}

// IsPlace reports as much of what lies in a folder of an object store, by the names of its files
// and folders.
func IsPlace(files, folders []string) bool {
	return slices.Contains(files, currentName) && slices.Contains(folders, snapshotFolder)
}

// Name returns the folder, as it was given, or the prefix.
func (r *Repository) Name() string { return r.name }

// Close releases what was opened, and removes tables that were committed and not published.
func (r *Repository) Close() error {
	return errors.Join(r.discard(), r.leave(), r.files.close())
}

// Current returns the id of the snapshot that counts; it is empty before the first one.
func (r *Repository) Current(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	data, err := readAll(ctx, r.files, currentName)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var p pointer
	if err := json.Unmarshal(data, &p); err != nil {
		return "", r.damagedPointer(err.Error())
	}
	if p.Varve != Version {
		return "", fmt.Errorf("%s: a manifest of version %d: %w: this is varve %d", r.name, p.Varve, errors.ErrUnsupported, Version)
	}
	if !isSum(p.Snapshot) {
		return "", r.damagedPointer(fmt.Sprintf("snapshot is %.80q, not 64 hex digits", p.Snapshot))
	}
	return p.Snapshot, nil
}

// damagedPointer says how the file is made anew: it is all that tells which snapshot counts.
func (r *Repository) damagedPointer(detail string) error {
	return r.damaged(currentName, Altered, fmt.Sprintf("%s; the snapshots are in %s, and one of them counts again once the file says %s",
		detail, r.path(snapshotFolder), bytes.TrimSpace(encodePointer("ID"))))
}

func encodePointer(id string) []byte {
	if id == "" {
		return nil
	}
	return fmt.Appendf(nil, "{\"varve\":%d,\"snapshot\":%q}\n", Version, id)
}

// Load reads a snapshot. It is what was published, or an error.
func (r *Repository) Load(ctx context.Context, id string) (*Snapshot, error) {
	data, err := r.read(ctx, id)
	if err != nil {
		return nil, err
	}
	snap, err := decodeSnapshot(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path(snapshotName(id)), err)
	}
	snap.ID = id
	return snap, nil
}

// read reads the file of a snapshot.
func (r *Repository) read(ctx context.Context, id string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !isSum(id) {
		return nil, fmt.Errorf("%s: %.80q is no snapshot: an id has 64 hex digits", r.name, id)
	}
	name := snapshotName(id)
	data, err := readAll(ctx, r.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r.damaged(name, Missing, "")
	}
	if err == nil && sumOf(data) != id {
		err = r.damaged(name, alteration(data), "it does not have the SHA-256 that it is named by")
	}
	return data, err
}

// alteration tells a snapshot that was cut off, which does not end as one does, from one that
// was changed.
func alteration(data []byte) Damage {
	if bytes.HasSuffix(data, []byte("\n}\n")) {
		return Altered
	}
	return Truncated
}

// Find returns the id of the only snapshot of the history that begins with a prefix.
func (r *Repository) Find(ctx context.Context, prefix string) (string, error) {
	found := ""
	for snap, err := range r.Log(ctx) {
		if err != nil {
			return "", err
		}
		if len(prefix) == 0 || len(prefix) > len(snap.ID) || snap.ID[:len(prefix)] != prefix {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("%s: snapshot %q is ambiguous: %s and %s", r.name, prefix, found, snap.ID)
		}
		found = snap.ID
	}
	if found == "" {
		return "", fmt.Errorf("%s: no snapshot %.80q: %w", r.name, prefix, fs.ErrNotExist)
	}
	return found, nil
}

// History yields the current snapshot and those before it, the newest first, as far back as
// they were kept.
func (r *Repository) History(ctx context.Context) iter.Seq2[*Snapshot, error] {
	return back(ctx, r, func(id string) (*Snapshot, string, error) {
		snap, err := r.Load(ctx, id)
		if err != nil {
			return nil, "", err
		}
		return snap, snap.Parent, nil
	})
}

// Entry is what there is to say about a snapshot in a list of many.
type Entry struct {
	ID, Parent      string
	Created         time.Time
	Message, Writer string
	Sources, Refs   int64
}

// Log yields what History does, but reads no more of each snapshot than its first lines. That
// the file is what was published is checked.
func (r *Repository) Log(ctx context.Context) iter.Seq2[*Entry, error] {
	return back(ctx, r, func(id string) (*Entry, string, error) {
		data, err := r.read(ctx, id)
		if err != nil {
			return nil, "", err
		}
		d, err := decodeHead(data)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", r.path(snapshotName(id)), err)
		}
		return &Entry{id, d.Parent, d.Created, d.Message, d.Writer, d.Sources, d.Refs}, d.Parent, nil
	})
}

// back goes from the current snapshot to its parents, until one is no longer there.
func back[T any](ctx context.Context, r *Repository, load func(id string) (*T, string, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		id, err := r.Current(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for first := true; id != ""; first = false {
			one, parent, err := load(id)
			if isMissing(err) && !first {
				return
			}
			if !yield(one, err) || err != nil {
				return
			}
			id = parent
		}
	}
}

// Damage is what is wrong with a file of a repository.
type Damage string

// The damages.
const (
	Missing   Damage = "is missing"
	Truncated Damage = "is truncated"
	Altered   Damage = "is corrupt"
)

// DamageError is the error of a file of a repository that is not what was published. It is a
// codec.ErrCorrupt.
type DamageError struct {
	Name   string // the file
	Damage Damage
	Detail string
}

// Error names the file.
func (e *DamageError) Error() string {
	s := e.Name + " " + string(e.Damage)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap makes the error a codec.ErrCorrupt.
func (e *DamageError) Unwrap() error { return codec.ErrCorrupt }

func (r *Repository) damaged(name string, damage Damage, detail string) error {
	return &DamageError{Name: r.path(name), Damage: damage, Detail: detail}
}

func isMissing(err error) bool {
	var d *DamageError
	return errors.As(err, &d) && d.Damage == Missing
}

// path names a file of the repository to a user.
func (r *Repository) path(name string) string { return r.files.path(name) }

func snapshotName(id string) string { return snapshotFolder + "/" + id + ".json" }

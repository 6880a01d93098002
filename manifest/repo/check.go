package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/manifest/internal/home"
	"varve/readers/source"
)

type blob = home.File

// TableFile is the open file of a table.
type TableFile struct {
	blob
}

// OpenTable opens the file of a table. It returns a manifest.DamageError if the file is missing or has another
// size. Check finds files whose bytes were changed.
func (r *Repository) OpenTable(ctx context.Context, t manifest.Table) (*TableFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	f, err := r.open(ctx, t)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r.damaged(t.Name, manifest.FileMissing, "")
	}
	if err != nil {
		return nil, err
	}
	if err := r.checkSize(t, f.Size()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &TableFile{f}, nil
}

// checkSize compares the size of a table's file with the published size.
func (r *Repository) checkSize(t manifest.Table, size int64) error {
	return checkSize(r.path(t.Name), size, t.Bytes)
}

func checkSize(name string, size, want int64) error {
	if size == want {
		return nil
	}
	damage := manifest.FileCorrupt
	if size < want {
		damage = manifest.FileTruncated
	}
	return &manifest.DamageError{Name: name, Damage: damage, Detail: fmt.Sprintf("it has %d bytes instead of %d", size, want)}
}

// readyDraft returns the draft of a table that was committed but not published, or nil.
func (r *Repository) readyDraft(name string) home.Draft {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready[name]
}

// open opens a table, also if it is still a draft.
func (r *Repository) open(ctx context.Context, t manifest.Table) (home.File, error) {
	if d := r.readyDraft(t.Name); d != nil {
		return d.Open()
	}
	f, err := r.files.Open(ctx, t.Name, t.Bytes)
	if err != nil {
		return nil, err
	}
	return damagedFile{f, r.path(t.Name)}, nil
}

// maxConcurrentStats is the number of files that are looked up at a time.
const maxConcurrentStats = 8

// checkPresent returns an error if a file of the snapshot is missing or has another size. current is the ID of the current
// snapshot: its files exist, because GC keeps them.
func (r *Repository) checkPresent(ctx context.Context, snap *manifest.Snapshot, current string) error {
	r.mu.Lock()
	kept := r.loaded
	r.mu.Unlock()
	if kept.id != current || r.files.needsLook() {
		kept = loaded{}
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentStats)
	for _, t := range snap.Tables {
		isKept := slices.ContainsFunc(kept.tables, func(k manifest.Table) bool { return k.Name == t.Name && k.Bytes == t.Bytes })
		if isKept || r.readyDraft(t.Name) != nil {
			continue
		}
		group.Go(func() error {
			_, err := r.FileOf(within, t)
			return err
		})
	}
	return group.Wait()
}

// Check reads all files of a snapshot. Its error lists every file that differs from the published one.
func (r *Repository) Check(ctx context.Context, snap *manifest.Snapshot) error {
	var all error
	for _, t := range snap.Tables {
		if err := ctx.Err(); err != nil {
			return err
		}
		all = errors.Join(all, r.checkTable(ctx, t))
	}
	return all
}

func (r *Repository) checkTable(ctx context.Context, t manifest.Table) (err error) {
	f, err := r.OpenTable(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, f.Size())); err != nil {
		return fmt.Errorf("%s: %w", r.path(t.Name), err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != t.Sum {
		return r.damaged(t.Name, manifest.FileCorrupt, "its SHA-256 is not the published one")
	}
	return nil
}

// FileOf returns the location of a table's file, for code that reads it without the Repository. The
// file never changes, but users may move the folder that it is in.
func (r *Repository) FileOf(ctx context.Context, t manifest.Table) (manifest.Source, error) {
	if err := ctx.Err(); err != nil {
		return manifest.Source{}, err
	}
	if err := t.Check(); err != nil {
		return manifest.Source{}, fmt.Errorf("%s: %w", r.name, err)
	}
	file, err := sourceOf(ctx, r.files, t.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return manifest.Source{}, r.damaged(t.Name, manifest.FileMissing, "")
	}
	if err != nil {
		return manifest.Source{}, err
	}
	return file, r.checkSize(t, file.Size)
}

// OpenFile opens a table's file as a source, if the repository is in an object store. For a folder it
// returns an errors.ErrUnsupported: use FileOf.
func (r *Repository) OpenFile(ctx context.Context, t manifest.Table) (*source.Source, error) {
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	o, ok := r.files.(*objects)
	if !ok {
		return nil, fmt.Errorf("%s: the file is not in an object store: %w", r.path(t.Name), errors.ErrUnsupported)
	}
	if _, err := r.FileOf(ctx, t); err != nil {
		return nil, err
	}
	return o.OpenSource(t.Name, t.Bytes)
}

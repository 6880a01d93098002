package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sync/errgroup"
)

// TableFile is the open file of a table.
type TableFile struct {
	blob
}

// OpenTable opens the file of a table. It returns a DamageError if the file is missing or has another
// size. Check finds files whose bytes were changed.
func (r *Repository) OpenTable(ctx context.Context, t Table) (*TableFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	f, err := r.open(ctx, t)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r.damaged(t.Name, FileMissing, "")
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
func (r *Repository) checkSize(t Table, size int64) error {
	return checkSize(r.path(t.Name), size, t.Bytes)
}

func checkSize(name string, size, want int64) error {
	if size == want {
		return nil
	}
	damage := FileCorrupt
	if size < want {
		damage = FileTruncated
	}
	return &DamageError{name, damage, fmt.Sprintf("it has %d bytes instead of %d", size, want)}
}

// readyDraft returns the draft of a table that was committed but not published, or nil.
func (r *Repository) readyDraft(name string) draft {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready[name]
}

// open opens a table, also if it is still a draft.
func (r *Repository) open(ctx context.Context, t Table) (blob, error) {
	if d := r.readyDraft(t.Name); d != nil {
		return d.open()
	}
	return r.files.open(ctx, t.Name, t.Bytes)
}

// maxConcurrentStats is the number of files that are looked up at a time.
const maxConcurrentStats = 8

// checkPresent returns an error if a file of the snapshot is missing or has another size.
func (r *Repository) checkPresent(ctx context.Context, snap *Snapshot) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentStats)
	for _, t := range snap.Tables {
		if r.readyDraft(t.Name) != nil {
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
func (r *Repository) Check(ctx context.Context, snap *Snapshot) error {
	var all error
	for _, t := range snap.Tables {
		if err := ctx.Err(); err != nil {
			return err
		}
		all = errors.Join(all, r.checkTable(ctx, t))
	}
	return all
}

func (r *Repository) checkTable(ctx context.Context, t Table) (err error) {
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
		return r.damaged(t.Name, FileCorrupt, "its SHA-256 is not the published one")
	}
	return nil
}

// check returns an error if the table's fields are invalid. Above all, its name must not lead out of
// the repository.
func (t Table) check() error {
	switch {
	case !isSum(t.Sum):
		return badTable(t, fmt.Sprintf("sum is %.80q, not 64 hex digits", t.Sum))
	case t.Name != tableName(t.Kind, t.Sum) || !t.Kind.isPlain():
		return badTable(t, fmt.Sprintf("a table of kind %.80q has another name", t.Kind))
	case t.Bytes < 0 || t.Rows < 0 || t.First < 0:
		return badTable(t, fmt.Sprintf("bytes %d, rows %d or first row %d is negative", t.Bytes, t.Rows, t.First))
	}
	return nil
}

func badTable(t Table, why string) error {
	return &DamageError{Name: fmt.Sprintf("table %.200q", t.Name), Damage: FileCorrupt, Detail: why}
}

// isPlain reports whether a kind, known or not, is safe as a part of a file name.
func (k TableKind) isPlain() bool {
	for _, c := range []byte(k) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return k != ""
}

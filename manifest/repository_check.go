package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// TableFile is the open file of a table.
type TableFile struct {
	blob
}

// OpenTable opens the file of a table. A file that is missing or has another size is a
// DamageError; see Check for one whose bytes were changed.
func (r *Repository) OpenTable(ctx context.Context, t Table) (*TableFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	f, err := r.open(t.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r.damaged(t.Name, Missing, "")
	}
	if err != nil {
		return nil, err
	}
	if f.Size() == t.Bytes {
		return &TableFile{f}, nil
	}
	damage := Altered
	if f.Size() < t.Bytes {
		damage = Truncated
	}
	err = r.damaged(t.Name, damage, fmt.Sprintf("it has %d bytes, not %d", f.Size(), t.Bytes))
	return nil, errors.Join(err, f.Close())
}

// open opens a table, which may not have its name yet.
func (r *Repository) open(name string) (blob, error) {
	r.mu.Lock()
	d := r.ready[name]
	r.mu.Unlock()
	if d != nil {
		return d.open()
	}
	return r.files.open(name)
}

// checkPresent looks for the files of a snapshot.
func (r *Repository) checkPresent(ctx context.Context, snap *Snapshot) error {
	for _, t := range snap.Tables {
		f, err := r.OpenTable(ctx, t)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Check reads all files of a snapshot, and returns an error that lists every one that is not
// what was published.
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
		return r.damaged(t.Name, Altered, "it does not have the SHA-256 that it was published with")
	}
	return nil
}

// check reports what keeps a table from being one: above all, a name that leads elsewhere.
func (t Table) check() error {
	switch {
	case !isSum(t.Sum):
		return badTable(t, fmt.Sprintf("sum is %.80q, not 64 hex digits", t.Sum))
	case t.Name != tableName(t.Kind, t.Sum) || !t.Kind.plain():
		return badTable(t, fmt.Sprintf("a table of kind %.80q is not called so", t.Kind))
	case t.Bytes < 0 || t.Rows < 0 || t.First < 0:
		return badTable(t, fmt.Sprintf("%d bytes, %d rows from %d on", t.Bytes, t.Rows, t.First))
	}
	return nil
}

func badTable(t Table, why string) error {
	return &DamageError{Name: fmt.Sprintf("table %.200q", t.Name), Damage: Altered, Detail: why}
}

// plain reports whether a kind, known or not, makes a name that leads nowhere.
func (k TableKind) plain() bool {
	for _, c := range []byte(k) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return k != ""
}

package kerchunk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"varve/manifest"
	"varve/manifest/internal/change"
	"varve/manifest/internal/home"
	"varve/manifest/repo"
)

// mark is a Parquet set's record of its origin. It is stored in .zmetadata beside the documents, where fsspec
// ignores it. A later export can append if everything except the snapshot is equal.
type mark struct {
	Snapshot string   `json:"snapshot"`
	Record   int64    `json:"record_size"`
	Inline   int64    `json:"inline"`
	Patches  string   `json:"patches"`
	Regular  []string `json:"regular,omitempty"`
	Padded   bool     `json:"padded,omitempty"`
	Relative string   `json:"relative,omitempty"` // the folder or prefix of the names of sources
}

func (e *export) mark() mark {
	return mark{e.snapshot, e.opts.RecordSize, e.opts.InlineBytes, string(e.patches.path), e.result.Regular, e.padded, e.paths.base}
}

// past returns how an array differs from its version in an older snapshot.
type past func(ctx context.Context, snapshot string, a array) (change.Change, error)

// pastOf returns a past that compares with snapshots of the repository, and a function to release it.
func pastOf(r *repo.Repository, now *manifest.Snapshot) (past, func() error) {
	h := change.NewPlaces(r)
	var c *change.Snapshots
	return func(ctx context.Context, snapshot string, a array) (change.Change, error) {
		if c == nil {
			old, err := h.Load(ctx, snapshot)
			if err != nil {
				return change.Change{}, err
			}
			if now.HasPadding() {
				if old, err = old.WithPadding(); err != nil {
					return change.Change{}, err
				}
			}
			c = &change.Snapshots{Old: old, Now: now, Past: h}
		}
		s, ok := a.(interface{ Spec() *manifest.Array })
		if !ok {
			return change.Change{Kind: change.Everything}, nil
		}
		return c.Of(ctx, s.Spec(), a.Grid())
	}, h.Close
}

// carried is an existing set to which the export appends.
type carried struct {
	folder   string
	snapshot string
}

// carryOn returns the set at the destination, or nil if it cannot be appended to.
func (e *export) carryOn() (*carried, error) {
	if e.past == nil {
		return nil, nil
	}
	raw, err := os.ReadFile(filepath.Join(e.dest, metadataName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var doc struct {
		Varve *mark `json:"varve"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", metadataName, err)
	}
	if doc.Varve == nil {
		return nil, nil
	}
	old, now := *doc.Varve, e.mark()
	if old.Record != now.Record || old.Inline != now.Inline || old.Patches != now.Patches || !slices.Equal(old.Regular, now.Regular) || old.Padded != now.Padded ||
		old.Relative != now.Relative {
		return nil, nil
	}
	return &carried{e.dest, old.Snapshot}, nil
}

// unchanged returns how many chunks of an array, from the first one on, are the same as in the old set.
func (e *export) unchanged(ctx context.Context, from *carried, a array) (int64, error) {
	c, err := e.past(ctx, from.snapshot, a)
	if errors.Is(err, fs.ErrNotExist) { // the snapshot was removed
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("%s: the snapshot of the last export: %w", filepath.Join(e.dest, metadataName), err)
	}
	if c.Kind == change.Everything {
		return 0, nil
	}
	g := a.Grid()
	if c.Kind == change.None {
		return g.Chunks(), nil
	}
	inner := int64(1)
	for axis, n := range g.Counts() {
		if axis < c.Axis && n != 1 {
			return 0, nil // new chunks are between old ones
		}
		if axis > c.Axis {
			inner *= n
		}
	}
	return min(c.From*inner, g.Chunks()), nil
}

// keep links the records of unchanged chunks into the new set, and returns the number of the first chunk
// after them.
func (p *parquetSink) keep(ctx context.Context, a array) (int64, error) {
	if p.from == nil {
		return 0, nil
	}
	chunks, err := p.unchanged(ctx, p.from, a)
	if err != nil {
		return 0, err
	}
	// A partly filled record can be kept only if the array has not grown.
	records := chunks / p.opts.RecordSize
	if chunks == a.Grid().Chunks() {
		records = (chunks + p.opts.RecordSize - 1) / p.opts.RecordSize
	}
	old := filepath.Join(p.from.folder, filepath.FromSlash(arrayKey(a)))
	for ; p.number < records; p.number++ {
		name := "refs." + strconv.FormatInt(p.number, 10) + ".parq"
		err := share(filepath.Join(old, name), filepath.Join(p.folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	kept := min(p.number*p.opts.RecordSize, a.Grid().Chunks())
	p.result.Kept += kept
	p.seen.Add(kept)
	return kept, nil
}

// share makes a file that never changes available under another name, as a hard link if possible, otherwise
// as a copy.
func share(old, name string) error {
	err := os.Link(old, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	in, err := os.Open(old)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// carry appends to the old file of patches. Readers of the old set are not affected, because their part of
// the file does not change. Only one export at a time may append, because each assumes that its chunks come
// next.
func (s *sideFile) carry(old string) error {
	err := share(old, s.temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.lock, err = home.LockFolder(filepath.Dir(old)); err != nil {
		return fmt.Errorf("%s: another export is appending; try again later: %w", old, err)
	}
	info, err := os.Stat(s.temp)
	if err != nil {
		return err
	}
	s.size, s.carried = info.Size(), info.Size()
	if s.file, err = os.OpenFile(s.temp, os.O_WRONLY|os.O_APPEND, 0); err == nil {
		s.start()
	}
	return err
}

// giveUp truncates the file of patches to its size in the old set.
func (s *sideFile) giveUp() error {
	if s.file == nil {
		return nil
	}
	_ = s.close() // the export has already failed with another error
	if s.lock == nil {
		return nil
	}
	return os.Truncate(s.temp, s.carried)
}

// release lets other exports append to the set.
func (s *sideFile) release() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

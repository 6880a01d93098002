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
	"varve/manifest/export/internal/draft"
	"varve/manifest/internal/change"
)

// mark is what a Parquet set says of its origin, in .zmetadata beside the documents, where
// fsspec does not look. A later export carries it on if all but the snapshot is the same.
type mark struct {
	Snapshot string   `json:"snapshot"`
	Record   int64    `json:"record_size"`
	Inline   int64    `json:"inline"`
	Patches  string   `json:"patches"`
	Regular  []string `json:"regular,omitempty"`
}

func (e *export) mark() mark {
	return mark{e.snapshot, e.opts.RecordSize, e.opts.InlineBytes, string(e.patches.path), e.result.Regular}
}

// past tells how an array differs from what it was in a snapshot.
type past func(ctx context.Context, snapshot string, a array) (change.Change, error)

// pastOf compares with the snapshots in a repository.
func pastOf(r *manifest.Repository, now *manifest.Snapshot) (past, func() error) {
	h := change.NewPlaces(r)
	var c *change.Snapshots
	return func(ctx context.Context, snapshot string, a array) (change.Change, error) {
		if c == nil {
			old, err := h.Load(ctx, snapshot)
			if err != nil {
				return change.Change{}, err
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

// carried is a set that stands at the destination and is carried on.
type carried struct {
	folder   string
	snapshot string
}

// carryOn finds what stands at the destination, if it can be carried on.
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
	if old.Record != now.Record || old.Inline != now.Inline || old.Patches != now.Patches || !slices.Equal(old.Regular, now.Regular) {
		return nil, nil
	}
	return &carried{e.dest, old.Snapshot}, nil
}

// kept is how many chunks of an array, from the first on, are as they were.
func (e *export) kept(ctx context.Context, from *carried, a array) (int64, error) {
	c, err := e.past(ctx, from.snapshot, a)
	if errors.Is(err, fs.ErrNotExist) { // the snapshot is no longer there
		return 0, nil
	}
	if err != nil || c.Kind == change.Everything {
		return 0, err
	}
	g := a.Grid()
	if c.Kind == change.None {
		return g.Chunks(), nil
	}
	inner := int64(1)
	for axis, n := range g.Counts() {
		if axis < c.Axis && n != 1 {
			return 0, nil // new chunks stand between old ones
		}
		if axis > c.Axis {
			inner *= n
		}
	}
	return min(c.From*inner, g.Chunks()), nil
}

// keep has the records of chunks that are as they were stand in the new set too, and returns
// the number of the first chunk behind them.
func (p *parquetSink) keep(ctx context.Context, a array) (int64, error) {
	if p.from == nil {
		return 0, nil
	}
	chunks, err := p.kept(ctx, p.from, a)
	if err != nil {
		return 0, err
	}
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

// share makes a file that never changes stand under another name too.
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

// carry has the file of patches go on behind what is in it. Who still reads the old set finds
// there what there was. Of those who carry on a set at a time one may: each would count on what
// it writes being next.
func (s *sideFile) carry(old string) error {
	err := share(old, s.temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.lock, err = draft.Lock(filepath.Dir(old)); err != nil {
		return fmt.Errorf("%s: another export appends to it; try again when it is done: %w", old, err)
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

// giveUp takes away what was written behind what is carried on, which the old set has to itself
// again.
func (s *sideFile) giveUp() error {
	if s.file == nil {
		return nil
	}
	_ = s.close() // what it says has been said, or does not matter any more
	if s.lock == nil {
		return nil
	}
	return os.Truncate(s.temp, s.carried)
}

// release lets others carry on the set.
func (s *sideFile) release() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

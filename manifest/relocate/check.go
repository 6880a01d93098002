package relocate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner"
	"varve/manifest/internal/table"
	"varve/manifest/scan"
	"varve/manifest/store"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// A file at a new place must have the scanned size. Further checks:
//
//	a dataset                           format, header, attributes and coordinate values equal the scan
//	a file to which datasets refer      none: a scan records only its size
//	both kinds, with Deep               all bytes equal the file in the old place
//
// A dataset is scanned at the new place, and the results are compared by their hashes. Its chunks and their
// locations are not read.

// MismatchError lists sources that are missing at their new places, or differ from the scan.
type MismatchError struct {
	Problems []error // the first problems
	Count    int64   // number of all problems
	Of       int64   // number of sources that are moved
}

// mostListed bounds the sources that an error names.
const mostListed = 20

// Error lists the problems, one a line.
func (e *MismatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d sources cannot be relocated; nothing was published", e.Count, e.Of)
	for _, err := range e.Problems {
		b.WriteString("\n  " + err.Error())
	}
	if more := e.Count - int64(len(e.Problems)); more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}

// Unwrap returns the problems that are listed.
func (e *MismatchError) Unwrap() []error { return e.Problems }

// checker checks files in their new places.
type checker struct {
	*relocation
	deep  *store.Store // reads the old places; nil without Deep
	found map[string]source.Identity
	total int64
	done  int64

	mu       sync.Mutex
	problems MismatchError
}

// moving is a source that is being moved.
type moving struct {
	*table.SourceRow
	number int64           // of its row
	whole  string          // the new name, with secrets such as a signature
	shown  string          // the new name without secrets
	now    source.Identity // in its new place
	looked bool            // the scan returned a result or an error for the new place
}

// batch is the number of sources that are checked before their rows are written.
const batch = 256

// all checks all sources and writes their rows to a table.
func (c *checker) all(ctx context.Context, out *table.Writer[*table.SourceRow]) error {
	for _, m := range c.moves {
		c.total += m.sources
	}
	c.problems.Of, c.found = c.total, map[string]source.Identity{}
	rows := make([]*moving, 0, batch)
	number := int64(0)
	for row, err := range c.rows(ctx) {
		if err != nil {
			return err
		}
		rows = append(rows, &moving{SourceRow: row, number: number})
		if number++; len(rows) == batch {
			if err := c.some(ctx, rows, out); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	if err := c.some(ctx, rows, out); err != nil {
		return err
	}
	if c.problems.Count > 0 {
		return &c.problems
	}
	c.result.Sources = c.total
	return nil
}

// some checks the sources of a batch, and writes their rows unless a problem was found.
func (c *checker) some(ctx context.Context, rows []*moving, out *table.Writer[*table.SourceRow]) error {
	var described, others []*moving
	for _, s := range rows {
		m, rest := c.moves.find(s.URL)
		if m == nil {
			continue
		}
		var err error
		if s.whole, s.shown, err = m.name(rest); err != nil {
			return err
		}
		if isDescribed := s.Header != "" && !s.Hidden; isDescribed && (c.deep == nil || s.isFolder()) {
			described = append(described, s)
		} else {
			others = append(others, s)
		}
	}
	if err := c.describe(ctx, described); err != nil {
		return err
	}
	if err := c.each(ctx, others); err != nil {
		return err
	}
	if c.problems.Count > 0 {
		return nil
	}
	for _, s := range rows {
		row := *s.SourceRow
		if s.shown != "" {
			row.Source = s.MovedTo(s.shown, s.now)
		}
		if err := out.Append(&row); err != nil {
			return err
		}
	}
	return nil
}

// isFolder reports whether a source is a folder, such as a Zarr store.
func (s *moving) isFolder() bool { return s.Identity() == source.Identity{} }

// describe scans datasets with the options of the build and compares the results.
func (c *checker) describe(ctx context.Context, list []*moving) error {
	if len(list) == 0 {
		return nil
	}
	names, byName := make([]string, len(list)), map[string]*moving{}
	allow := append([]string(nil), c.Allow...)
	for i, s := range list {
		names[i], byName[s.shown] = s.whole, s
	}
	allow = append(allow, c.moves.places()...)
	before := c.done
	opts, err := c.planned()
	if err != nil {
		return err
	}
	found, err := scan.Scan(ctx, names, &scan.Options{Workers: c.Workers, Opener: c.Opener, ValueBytes: c.ValueBytes, Allow: allow, KeepQuery: opts.KeepQuery,
		Readers: formats.New(&readers.Config{Allow: allow, Opener: c.Opener, Settings: opts.Formats}), Choice: planner.Choice{Options: opts}, SkipBroken: true,
		Progress: func(p scan.Progress) { c.says(before + int64(p.Done)) }})
	if err != nil {
		return err
	}
	for _, b := range found.Broken {
		if s := byName[b.URL]; s != nil {
			s.looked = true
			c.add(s, c.unread(ctx, s, b.Err))
		}
	}
	for _, f := range found.Files {
		s := byName[f.URL]
		if s == nil || f.Hidden {
			continue
		}
		s.looked = true
		if err := c.same(ctx, s, f); err != nil {
			c.add(s, err)
			continue
		}
		s.now = f.Identity()
		c.result.Described++
	}
	for _, s := range list {
		if !s.looked {
			c.add(s, errors.New("the scan returned no result for this file"))
		}
	}
	return nil
}

// unread returns the error for a dataset that cannot be scanned. If its size has changed, the error says so:
// that explains more than the error of the reader.
func (c *checker) unread(ctx context.Context, s *moving, err error) error {
	if errors.Is(err, fs.ErrNotExist) || s.isFolder() {
		return err
	}
	src, failed := c.Opener.Open(ctx, s.whole)
	if failed != nil {
		return err
	}
	if is := src.Identity().Size; is != s.Size {
		err = sizeError(s.Size, is)
	}
	return errors.Join(err, src.Close())
}

// says reports progress.
func (c *checker) says(done int64) {
	if c.done = done; c.Progress != nil {
		c.Progress(done, c.total)
	}
}

// add records a problem of a source.
func (c *checker) add(s *moving, err error) {
	// The name of the file and the reason are enough: "stat" would not help.
	if path := (*fs.PathError)(nil); errors.As(err, &path) && path.Path == s.whole && errors.Is(err, fs.ErrNotExist) {
		err = path.Err
	}
	if !strings.Contains(err.Error(), s.shown) {
		err = fmt.Errorf("%s: %w", s.shown, err)
	}
	if isUnlike(err) {
		err = fmt.Errorf("%w: %w", source.ErrChanged, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problems.Count++; len(c.problems.Problems) < mostListed {
		c.problems.Problems = append(c.problems.Problems, err)
	}
}

// isUnlike reports whether a file exists but is not the scanned one.
func isUnlike(err error) bool {
	return !errors.Is(err, source.ErrChanged) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, source.ErrForbidden) &&
		(errors.Is(err, codec.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported) || source.IsNoFile(err))
}

// same compares a scanned dataset with the one at the new place.
func (c *checker) same(ctx context.Context, s *moving, f *manifest.File) error {
	if s.Size != f.Size {
		return sizeError(s.Size, f.Size)
	}
	if s.Format != f.Format {
		return fmt.Errorf("%w: its format was %s and is now %s", errOther, s.Format, f.Format)
	}
	if s.Header != f.Header.ID {
		if err := c.sameHeader(ctx, s.Header, f.Header.Expand()); err != nil {
			return err
		}
	}
	if s.Groups != f.Groups.ID {
		return fmt.Errorf("%w: the attributes of its groups differ", errOther)
	}
	for i, v := range f.Values {
		path := f.Header.Base().Variables[i].Path
		id, known := s.Values[path]
		if !known || v == nil {
			continue
		}
		if summed, ok := table.Summed(id); ok {
			id = summed.ID
		}
		if id != v.ID {
			return fmt.Errorf("%w: the values of %s differ", errOther, path)
		}
	}
	return nil
}

// errOther is the error for a file that has the scanned size, but other contents.
var errOther = fmt.Errorf("%w: not the file that was scanned", source.ErrChanged)

func sizeError(was, is int64) error {
	return fmt.Errorf("%w: it had %d bytes when it was scanned, and has %d now", source.ErrChanged, was, is)
}

// sameHeader compares the scanned header, given its ID, with the header at the new place.
func (c *checker) sameHeader(ctx context.Context, id string, is *manifest.Header) error {
	was, err := c.reader.Header(ctx, id)
	if err != nil {
		return err
	}
	unlike := func(says string) error {
		return manifest.WithRemedy(fmt.Errorf("%w: %s (if an older version of varve scanned the file, that can be a wrong alarm; a comparison of all bytes is exact)", errOther, says), "deep", "")
	}
	for i := range was.Variables {
		path := was.Variables[i].Path
		at := is.Find(path)
		if at < 0 {
			return unlike(path + " is missing")
		}
		if !bytes.Equal(keyOf(*was.Variables[i]), keyOf(*is.Variables[at])) {
			return unlike(path + " has another type, shape, storage or attributes")
		}
	}
	a, b := manifest.Header{Dimensions: was.Dimensions}, manifest.Header{Dimensions: is.Dimensions}
	if len(was.Variables) != len(is.Variables) || !bytes.Equal(a.AppendKey(nil), b.AppendKey(nil)) {
		return unlike("its variables or dimensions differ")
	}
	return nil
}

// keyOf returns a key that is equal for equal variables. Reasons for unreadable variables are left out: they may name
// files.
func keyOf(v manifest.Variable) []byte {
	if v.Unreadable != "" {
		v.Unreadable, v.Elsewhere = "unreadable", ""
	}
	h := manifest.Header{Variables: []*manifest.Variable{&v}}
	return h.AppendKey(nil)
}

// each checks sources in parallel.
func (c *checker) each(ctx context.Context, list []*moving) error {
	todo := map[string][]*moving{} // by the new name: more than one row can have the same file
	var names []string
	for _, s := range list {
		if todo[s.shown] == nil {
			names = append(names, s.shown)
		}
		todo[s.shown] = append(todo[s.shown], s)
	}
	group, within := source.NewGroup(ctx, c.Workers)
	for _, name := range names {
		group.Go(name, func() error { return c.one(within, todo[name]) })
	}
	return group.Wait()
}

// one checks a file of one or more sources.
func (c *checker) one(ctx context.Context, rows []*moving) error {
	c.mu.Lock()
	now, known := c.found[rows[0].shown]
	c.mu.Unlock()
	var err error
	if !known {
		now, err = c.look(ctx, rows[0])
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, s := range rows {
		failed := err
		if failed == nil && s.Size != now.Size {
			failed = sizeError(s.Size, now.Size)
		}
		if failed != nil {
			c.add(s, failed)
		}
		s.now = now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.found[rows[0].shown] = now
	}
	if c.deep != nil {
		c.result.Compared += int64(len(rows))
	} else {
		c.result.Sized += int64(len(rows))
	}
	c.says(c.done + int64(len(rows)))
	return nil
}

// look opens a file in its new place and, with Deep, compares its bytes with the old one.
func (c *checker) look(ctx context.Context, s *moving) (now source.Identity, err error) {
	src, err := c.Opener.Open(ctx, s.whole)
	if err != nil {
		return now, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	now = src.Identity()
	if src.IsFolder() {
		return now, fmt.Errorf("%w: it is now a folder", source.ErrChanged)
	}
	if s.Size != now.Size {
		return now, sizeError(s.Size, now.Size)
	}
	if c.deep == nil {
		return now, nil
	}
	old, err := c.deep.OpenSource(ctx, s.number)
	if err != nil {
		return now, fmt.Errorf("cannot compare it with the file in the old place: %w", err)
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	return now, compare(ctx, old, src)
}

// compareBytes is the number of bytes that are compared at a time.
const compareBytes = 1 << 20

// compare compares all bytes of two files of one size.
func compare(ctx context.Context, old, now *source.Source) error {
	a, b := make([]byte, compareBytes), make([]byte, compareBytes)
	for at := int64(0); at < now.Size(); at += compareBytes {
		n := min(compareBytes, now.Size()-at)
		if _, err := old.ReadAt(ctx, a[:n], at); err != nil {
			return fmt.Errorf("cannot compare it with the file in the old place: %w", err)
		}
		if _, err := now.ReadAt(ctx, b[:n], at); err != nil {
			return err
		}
		for i := range n {
			if a[i] != b[i] {
				return fmt.Errorf("%w: byte %d differs from the file in the old place", source.ErrChanged, at+i)
			}
		}
	}
	return nil
}

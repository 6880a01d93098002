package source

import (
	"archive/tar"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"varve/codec"
	"varve/readers/internal/zipfile"
)

// compressed is what one pass over an outer file finds: access points, and the members of a tar file.
type compressed struct {
	points *codec.StreamPoints // nil for a tar file that is not compressed
	tarFiles
}

// tarFiles are the files in a tar file.
type tarFiles struct {
	spans map[string]Range  // the bytes of regular files and hard links in the tar file, by name
	links map[string]string // symbolic links: the names to which they lead, which may be outside
}

// maxTarLinks is the number of symbolic links that a name may lead through.
const maxTarLinks = 40

// find returns the bytes of a file in the tar file. It follows symbolic links to files and folders in the tar file.
func (f *tarFiles) find(name string) (Range, error) {
	at, err := name, error(ErrLink)
	for range maxTarLinks {
		if span, ok := f.spans[at]; ok {
			return span, nil
		}
		next, isLink := f.follow(at)
		if !isLink {
			if fs.ValidPath(at) {
				err = fs.ErrNotExist
			}
			break
		}
		at = next
	}
	return Range{}, &fs.PathError{Op: "open", Path: name, Err: err}
}

// follow replaces the first symbolic link in a path.
func (f *tarFiles) follow(name string) (to string, isLink bool) {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if to, isLink = f.links[name[:i]]; isLink {
			return path.Join(to, name[i:]), true
		}
	}
	return "", false
}

// names returns the names of all files, without symbolic links to folders in the tar file.
func (f *tarFiles) names() []string {
	list := slices.Collect(maps.Keys(f.spans))
	folders := map[string]bool{".": true}
	for name := range f.spans {
		for folder := path.Dir(name); !folders[folder]; folder = path.Dir(folder) {
			folders[folder] = true
		}
	}
	for name, to := range f.links {
		for range maxTarLinks {
			next, isLink := f.follow(to)
			if !isLink {
				break
			}
			to = next
		}
		if !folders[to] {
			list = append(list, name) // opening it fails if it leads nowhere
		}
	}
	slices.Sort(list)
	return list
}

// size returns about the memory of f.
func (f *tarFiles) size() (n int64) {
	for name := range f.spans {
		n += int64(64 + len(name))
	}
	for name, to := range f.links {
		n += int64(64 + len(name) + len(to))
	}
	return n
}

// part returns the access points of a part of the decompressed bytes.
func (c *compressed) part(from, to int64) *Points {
	cut, skip := c.points.Cut(from, to)
	return &Points{AccessPoints: cut.AccessPoints, Skip: skip, Length: to - from, Windows: func(_ context.Context, list []int) ([][]byte, error) {
		out := make([][]byte, len(list))
		for i, k := range list {
			out[i] = cut.Windows[k]
		}
		return out, nil
	}}
}

// scanned returns what a pass over an outer file finds.
func (o *Opener) scanned(ctx context.Context, outer *Source, p packed) (*compressed, error) {
	steps := strings.TrimSuffix(p.steps, p.member)
	return cachedIn(ctx, &o.unpacked, outer, steps, func() (*compressed, int64, error) {
		ctx, end := o.opts.Trace.Begin(ctx, Operation{Name: "source.unpack", Object: outer.Name() + steps, Bytes: outer.Size()})
		c, err := scanOuter(ctx, outer, p)
		end(err)
		if err != nil {
			return nil, 0, err
		}
		return c, sizeOf(c.points) + c.size(), nil
	})
}

// scanOuter decompresses an outer file once.
func scanOuter(ctx context.Context, outer *Source, p packed) (*compressed, error) {
	whole := Range{Length: outer.Size()}
	if p.stream == "" {
		files, err := readTar(&tarReader{ctx: ctx, src: outer, size: outer.Size()})
		return &compressed{tarFiles: files}, err
	}
	if whole.Length == 0 {
		return nil, fmt.Errorf("the file is empty; fetch it again: %w", codec.ErrCorrupt)
	}
	if p.archive == "" {
		points, err := codec.ScanStream(p.stream, newForward(ctx, outer, whole), nil)
		return &compressed{points: points}, err
	}
	// The reader of tar files runs in a goroutine, and gets the bytes through a pipe.
	type result struct {
		files tarFiles
		err   error
	}
	out, in := io.Pipe()
	defer in.Close() // the goroutine must also end after a panic
	done := make(chan result, 1)
	go func() {
		files, err := readTar(&tarReader{ctx: ctx, r: out})
		if err == nil {
			_, err = io.Copy(io.Discard, out) // the padding at the end
		}
		out.CloseWithError(err)
		done <- result{files, err}
	}()
	points, err := codec.ScanStream(p.stream, newForward(ctx, outer, whole), func(b []byte) error {
		_, err := in.Write(b)
		return err
	})
	in.CloseWithError(err)
	found := <-done
	if err == nil {
		err = found.err
	}
	return &compressed{points, found.files}, err
}

// tarReader reads a tar file from a pipe, or from a source, in which it can skip members.
type tarReader struct {
	ctx  context.Context
	r    io.Reader // nil for a source
	src  *Source
	size int64
	at   int64
}

func (t *tarReader) Read(p []byte) (n int, err error) {
	if t.r != nil {
		n, err = t.r.Read(p)
		t.at += int64(n)
		return n, err
	}
	if n = int(min(int64(len(p)), t.size-t.at)); n <= 0 {
		return 0, io.EOF
	}
	b, err := t.src.View(t.ctx, t.at, n)
	t.at += int64(copy(p, b))
	return len(b), err
}

// skip moves forward.
func (t *tarReader) skip(n int64) error {
	if t.r == nil {
		if n > t.size-t.at {
			return io.ErrUnexpectedEOF
		}
		t.at += n
		return nil
	}
	_, err := io.CopyN(io.Discard, t, n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// maxMembers limits the members of a tar file.
const maxMembers = 1 << 20

// readTar returns the files of a tar file. The last of several with the same name counts.
func readTar(in *tarReader) (tarFiles, error) {
	found := tarFiles{spans: map[string]Range{}, links: map[string]string{}}
	for {
		// Members and global headers are padded to whole blocks.
		if err := in.skip(-in.at & (tarBlock - 1)); err != nil {
			return found, tarError(in, err)
		}
		// A reader for each member, because the reader of the package would read all bytes of a member to skip them.
		h, err := tar.NewReader(in).Next()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return found, tarError(in, err)
		}
		stored, err := found.add(h, in.at)
		if err != nil {
			return found, err
		}
		if err := in.skip(stored); err != nil {
			return found, tarError(in, err)
		}
	}
}

// tarBlock is the size of a block in a tar file.
const tarBlock = 512

// add adds the member of a header, and returns the number of bytes that it has from an offset on.
func (f *tarFiles) add(h *tar.Header, offset int64) (stored int64, err error) {
	stored = h.Size
	name := tarName(h.Name)
	isName := fs.ValidPath(name) && name != "."
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		if h.Typeflag == tar.TypeGNUSparse || h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "" {
			return 0, fmt.Errorf("tar member %q is a sparse file; unpack the archive: %w", h.Name, errors.ErrUnsupported)
		}
		if isName {
			delete(f.links, name)
			f.spans[name] = Range{Offset: offset, Length: h.Size}
		}
	case tar.TypeLink:
		stored = 0
		if isName {
			f.link(name, tarName(h.Linkname))
		}
	case tar.TypeSymlink:
		stored = 0
		if isName {
			delete(f.spans, name)
			f.links[name] = h.Linkname
			if !path.IsAbs(h.Linkname) {
				f.links[name] = path.Join(path.Dir(name), h.Linkname)
			}
		}
	case 'M': // of GNU tar
		return 0, fmt.Errorf("tar member %q begins in another volume; unpack the archive: %w", h.Name, errors.ErrUnsupported)
	case tar.TypeDir, tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		stored = 0
	}
	if len(f.spans)+len(f.links) > maxMembers {
		return 0, fmt.Errorf("the tar file has more than %d members; unpack it: %w", maxMembers, errors.ErrUnsupported)
	}
	if stored < 0 || stored > 1<<60 {
		return 0, fmt.Errorf("tar member %q has %d bytes: %w", h.Name, stored, codec.ErrCorrupt)
	}
	return stored, nil
}

// link adds a hard link to an earlier member.
func (f *tarFiles) link(name, to string) {
	if span, ok := f.spans[to]; ok {
		delete(f.links, name)
		f.spans[name] = span
		return
	}
	delete(f.spans, name)
	if onward, ok := f.links[to]; ok {
		to = onward
	}
	f.links[name] = to
}

// tarName returns the name of a member without "./" or "/" at its start.
func tarName(name string) string { return path.Clean(strings.TrimLeft(name, "/")) }

// tarError returns the error for a tar file that cannot be read.
func tarError(in *tarReader, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the tar file ends at byte %d within a member: %w", in.at, codec.ErrCorrupt)
	case errors.Is(err, tar.ErrHeader):
		return fmt.Errorf("no valid header of a tar member before byte %d: %w", in.at, codec.ErrCorrupt)
	}
	return err
}

// zipOf returns the directory of a zip file.
func (o *Opener) zipOf(ctx context.Context, outer *Source) (*zipfile.Directory, error) {
	return cachedIn(ctx, &o.unpacked, outer, "|zip:", func() (*zipfile.Directory, int64, error) {
		is, err := zipfile.IsZip(ctx, outer)
		if err == nil && !is {
			err = fmt.Errorf("it is not a zip file: %w", codec.ErrCorrupt)
		}
		if err != nil {
			return nil, 0, err
		}
		dir, err := zipfile.Open(ctx, outer)
		if err != nil {
			return nil, 0, err
		}
		size, stored := int64(0), uint64(0)
		for _, e := range dir.Entries() {
			size += int64(64 + len(e.Name))
			if stored += e.Stored; stored > uint64(outer.Size()) {
				return nil, 0, fmt.Errorf("members of the zip file overlap: %w", codec.ErrCorrupt)
			}
		}
		return dir, size, nil
	})
}

// sizeOf returns the memory of access points.
func sizeOf(p *codec.StreamPoints) (n int64) {
	if p == nil {
		return 0
	}
	n = int64(48*len(p.Points) + 4*len(p.Sums))
	for _, w := range p.Windows {
		n += int64(len(w))
	}
	return n
}

// unpackedBytes limits the memory for what passes over outer files found.
const unpackedBytes = 64 << 20

// unpackedCache keeps what passes over outer files found, for the next source of the same file.
type unpackedCache struct {
	mu      sync.Mutex
	entries map[unpackedKey]*list.Element // of *unpackedEntry
	order   list.List                     // the entry used last is in front
	held    int64
}

// unpackedKey is a version of an outer file, and the steps.
type unpackedKey struct {
	name, etag, steps string
	size              int64
	modified          time.Time
}

type unpackedEntry struct {
	key   unpackedKey
	done  chan struct{} // closed when value is set
	value any
	size  int64
	err   error
}

// cachedIn returns the result of a pass over an outer file, from the cache if it is known. If another goroutine makes the pass, it
// waits for that.
func cachedIn[T any](ctx context.Context, c *unpackedCache, outer *Source, steps string, pass func() (T, int64, error)) (out T, err error) {
	id := outer.Identity()
	key := unpackedKey{outer.Name(), id.ETag, steps, id.Size, id.Modified}
	for {
		c.mu.Lock()
		if at := c.entries[key]; at != nil {
			c.order.MoveToFront(at)
			e := at.Value.(*unpackedEntry)
			c.mu.Unlock()
			select {
			case <-e.done:
			case <-ctx.Done():
				return out, ctx.Err()
			}
			if e.err == nil {
				return e.value.(T), nil
			}
			if errors.Is(e.err, context.Canceled) || errors.Is(e.err, context.DeadlineExceeded) {
				continue // of the other goroutine
			}
			return out, e.err
		}
		e := &unpackedEntry{key: key, done: make(chan struct{}), err: errUnfinished}
		if c.entries == nil {
			c.entries = map[unpackedKey]*list.Element{}
		}
		at := c.order.PushFront(e)
		c.entries[key] = at
		c.mu.Unlock()
		defer c.finish(at) // also after a panic, or others would wait for ever
		out, e.size, e.err = limited(ctx, pass)
		e.value = out
		return out, e.err
	}
}

// errUnfinished is the error for goroutines that wait for a pass that panics.
var errUnfinished = errors.New("a pass over the file did not finish")

// finish ends the pass of an entry. It keeps the result, and drops old ones to stay within the limit.
func (c *unpackedCache) finish(at *list.Element) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := at.Value.(*unpackedEntry)
	close(e.done)
	if e.err != nil {
		c.drop(at)
	} else {
		c.held += e.size
	}
	for old := c.order.Back(); c.held > unpackedBytes && old != nil; {
		before := old.Prev()
		if old != at && isDone(old.Value.(*unpackedEntry).done) {
			c.held -= old.Value.(*unpackedEntry).size
			c.drop(old)
		}
		old = before
	}
}

// passes limits the passes over outer files at a time. They need a core each, and memory for their buffers.
var passes = make(chan struct{}, max(runtime.GOMAXPROCS(0), 2))

// limited calls a function that may make a pass.
func limited[T any](ctx context.Context, pass func() (T, int64, error)) (out T, size int64, err error) {
	select {
	case passes <- struct{}{}:
		defer func() { <-passes }()
		return pass()
	case <-ctx.Done():
		return out, 0, ctx.Err()
	}
}

func (c *unpackedCache) drop(at *list.Element) {
	delete(c.entries, c.order.Remove(at).(*unpackedEntry).key)
}

func isDone(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// storeDocuments are names of documents at the root of a Zarr store. A zip file that has one is a source itself.
var storeDocuments = []string{"zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"}

// InPacked returns the names of the files in a file that is packed according to the ending of its name: the content of a
// compressed file, or the members of an archive, sorted by name, without hidden ones. For other files, and for a zip file that
// is a Zarr store, it returns the name itself. isWanted selects members by the last element of their path.
func (o *Opener) InPacked(ctx context.Context, name string, isWanted func(base string) bool) (names []string, err error) {
	p, ok := packedBy(name)
	if !ok || IsPacked(name) {
		return []string{name}, nil
	}
	if p.archive == "" {
		return []string{name + p.steps}, nil
	}
	outer, err := o.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, outer.Close()) }()
	if outer.IsFolder() {
		return []string{name}, nil
	}
	var members []string
	if p.archive == "zip" {
		dir, err := o.zipOf(ctx, outer)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", outer.Name(), err)
		}
		if dir.HasDocument(storeDocuments...) {
			return []string{name}, nil
		}
		for _, e := range dir.Entries() {
			members = append(members, e.Name)
		}
	} else {
		found, err := o.scanned(ctx, outer, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", outer.Name(), err)
		}
		members = found.names()
	}
	for _, m := range members {
		if !isHidden(m) && isWanted(path.Base(m)) {
			names = append(names, name+p.steps+m)
		}
	}
	return names, nil
}

// isHidden reports whether a member is one that no user means: its name, or that of a folder, begins with a dot, or it is
// metadata of macOS.
func isHidden(member string) bool {
	for element := range strings.SplitSeq(member, "/") {
		if strings.HasPrefix(element, ".") || element == "__MACOSX" {
			return true
		}
	}
	return false
}

package ingest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"varve/manifest/repo"
	"varve/readers/formats"
	"varve/readers/source"
)

// Sources are the sources of a command, as a user writes them.
type Sources struct {
	Names []string  // paths, folders, patterns, URLs, lists
	Match string    // pattern for the names of files in folders and archives; empty means all
	Stdin io.Reader // the input for the list "@-"
	// Searches are files with saved results of searches: STAC ItemCollections, or granules.umm_json and granules.json of
	// CMR. The files of these results come after those of Names.
	Searches []string
	// Asset chooses the files of their items: the key of an asset, the type of a link, or "data" or "s3". Empty means data,
	// which must be one file of each item.
	Asset string

	// opener opens archives; nil means objectStores. If the scan uses it too, it does not read them again.
	opener *source.Opener
	// objectStores opens and lists object stores.
	objectStores *source.Opener
	// lists holds the lists that are being read, each named in the one before.
	lists []string
	found *notSources
}

// notSources collects names in folders that are no sources. Objects are listed in parallel, so it has a lock.
type notSources struct {
	mu      sync.Mutex
	outputs map[Output][]string
	// archives has the names of archives that do not match Match. Their members may match.
	archives map[string]bool
}

// Skipped returns the names of the outputs that Expand found in folders and left out.
func (s *Sources) Skipped() map[Output][]string {
	if s.found == nil {
		return nil
	}
	for _, names := range s.found.outputs {
		slices.Sort(names)
	}
	return s.found.outputs
}

// skip records an output in a folder.
func (s *Sources) skip(name string, kind Output) {
	s.found.mu.Lock()
	defer s.found.mu.Unlock()
	if !slices.Contains(s.found.outputs[kind], name) { // two patterns may match it
		s.found.outputs[kind] = append(s.found.outputs[kind], name)
	}
}

// isEmpty reports whether the user named no sources.
func (s *Sources) isEmpty() bool { return len(s.Names) == 0 && len(s.Searches) == 0 }

// ErrNoFiles means that Names are empty, or that they are lists and folders without any file to read.
var ErrNoFiles = errors.New("no files given")

// Expand returns the files and objects that Names and Searches mean, in the given order. The files of a
// folder or pattern are sorted by name. If a file has the exact name, it is used, even if the name looks like
// a pattern.
//
//	ocean.nc  archive/  "model/*.nc"  https://host/x.nc  s3://bucket/model/  @list.txt  @-
func (s *Sources) Expand(ctx context.Context) ([]string, error) {
	s.objectStores, s.found = source.NewOpener(nil), &notSources{outputs: map[Output][]string{}, archives: map[string]bool{}}
	var out []string
	var failed error
	for _, name := range s.Names {
		found, err := s.expand(ctx, name)
		out, failed = append(out, found...), errors.Join(failed, err)
	}
	more, err := s.searches()
	if opener := cmp.Or(s.opener, s.objectStores); len(more) > 0 {
		opener.AllowPrivate(out...)
		opener.ForbidPrivate(more...)
	}
	out, failed = append(out, more...), errors.Join(failed, err)
	if failed == nil {
		out, failed = s.inPacked(ctx, out)
	}
	failed = errors.Join(failed, s.objectStores.Close())
	if failed == nil && len(out) == 0 {
		failed = ErrNoFiles
	}
	return out, failed
}

// inPacked replaces the name of each compressed file or archive by the names of the files in it.
func (s *Sources) inPacked(ctx context.Context, names []string) ([]string, error) {
	opener := cmp.Or(s.opener, s.objectStores)
	if _, err := s.matches("x"); err != nil {
		return nil, err // the pattern is invalid
	}
	isWanted := func(base string) bool {
		is, err := s.matches(base)
		return is && err == nil
	}
	found := make([][]string, len(names))
	group, within := source.NewGroup(ctx, 0)
	for i, name := range names {
		if !source.HasPackedEnding(name) {
			found[i] = names[i : i+1]
			continue
		}
		group.Go(name, func() (err error) {
			found[i], err = opener.InPacked(within, name, isWanted)
			if slices.Equal(found[i], names[i:i+1]) && s.found.archives[name] {
				found[i] = nil // a Zarr store
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	out := slices.Concat(found...)
	if len(names) > 0 && len(out) == 0 {
		return nil, s.nothingIn(names[0])
	}
	return out, nil
}

// finds reports whether a file is one to look at: its name matches, or it is an archive, whose members may match.
func (s *Sources) finds(name, base string) (bool, error) {
	is, err := s.matches(base)
	if err != nil || is || !source.IsArchive(base) {
		return is, err
	}
	s.addArchives([]string{name})
	return true, nil
}

// addArchives notes that archives are no sources themselves. Their members may be.
func (s *Sources) addArchives(names []string) {
	if len(names) == 0 {
		return
	}
	s.found.mu.Lock()
	defer s.found.mu.Unlock()
	for _, name := range names {
		s.found.archives[name] = true
	}
}

// expandPacked returns the absolute name of a packed file that the user named as such.
func expandPacked(name string) ([]string, error) {
	outer, steps := source.CutPacked(name)
	if source.IsURL(outer) {
		return []string{name}, nil
	}
	path, err := filepath.Abs(outer)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); isNotFound(err) {
		return nil, notFound(outer + ": no such file or folder")
	}
	return []string{path + steps}, nil
}

func (s *Sources) expand(ctx context.Context, name string) ([]string, error) {
	if isList(name) {
		return s.list(ctx, name[1:])
	}
	if source.IsPacked(name) {
		return expandPacked(name)
	}
	if err := source.CheckPipeline(name); err != nil {
		return nil, err
	}
	if source.IsObject(name) {
		return s.objects(ctx, name)
	}
	if source.IsURL(name) {
		return []string{name}, nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return s.folder(ctx, path)
	case err == nil:
		return []string{path}, nil
	case isNotFound(err) && strings.ContainsAny(name, "*?["):
		return s.glob(ctx, path)
	case isNotFound(err):
		return nil, notFound(name + ": no such file or folder")
	}
	return nil, err
}

// isNotFound reports whether an error says that a file does not exist. Windows has another error for
// names with a *, which are invalid there.
func isNotFound(err error) bool {
	const invalidName = syscall.Errno(123) // ERROR_INVALID_NAME
	return errors.Is(err, fs.ErrNotExist) || runtime.GOOS == "windows" && errors.Is(err, invalidName)
}

// isList reports whether a name means a list, and not a file whose name begins with @.
func isList(name string) bool {
	if !strings.HasPrefix(name, "@") {
		return false
	}
	_, err := os.Lstat(name)
	return err != nil
}

// byteOrderMark begins texts that were written on Windows.
const byteOrderMark = "\ufeff"

// list reads names from a file, one per line. There are no comments, because names may begin with
// #.
func (s *Sources) list(ctx context.Context, name string) ([]string, error) {
	in := s.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("list of sources: %w", err)
		}
		defer file.Close()
		in = file
		if slices.Contains(s.lists, name) {
			return nil, fmt.Errorf("list of sources: %s names itself: %w", name, fs.ErrInvalid)
		}
		s.lists = append(s.lists, name)
		defer func() { s.lists = s.lists[:len(s.lists)-1] }()
	} else if in == nil {
		return nil, errors.New("list of sources: there is no standard input")
	}
	var out []string
	lines := bufio.NewScanner(&contextReader{ctx: ctx, from: in})
	lines.Buffer(nil, 1<<20)
	for first := true; lines.Scan(); first = false {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if first {
			line = strings.TrimPrefix(line, byteOrderMark)
		}
		if line == "" {
			continue
		}
		found, err := s.expand(ctx, line)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, lines.Err()
}

// contextReader stops reading when a context ends, even if the input, such as a terminal or a
// pipe, provides nothing.
type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	type chunk struct {
		data []byte
		err  error
	}
	got := make(chan chunk, 1) // buffered, so that the goroutine ends even if nobody waits
	go func() {
		data := make([]byte, len(p))
		n, err := r.from.Read(data)
		got <- chunk{data[:n], err}
	}()
	select {
	case c := <-got:
		return copy(p, c.data), c.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}

func (s *Sources) glob(ctx context.Context, pattern string) ([]string, error) {
	if isDeep(pattern) {
		return s.deepGlob(ctx, filepath.ToSlash(pattern), folders, (*Sources).folder)
	}
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	if len(found) == 0 {
		return nil, notFound("no file matches " + pattern)
	}
	var out []string
	for _, path := range s.skipOutputs(ctx, withoutSidecars(ctx, found), openLocal) {
		if s.skipFolder(ctx, path) {
			continue
		}
		expand := s.expand
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			expand = s.inFolder
		}
		more, err := expand(ctx, path)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	if len(out) == 0 {
		out = s.takeExports(found)
	}
	if len(out) == 0 {
		return nil, notFound("no file matches " + pattern)
	}
	return out, nil
}

// isDeep reports whether an element of a pattern is **, which matches any number of folders.
func isDeep(pattern string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(pattern), "/"), "**")
}

// deepGlob expands a pattern with **. It lists everything below the folders that match the part
// before the first **, and returns the paths that match the rest, and all sources in folders that
// match.
func (s *Sources) deepGlob(ctx context.Context, pattern string, heads func(string) ([]string, error), folder func(*Sources, context.Context, string) ([]string, error)) ([]string, error) {
	parts := strings.Split(pattern, "/")
	n := slices.Index(parts, "**")
	for _, part := range parts[n:] {
		// Report an invalid pattern before a long listing.
		if _, err := path.Match(part, ""); err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
	}
	head := strings.Join(parts[:n], "/")
	if len(head) == len(filepath.VolumeName(head)) {
		head += "/"
	}
	roots, err := heads(head)
	if err != nil {
		return nil, err
	}
	all := *s
	all.Match = cmp.Or(s.Match, "*") // a filter makes folder leave out manifests
	var out []string
	for _, root := range roots {
		list, err := folder(&all, ctx, root)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, name := range list {
			rest := strings.TrimPrefix(filepath.ToSlash(name), strings.TrimSuffix(filepath.ToSlash(root), "/")+"/")
			if matchesDeep(parts[n:], strings.Split(rest, "/")) {
				out = append(out, name)
			}
		}
	}
	if len(out) == 0 {
		return nil, notFound("no file matches " + pattern)
	}
	return out, nil
}

// folders returns the folders that match a pattern without **.
func folders(pattern string) ([]string, error) {
	found, err := filepath.Glob(pattern)
	return slices.DeleteFunc(found, func(name string) bool {
		info, err := os.Stat(name)
		return err != nil || !info.IsDir()
	}), err
}

// matchesDeep reports whether pattern elements match a name or its first elements.
func matchesDeep(pattern, name []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case pattern[0] == "**":
		return matchesDeep(pattern[1:], name) || len(name) > 0 && matchesDeep(pattern, name[1:])
	case len(name) == 0:
		return false
	}
	ok, err := path.Match(pattern[0], name[0])
	return ok && err == nil && matchesDeep(pattern[1:], name[1:])
}

// folder returns the sources in a folder: the folder itself if it is a source, such as a Zarr
// store, or else all files below it. It returns files that may be no sources, so that the scan
// reports them.
func (s *Sources) folder(ctx context.Context, root string) ([]string, error) {
	out, err := s.inFolder(ctx, root)
	if err == nil && len(out) == 0 {
		out = s.takeExports([]string{root})
	}
	if err == nil && len(out) == 0 {
		err = s.nothingIn(root)
	}
	return out, err
}

// inFolder returns the sources in a folder without outputs of varve.
func (s *Sources) inFolder(ctx context.Context, root string) ([]string, error) {
	if isSource(ctx, root) {
		return []string{root}, nil
	}
	if repo.IsFolder(root) {
		return nil, manifestError(root)
	}
	out, err := s.below(ctx, root, nil)
	out = s.skipOutputs(ctx, withoutSidecars(ctx, out), openLocal)
	slices.Sort(out)
	return out, err
}

// below returns the sources below a folder. It follows links to folders, which archives on several
// disks have, but refuses a link to a parent folder.
func (s *Sources) below(ctx context.Context, folder string, above []fs.FileInfo) (out []string, err error) {
	info, err := os.Stat(folder)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(above, func(f fs.FileInfo) bool { return os.SameFile(f, info) }) {
		return nil, fmt.Errorf("%s: the link leads to one of its parent folders: %w", folder, fs.ErrInvalid)
	}
	above = append(above, info)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// Hidden files are drafts, locks and metadata of other programs.
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		switch {
		case !isFolder(path, entry):
			is, err := s.finds(path, entry.Name())
			if err != nil {
				return nil, err
			}
			if is {
				out = append(out, path)
			}
		case s.skipFolder(ctx, path):
		case isSource(ctx, path):
			out = append(out, path)
		default:
			more, err := s.below(ctx, path, above)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	}
	return out, nil
}

// isFolder reports whether an entry is a folder, or a link to one.
func isFolder(path string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.IsDir()
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// manifestError returns the error for a manifest that is given as a source.
func manifestError(path string) error {
	return fmt.Errorf("%s is a varve manifest, not a source: name the files that it was built from: %w", path, errors.ErrUnsupported)
}

func (s *Sources) matches(name string) (bool, error) {
	if s.Match == "" {
		return true, nil
	}
	return path.Match(s.Match, name)
}

// notFound is the error for a name that no file has. It unwraps to fs.ErrNotExist without its text.
type notFound string

func (e notFound) Error() string { return string(e) }

func (e notFound) Unwrap() error { return fs.ErrNotExist }

// nothingIn returns the error for a folder or prefix without sources.
func (s *Sources) nothingIn(root string) error {
	if s.Match != "" {
		return notFound("no file in " + root + " matches " + s.Match)
	}
	return notFound(root + " is empty")
}

// isSource reports whether a folder is a source itself, such as a Zarr store.
func isSource(ctx context.Context, path string) bool {
	src, err := source.OpenFolder(ctx, path)
	if err != nil {
		return false
	}
	defer src.Close()
	return formats.IsStore(ctx, src)
}

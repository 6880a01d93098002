package ingest

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"varve/manifest/repo"
	"varve/readers/formats"
	"varve/readers/source"
)

// objects expands a name in an object store. A name with a final slash is a folder. A name with *,
// ? or [ is a pattern. A name whose last element has a dot is an object, without a request, because
// lists may have thousands of objects. Other names are looked up.
//
//	s3://bucket/x.nc  s3://bucket/model/  "s3://bucket/model/20??/*.nc"
func (s *Sources) objects(ctx context.Context, name string) ([]string, error) {
	switch {
	case strings.ContainsAny(name, "*?["):
		return s.objectGlob(ctx, name)
	case strings.HasSuffix(name, "/"):
		return s.objectFolder(ctx, name)
	case strings.Contains(path.Base(name), ".") && strings.Count(name, "/") > len("//"):
		return []string{source.Shown(name)}, nil
	}
	src, err := s.objectStores.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	folder := src.IsFolder()
	if err := src.Close(); err != nil {
		return nil, err
	}
	if folder {
		return s.objectFolder(ctx, name)
	}
	return []string{source.Shown(name)}, nil
}

func (s *Sources) objectGlob(ctx context.Context, pattern string) ([]string, error) {
	if isDeep(pattern) {
		return s.deepGlob(ctx, pattern, func(head string) ([]string, error) { return s.objectFolders(ctx, head) }, (*Sources).objectFolder)
	}
	var found []source.Entry
	for e, err := range s.objectStores.Glob(ctx, pattern) {
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	if len(found) == 0 {
		return nil, notFound("no object matches " + pattern)
	}
	slices.SortFunc(found, func(a, b source.Entry) int { return strings.Compare(a.Name, b.Name) })
	var out, files []string
	for _, e := range found {
		if !e.Folder {
			files = append(files, e.Name)
			continue
		}
		more, err := s.walkObjects(ctx, e.Name, 1) // it was not named, so it may be an output
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	out = append(out, s.skipOutputs(ctx, withoutSidecars(ctx, files), s.objectStores.Open)...)
	if len(out) == 0 {
		names := make([]string, len(found))
		for i, e := range found {
			names[i] = source.Shown(e.Name)
		}
		out = s.takeExports(names)
	}
	if len(out) == 0 {
		return nil, notFound("no object matches " + pattern)
	}
	slices.Sort(out)
	return out, nil
}

// objectFolders returns the folders that match a pattern without **.
func (s *Sources) objectFolders(ctx context.Context, pattern string) (out []string, err error) {
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern + "/"}, nil
	}
	for e, err := range s.objectStores.Glob(ctx, pattern) {
		if err != nil {
			return nil, err
		}
		if e.Folder {
			out = append(out, e.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// objectFolder returns the sources below a prefix, as folder does for a local folder.
func (s *Sources) objectFolder(ctx context.Context, name string) ([]string, error) {
	out, err := s.walkObjects(ctx, name, 0)
	if err == nil && len(out) == 0 {
		out = s.takeExports([]string{source.Shown(name)})
	}
	if err == nil && len(out) == 0 {
		err = s.nothingIn(name)
	}
	return out, err
}

// walkObjects returns the sources below a prefix. A depth of 0 says that the user named the prefix, so
// that it is read even if it is an output.
func (s *Sources) walkObjects(ctx context.Context, name string, depth int) ([]string, error) {
	todo, inner := errgroup.WithContext(ctx)
	todo.SetLimit(objectLists)
	w := &objectWalk{Sources: s, todo: todo}
	todo.Go(func() error { return w.walk(inner, strings.TrimSuffix(name, "/")+"/", depth) })
	err := todo.Wait()
	if err == nil {
		w.out = s.skipOutputs(ctx, withoutSidecars(ctx, w.out), s.objectStores.Open)
	}
	slices.Sort(w.out)
	return w.out, err
}

// objectLists is the number of folders to list at once, and maxObjectDepth the depth limit.
const (
	objectLists    = 8
	maxObjectDepth = 64
)

// objectWalk lists a prefix recursively.
type objectWalk struct {
	*Sources
	todo *errgroup.Group

	mu  sync.Mutex
	out []string
}

// walk lists a folder and the folders in it, in parallel up to the limit.
func (w *objectWalk) walk(ctx context.Context, folder string, depth int) error {
	if depth > maxObjectDepth {
		return fmt.Errorf("%s: more than %d folders deep", folder, maxObjectDepth)
	}
	folders, err := w.list(ctx, folder, depth == 0)
	if err != nil {
		return err
	}
	for _, name := range folders {
		again := func() error { return w.walk(ctx, folder+name+"/", depth+1) }
		if w.todo.TryGo(again) {
			continue
		}
		if err := again(); err != nil {
			return err
		}
	}
	return nil
}

// list adds the sources in a folder, or the folder if it is a source itself, and returns the
// folders in it. It looks whether the folder is a source after the first 500 entries, because a
// Zarr store may have millions of chunks in one folder. A folder that the user named may be an output.
func (w *objectWalk) list(ctx context.Context, folder string, isNamed bool) (folders []string, err error) {
	src, err := w.objectStores.Open(ctx, folder)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	var names []string
	looked := false
	const early = 500
	for e, err := range src.List(ctx, "") {
		switch {
		case err != nil:
			return nil, err
		case strings.HasPrefix(e.Name, "."):
			continue
		case e.Folder:
			folders = append(folders, e.Name)
		default:
			names = append(names, e.Name)
		}
		if !looked && len(names)+len(folders) == early {
			if looked = true; w.take(ctx, src, isNamed) {
				return nil, nil
			}
		}
	}
	// Folders with fewer entries are looked at here.
	if !looked && w.take(ctx, src, isNamed) {
		return nil, nil
	}
	if repo.IsPlace(names, folders) {
		w.skip(source.Shown(folder), ManifestOutput)
		return nil, nil
	}
	return folders, w.files(folder, names)
}

// take adds a folder that is a source itself, such as a Zarr store, and reports whether it is.
func (w *objectWalk) take(ctx context.Context, src *source.Source, isNamed bool) bool {
	if !formats.IsStore(ctx, src) {
		return false
	}
	if kind := storeOutput(ctx, src); kind != "" && !isNamed {
		w.skip(src.Name(), kind)
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = append(w.out, src.Name())
	return true
}

func (w *objectWalk) files(folder string, names []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		is, err := w.finds(folder+name, name)
		if err != nil {
			return err
		}
		if is {
			w.out = append(w.out, folder+name)
		}
	}
	return nil
}

package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"varve/manifest/repo"
	"varve/readers/icechunk/file"
	"varve/readers/parquet"
	"varve/readers/source"
)

// Output is a kind of file or folder that varve writes. Sources among them repeat the data of the files
// beside them, so an output in a folder, or one that a pattern matches, is skipped. An export is read if it
// is named, or if nothing else is in the folder or matches the pattern.
type Output string

// The kinds of outputs.
const (
	ManifestOutput Output = "manifest"
	ZarrOutput     Output = "zarr"     // of export zarr
	KerchunkOutput Output = "kerchunk" // of export kerchunk, JSON or Parquet
	IcechunkOutput Output = "icechunk" // of export icechunk
	TableOutput    Output = "table"    // of export table
	ScansOutput    Output = "scans"    // the folder of Options.KeepScan
)

// program is the name by which outputs say that varve wrote them.
const program = "varve"

// mostDocument limits the size of a .zmetadata that is read to see who wrote it.
const mostDocument = 64 << 20

// storeOutput returns the kind of a folder that is a store, or "" if another program wrote it.
func storeOutput(ctx context.Context, store *source.Source) Output {
	if m, err := store.Member(ctx, ".varve/copy.json"); err == nil {
		m.Close()
		return ZarrOutput
	}
	if head, err := headOf(ctx, store, "repo", file.HeaderSize); err == nil && bytes.HasPrefix(head, []byte(file.Magic)) {
		writer := head[len(file.Magic):][:file.ClientSize]
		if strings.TrimRight(string(writer), " ") == program {
			return IcechunkOutput
		}
	}
	if text, err := store.ReadMember(ctx, ".zmetadata", mostDocument); err == nil {
		var doc struct {
			Varve json.RawMessage `json:"varve"`
		}
		if json.Unmarshal(text, &doc) == nil && doc.Varve != nil {
			return KerchunkOutput
		}
	}
	return ""
}

// headOf returns the first n bytes of a file in a folder.
func headOf(ctx context.Context, folder *source.Source, key string, n int) ([]byte, error) {
	m, err := folder.Member(ctx, key)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return m.View(ctx, 0, n)
}

// kerchunkHead begins the references that export kerchunk writes as JSON.
const kerchunkHead = `{"version":1,"varve":`

// mayBeOutput reports whether a file with this name can be an output, so that it is worth opening.
func mayBeOutput(name string) bool {
	switch strings.ToLower(path.Ext(filepath.ToSlash(name))) {
	case ".json", ".parquet", ".parq":
		return true
	}
	return false
}

// fileOutput returns the kind of a file that varve wrote, or "". Scan parts are sources.
func fileOutput(ctx context.Context, src *source.Source) Output {
	if head, err := src.View(ctx, 0, len(kerchunkHead)); err != nil || string(head) == kerchunkHead {
		if err != nil {
			return ""
		}
		return KerchunkOutput
	}
	// Scan parts and the tables of manifests have the same creator, and say in Meta what they are.
	f, err := parquet.OpenForeign(atContext{ctx, src}, src.Size())
	if err == nil && f.Creator == parquet.Creator && len(f.Meta) == 0 {
		return TableOutput
	}
	return ""
}

// atContext is a source as an io.ReaderAt.
type atContext struct {
	ctx context.Context
	src *source.Source
}

// ReadAt implements io.ReaderAt.
func (a atContext) ReadAt(p []byte, off int64) (int, error) { return a.src.ReadAt(a.ctx, p, off) }

// skipOutputs removes the outputs among the files of a folder or pattern, and records them. open opens
// a file. Errors are left to the scan, which reports them all.
func (s *Sources) skipOutputs(ctx context.Context, names []string, open func(context.Context, string) (*source.Source, error)) []string {
	out := names[:0:0]
	for _, name := range names {
		if kind := outputOf(ctx, name, open); kind != "" {
			s.skip(name, kind)
			continue
		}
		out = append(out, name)
	}
	return out
}

// outputOf returns the kind of a file that varve wrote, or "".
func outputOf(ctx context.Context, name string, open func(context.Context, string) (*source.Source, error)) Output {
	if !mayBeOutput(name) {
		return ""
	}
	if isKept(name) {
		if is, err := isPart(name); is && err == nil {
			return ScansOutput
		}
	}
	src, err := open(ctx, name)
	if err != nil {
		return ""
	}
	defer src.Close()
	if src.IsFolder() {
		return ""
	}
	return fileOutput(ctx, src)
}

// openLocal opens a local file. Opening a named pipe would block.
func openLocal(ctx context.Context, name string) (*source.Source, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	return source.Open(ctx, name)
}

// skipFolder reports whether a local folder that the user did not name is an output, and records it.
func (s *Sources) skipFolder(ctx context.Context, name string) bool {
	if repo.IsFolder(name) {
		s.skip(name, ManifestOutput)
		return true
	}
	store, err := source.OpenFolder(ctx, name)
	if err != nil {
		return false
	}
	defer store.Close()
	kind := storeOutput(ctx, store)
	if kind != "" {
		s.skip(name, kind)
	}
	return kind != ""
}

// takeExports returns the exports that were skipped in some folders, and no longer skips them.
func (s *Sources) takeExports(folders []string) (names []string) {
	s.found.mu.Lock()
	defer s.found.mu.Unlock()
	within := func(name string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool {
			rest, found := strings.CutPrefix(filepath.ToSlash(name), strings.TrimSuffix(filepath.ToSlash(folder), "/"))
			return found && (rest == "" || rest[0] == '/')
		})
	}
	for _, kind := range []Output{IcechunkOutput, KerchunkOutput, ZarrOutput} {
		left := s.found.outputs[kind][:0]
		for _, name := range s.found.outputs[kind] {
			if within(name) {
				names = append(names, name)
			} else {
				left = append(left, name)
			}
		}
		if s.found.outputs[kind] = left; len(left) == 0 {
			delete(s.found.outputs, kind)
		}
	}
	slices.Sort(names)
	return names
}

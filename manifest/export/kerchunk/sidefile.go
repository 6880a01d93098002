package kerchunk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"varve/readers/source"
)

// patchesName is the file of patches in a Parquet set, and the suffix of its name for JSON.
const patchesName = ".patches"

var errPatchURL = errors.New("the re-encoded chunks do not fit into the references; give the URL at which readers will find the file of patches (PatchURL)")

// sideFile is the file of patches: concatenated chunks.
type sideFile struct {
	file *os.File
	out  *bufio.Writer
	temp string
	path []byte // the path in references
	size int64
	// When appending: size of the old file, and the lock that excludes other exports.
	carried int64
	lock    io.Closer
	// remote is true if the sources are remote. A reader uses one kind of file system at a time, so chunks in
	// files of the manifest are re-encoded.
	remote bool
	// unreachable is true if the file is in another kind of file system than the sources, so that all patches
	// have to be in the references.
	unreachable bool
}

// newSideFile prepares the file of patches, which append creates.
func (e *export) newSideFile(ctx context.Context) (*sideFile, error) {
	s := &sideFile{path: []byte(e.patchesFile())}
	if !source.IsObject(e.dest) {
		s.path = []byte(filepath.ToSlash(e.patchesFile()))
	}
	if e.sources > 0 {
		first, err := e.paths.absolute(ctx, 0)
		if err != nil {
			return nil, err
		}
		s.remote = !isLocal(first)
		s.unreachable = schemeOf(first) != schemeOf(e.dest)
	}
	if e.paths.base != "" {
		path, err := clientPath(string(s.path))
		if err != nil {
			return nil, err
		}
		below, ok := strings.CutPrefix(path, e.paths.base)
		s.path, s.unreachable = []byte(below), s.unreachable || !ok
	}
	if e.opts.PatchURL != "" {
		s.path, s.unreachable = []byte(e.opts.PatchURL), false
	}
	return s, nil
}

// schemeOf returns the kind of file system of a name; empty for local files.
func schemeOf(name string) string {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok {
		return ""
	}
	return scheme
}

// patchesFile returns the final name of the file of patches.
func (e *export) patchesFile() string {
	switch {
	case e.isJSON():
		return e.dest + patchesName + e.own
	case source.IsObject(e.dest):
		return e.dest + "/" + patchesName
	}
	return filepath.Join(e.dest, patchesName)
}

// append writes a chunk and returns its offset.
func (s *sideFile) append(data []byte) (int64, error) {
	if s.file == nil {
		var err error
		if s.file, err = os.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
			return 0, err
		}
		s.start()
	}
	offset := s.size
	_, err := s.out.Write(data)
	s.size += int64(len(data))
	return offset, err
}

func (s *sideFile) start() { s.out = bufio.NewWriterSize(s.file, 1<<20) }

// close writes the remaining bytes and closes the file.
func (s *sideFile) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.out.Flush(), s.file.Close())
}

// finish closes the file of patches, and fails if chunks needed patches that NoPatch excludes.
func (e *export) finish() error {
	if err := e.patches.close(); err != nil {
		return fmt.Errorf("patches: %w", err)
	}
	if len(e.refused.Arrays) > 0 {
		e.refused.Arrays = slices.Clip(e.refused.Arrays)
		return &e.refused
	}
	if e.patches.file != nil {
		e.result.Patches, e.result.PatchBytes = e.patchesFile(), e.patches.size
	}
	return nil
}

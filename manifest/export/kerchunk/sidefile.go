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

// patchesName is the file of patches in the folder of a Parquet set, and what the name of
// that of a JSON file ends in.
const patchesName = ".patches"

var errPatchURL = errors.New("too many re-encoded chunks to stand among the references; say where readers will find the file of patches")

// sideFile is the file of patches: chunks behind one another, and nothing else.
type sideFile struct {
	file *os.File
	out  *bufio.Writer
	temp string
	path []byte // as references name it
	size int64
	// Of one that goes on behind what was there: how much that was, and what keeps others away.
	carried int64
	lock    io.Closer
	// remote: the sources are. A reader has one kind of file system at a time, so what the
	// manifest keeps in files of its own is treated as what has to be re-encoded.
	remote bool
	// unreachable: the sources are where the file is not, so all patches stand among the
	// references.
	unreachable bool
}

// newSideFile readies the file of patches, which append creates.
func (e *export) newSideFile(ctx context.Context) (*sideFile, error) {
	s := &sideFile{path: []byte(e.patchesFile())}
	if !source.IsObject(e.dest) {
		s.path = []byte(filepath.ToSlash(e.patchesFile()))
	}
	if e.sources > 0 {
		first, err := e.paths.of(ctx, 0)
		if err != nil {
			return nil, err
		}
		s.remote = !isLocal(string(first))
		s.unreachable = schemeOf(string(first)) != schemeOf(e.dest)
	}
	if e.opts.PatchURL != "" {
		s.path, s.unreachable = []byte(e.opts.PatchURL), false
	}
	return s, nil
}

// schemeOf tells which kind of file system a name is in; it is empty for a local one.
func schemeOf(name string) string {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok {
		return ""
	}
	return scheme
}

// patchesFile is where the file of patches is in the end.
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

// close writes what is left.
func (s *sideFile) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.out.Flush(), s.file.Close())
}

// finish closes the file of patches, and refuses the export if patches were not wanted.
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

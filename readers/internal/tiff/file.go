package tiff

import (
	"context"
	"errors"
	"strings"

	"varve/readers"
	"varve/readers/source"
)

// Info describes the format.
func Info() readers.Format {
	return readers.Format{
		Name: "TIFF", Aliases: []string{"BigTIFF"}, Suffixes: []string{".tif", ".tiff", ".btf", ".tf8"},
		Magic:    []readers.Magic{{Bytes: "II*\x00"}, {Bytes: "MM\x00*"}, {Bytes: "II+\x00"}, {Bytes: "MM\x00+"}},
		New:      func(*readers.Config) readers.Reader { return reader{} },
		Describe: Describe,
	}
}

// reader is the readers.Reader of TIFF files.
type reader struct{}

// Open reads the directories of a source.
func (reader) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	f, first, err := openFile(ctx, src)
	if err != nil {
		return nil, err
	}
	list, err := f.directories(ctx, first)
	if err != nil && (ctx.Err() != nil || len(list) == 0 || !isDamage(err)) {
		return nil, err
	}
	b := &builder{file: f, name: variableName(src.Name()), out: &readers.Dataset{Source: src, Format: "TIFF", HoldsChunks: true, Root: &readers.Group{Path: "/"}}}
	if f.isBig {
		b.out.Format = "BigTIFF"
	}
	if err != nil {
		b.addProblem("/", err)
	}
	if len(list) == 0 {
		return nil, f.fail(4, readers.Corruptf("the file has no images"))
	}
	return b.out, b.add(ctx, list)
}

// isDamage reports whether an error is about the bytes of a source. Other errors are about reading them.
func isDamage(err error) bool {
	return errors.Is(err, readers.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported)
}

// isCorrupt reports whether bytes of a source are wrong.
func isCorrupt(err error) bool { return errors.Is(err, readers.ErrCorrupt) }

// builder builds a readers.Dataset from directories.
type builder struct {
	*file
	out  *readers.Dataset
	name string // of the variable of pixels
}

func (b *builder) addProblem(path string, err error) {
	b.out.Problems = append(b.out.Problems, readers.Problem{Path: path, Err: err})
}

func (b *builder) locate(path string, err error) error {
	return &readers.Error{Source: b.src.Name(), Path: path, Offset: -1, Err: err}
}

func join(group, name string) string { return strings.TrimSuffix(group, "/") + "/" + name }

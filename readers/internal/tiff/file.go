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
		Magic:   []readers.Magic{{Bytes: "II*\x00"}, {Bytes: "MM\x00*"}, {Bytes: "II+\x00"}, {Bytes: "MM\x00+"}},
		Sidecar: imageOf,
		Options: []readers.Option{
			{Name: bandsOption, Words: []string{bandsStored, bandsFirst, bandsLast}, Scope: readers.ForManifest,
				Help: "place bands of TIFF files as `stored`, or first (band, y, x), or last (y, x, band)"},
			{Name: sidecarsOption, Words: []string{sidecarsAuto, sidecarsIgnore}, Scope: readers.ForManifest,
				Help: "use files beside local TIFF files (.aux.xml, .tfw, .prj, .ovr, .msk): `auto` or ignore"},
		},
		New: func(c *readers.Config) readers.Reader {
			r := reader{bands: c.Settings.Word(bandsOption), allow: c.Allow}
			if c.Settings.Word(sidecarsOption) == sidecarsAuto {
				r.opener = c.Opener
			}
			return r
		},
		Describe: Describe,
	}
}

// reader is the readers.Reader of TIFF files.
type reader struct {
	opener *source.Opener // of sidecars; nil if they are not read
	allow  []string
	bands  string // where the axis of bands is
}

// Open reads the directories of a source.
func (r reader) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	f, first, err := openFile(ctx, src)
	if err != nil {
		return nil, err
	}
	list, err := f.directories(ctx, first)
	if err != nil && (ctx.Err() != nil || len(list) == 0 || !isDamage(err)) {
		return nil, err
	}
	b := &builder{file: f, reader: r, name: variableName(src.Name()), out: &readers.Dataset{Source: src, Format: "TIFF", HoldsChunks: true, Root: &readers.Group{Path: "/"}}}
	if f.isBig {
		b.out.Format = "BigTIFF"
	}
	if err != nil {
		b.addProblem("/", err)
	}
	if len(list) == 0 {
		return nil, f.fail(4, readers.Corruptf("the file has no images"))
	}
	err = b.readSidecars(ctx, list)
	if err == nil {
		err = b.add(ctx, list)
	}
	for _, src := range b.closers {
		err = errors.Join(err, src.Close())
	}
	return b.out, err
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
	reader
	out     *readers.Dataset
	name    string           // of the variable of pixels
	closers []*source.Source // sidecars
}

func (b *builder) addProblem(path string, err error) {
	b.out.Problems = append(b.out.Problems, readers.Problem{Path: path, Err: err})
}

func (b *builder) locate(path string, err error) error {
	return &readers.Error{Source: b.src.Name(), Path: path, Offset: -1, Err: err}
}

func join(group, name string) string { return strings.TrimSuffix(group, "/") + "/" + name }

package hdf4

import (
	"context"
	"errors"
	"fmt"

	"varve/readers"
	"varve/readers/internal/naming"
	"varve/readers/source"
)

// Format is the readers.Reader of HDF4 files.
type Format struct {
	Allow  []string       // folders besides the source's own in which external files may be read
	Opener *source.Opener // opens external files; nil means the default
}

const magic = "\x0e\x03\x13\x01"

// Info describes the format.
func Info() readers.Format {
	return readers.Format{
		Name: "HDF4", Suffixes: []string{".hdf"}, Magic: []readers.Magic{{Bytes: magic}}, SubtractsOffset: true,
		New: func(c *readers.Config) readers.Reader { return Format{Allow: c.Allow, Opener: c.Opener} },
	}
}

// Open reads the descriptors of a source and the metadata of its datasets and tables.
func (t Format) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	info := Info()
	is, err := info.Detects(ctx, src)
	if err == nil && !is {
		err = &readers.Error{Source: src.Name(), Offset: 0, Err: readers.Corruptf("not an HDF4 file: it does not start with 0E 03 13 01")}
	}
	if err != nil {
		return nil, err
	}
	f := &file{src: src, allow: t.Allow, opener: t.Opener, budget: maxMetadata}
	if err := f.readDescriptors(ctx); err != nil {
		return nil, err
	}
	b := &builder{file: f, ctx: ctx, names: naming.New()}
	// Every later step appends to this dataset.
	b.out = &readers.Dataset{Source: src, Format: "HDF4", HoldsChunks: true, Root: &readers.Group{Path: "/"}}
	if err := b.build(); err != nil {
		return nil, err
	}
	return b.out, ctx.Err()
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errors.ErrUnsupported)...)
}

// isAboutContent reports whether an error is about the bytes of a source. Other errors are about reading
// them.
func isAboutContent(err error) bool {
	return errors.Is(err, readers.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported)
}

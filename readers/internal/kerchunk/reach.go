package kerchunk

import (
	"context"
	"path/filepath"
	"strings"

	"varve/readers"
	"varve/readers/source"
)

// relative is the option that says where the sources of relative names are: those that varve export kerchunk --relative writes, for
// example.
var relative = readers.Option{
	Name: "relative", Kind: readers.OptionText,
	Help:  "read sources with relative names in references from this `folder` or prefix, and allow it",
	Place: func(place string) string { return place },
}

// reach says where the sources of refs are, and which may be read.
type reach struct {
	folders []string // local sources may be in these
	base    string   // the folder or prefix to which names are relative; "" is the working directory
}

// place returns the place of a source that references name.
func (r reach) place(name string) string {
	if r.base == "" || source.IsURL(name) || filepath.IsAbs(name) {
		return name
	}
	if path, err := source.LocalPath(r.base); err == nil {
		return filepath.Join(path, filepath.FromSlash(name))
	}
	return strings.TrimSuffix(r.base, "/") + "/" + name
}

// Open opens the source of a ref.
func (r reach) Open(ctx context.Context, o *readers.Other) (*source.Source, error) {
	return source.OpenWithin(ctx, o.Source, r.folders...)
}

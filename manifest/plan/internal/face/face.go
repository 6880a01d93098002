// Package face decides what an array declares: its element type, what becomes of elements,
// the fill value, attributes and codecs.
package face

import (
	"errors"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
	"varve/zarrjson"
)

// Member stands for all files whose variable is alike but for its length along the axes of
// concatenation.
type Member struct {
	Variable    *manifest.Variable
	Files       int64  // how many
	First, Last string // the first and the last of them
	Bytes       int64  // elements in memory, of all of them
}

// Options are what the planner knows, and what users choose.
type Options struct {
	Array string // the path, for findings
	// Gaps says that some cells of the array are in no member: files that lack the variable,
	// holes of the mosaic.
	Gaps bool
	// Type, if it is not the zero value, is the element type to declare.
	Type codec.Type
	// CodecFrom, if it is not empty, is the name of the file whose codecs to declare: the First
	// or the Last of a member, or any that the planner maps to it.
	CodecFrom string
	// Reference is what times are told in, for an array that is Retimed.
	Reference *cf.Reference
}

// Face is what an array declares, but for its shape, grid and dimensions.
type Face struct {
	DataType   zarrjson.DataType
	Reading    manifest.Reading
	Fill       []byte
	Codecs     []codec.Spec
	Attributes zarrjson.Attributes
	// From is the place of the member whose codecs these are, or -1.
	From int
}

// Decide returns the face that serves most bytes as they are stored, and what there is to say
// of it. Members are in the order of their first files.
func Decide(members []Member, opts Options) (*Face, []report.Finding, error) {
	return nil, nil, errors.ErrUnsupported
}

// Package plan decides how files become arrays. It looks at headers and at the values of
// coordinates, and does no input or output: what else it has to see it asks for.
//
//	files ── headers ── variables          what is there
//	   │                                   along which dimensions do files follow one another?
//	placement: tile, tile, tile, …         where does each file begin, in the order of coordinates?
//	   │                                   what do the files disagree on, and who is the odd one out?
//	array: face, edges, tiles              what is declared so that most bytes stay as they are?
//
// docs/planning.md says what is decided and how. A plan is a function of its input: the same
// files in another order make the same plan.
package plan

import (
	"encoding/json"
	"errors"

	"varve/manifest"
	"varve/manifest/report"
)

// Plan is what becomes of files.
type Plan struct {
	Arrays     []manifest.Array
	Placements []manifest.Placement
	Groups     []manifest.GroupFace
	Values     []*manifest.Values // those that pieces of arrays name
	Report     *report.Report
	State      json.RawMessage // what Extend has to know
}

// Need names values that a plan cannot be made without: they go into the file's Values.
type Need struct {
	File     int // among the files given to New
	Variable int // among those of the file's header
}

// New plans. If it returns needs, it has to be called again with these values in place; a
// plan is returned only when there are none left. An *Error says that the files cannot be
// combined as asked.
func New(files []*manifest.File, opts *Options) (*Plan, []Need, error) {
	return nil, nil, errors.ErrUnsupported
}

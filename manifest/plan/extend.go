package plan

import (
	"encoding/json"

	"varve/manifest"
)

// Extension is what files that follow all others add to a plan.
type Extension struct {
	Arrays     []manifest.Array     // all, with their new shapes and edges, and the new pieces only
	Placements []manifest.Placement // the new tiles only
	Values     []*manifest.Values
	State      json.RawMessage
}

// Extend plans files behind those that a state was made of, without seeing the old ones.
// first is the row of the first new file in the table of sources. It is not ok when anything
// about the new files has to be weighed against the old ones: then New has to plan all.
func Extend(state json.RawMessage, arrays []manifest.Array, files []*manifest.File, first int) (ext *Extension, ok bool, err error) {
	return nil, false, nil
}

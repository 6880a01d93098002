package planner

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/edge"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// Extension is the change that new files make to a plan.
type Extension struct {
	Arrays     []manifest.Array     // all arrays, with their new shapes
	Placements []manifest.Placement // only the new tiles
	Values     []*manifest.Values   // only the new values
	State      json.RawMessage
}

// Extend plans new files that follow all files of a snapshot, without reading the old files. samples are the old files
// in the rows that Samples returns. The phases plan the samples and the new files together, and know from the
// state of the snapshot how many other files there are. Extend returns nil and a reason if the snapshot's arrays would
// change, other than by growing at the end of a whole chunk: then call New with all files. Tile.File is a row in
// the table of sources, and Request.File an index into samples followed by files.
func Extend(ctx context.Context, old *manifest.Snapshot, samples, files []*manifest.File, opts *plan.Options, values Values) (*Extension, report.Replan, error) {
	state, err := stateOf(old)
	switch {
	case err != nil:
		return nil, "", err
	case len(samples) == 0 || len(samples) != len(state.Samples):
		return nil, report.ReplanNoState, nil
	case hasNewTemplate(samples, files):
		return nil, report.ReplanNewHeader, nil
	}
	own := plan.Options{}
	if opts != nil {
		own = *opts
	}
	own.ChunkLengths, own.UnitsOf, own.TextLengthsOf = ChunkLengths(old.Arrays), UnitsOf(old.Arrays, own.Curation), TextLengthsOf(old.Arrays)
	env := newEnv(ctx, slices.Concat(samples, files), &own, values)
	env.earlier = &earlier{state: state, arrays: map[string]*manifest.Array{}, rows: int(old.Rows(manifest.Sources))}
	for i := range old.Arrays {
		env.earlier.arrays[old.Arrays[i].Path] = &old.Arrays[i]
	}
	made, err := makePlan(env)
	var replan replanError
	switch {
	case errors.As(err, &replan):
		return nil, replan.why, nil
	case errors.Is(err, errRefused):
		return nil, report.ReplanDeclarations, nil // New reports why the files are refused
	case err != nil:
		return nil, "", err
	case made.state == nil:
		return nil, made.Stateless, nil
	case len(env.report.Refused()) > 0 || !env.earlier.continues(made, old):
		return nil, report.ReplanDeclarations, nil
	}
	x, err := env.earlier.extension(made, old)
	return x, "", err
}

// continues reports whether a plan of samples and new files has the arrays and groups of the snapshot, except that
// they are longer.
func (e *earlier) continues(made *Plan, old *manifest.Snapshot) bool {
	return slices.EqualFunc(made.Arrays, old.Arrays, e.isContinued) && !slices.ContainsFunc(old.Groups, func(g manifest.GroupSchema) bool {
		i := slices.IndexFunc(made.Groups, func(m manifest.GroupSchema) bool { return m.Path == g.Path })
		return i < 0 || !hasAttributes(&made.Groups[i], &g)
	})
}

// hasAttributes reports whether a group still has all attributes that it declared. It may have more by chance, because
// the samples are few.
func hasAttributes(now, was *manifest.GroupSchema) bool {
	for name, value := range was.Attributes.All() {
		if same, ok := now.Attributes.Get(name); !ok || string(same) != string(value) {
			return false
		}
	}
	return true
}

// isContinued reports whether an array is equal to an array of the snapshot, except that it may be longer.
func (e *earlier) isContinued(now, was manifest.Array) bool {
	grows := e.grows(was.Dims)
	if now.Path != was.Path || !slices.Equal(now.Dims, was.Dims) || (now.Placement == "") != (was.Placement == "") || grows && now.Placement != was.Placement ||
		!reflect.DeepEqual(now.Reading, was.Reading) || now.Calibrated != was.Calibrated {
		return false
	}
	a, b := *now.Schema, *was.Schema
	if len(a.Shape) != len(b.Shape) || len(a.ChunkGrid.Sizes) != len(b.ChunkGrid.Sizes) {
		return false
	}
	for k, dim := range was.Dims {
		from := edge.RunsOf(b.ChunkGrid.Sizes[k], b.Shape[k])
		if dim != e.Dim {
			if a.Shape[k] != b.Shape[k] || !slices.Equal(edge.RunsOf(a.ChunkGrid.Sizes[k], a.Shape[k]), from) {
				return false
			}
			continue
		}
		// Pieces are joined at any position, but chunks of files grow only at the end of a chunk.
		if was.Placement != "" && !edge.Continues(edge.RunsOf(a.ChunkGrid.Sizes[k], a.Shape[k]), from) {
			return false
		}
	}
	if !slices.EqualFunc(a.Codecs, b.Codecs, isSameCodec) {
		return false
	}
	// The default key encoding and codecs have several forms.
	a.Shape, a.ChunkGrid, a.Keys, a.Codecs = b.Shape, b.ChunkGrid, b.Keys, b.Codecs
	return reflect.DeepEqual(a, b)
}

// isSameCodec reports whether codecs are equal. A codec without a configuration has an empty one when it was stored.
func isSameCodec(a, b codec.Spec) bool {
	if a.Config == nil && b.Config != nil {
		a.Config = []byte("{}")
	}
	return reflect.DeepEqual(a, b)
}

// extension returns the new parts of a plan.
func (e *earlier) extension(made *Plan, old *manifest.Snapshot) (*Extension, error) {
	x := &Extension{Arrays: slices.Clone(old.Arrays)}
	next := made.state
	next.Tails = map[string][]byte{}
	maps.Copy(next.Tails, e.Tails)
	values := map[string]*manifest.Values{}
	for _, v := range made.Values {
		values[v.ID] = v
	}
	for i := range x.Arrays {
		if a := &x.Arrays[i]; e.grows(a.Dims) {
			a.Schema = made.Arrays[i].Schema
			if a.Placement == "" {
				x.Values = append(x.Values, next.addPieces(a, made.Arrays[i].Pieces, values)...)
			}
		}
	}
	for _, w := range made.Placements {
		if !e.grows(w.Dims) {
			continue // the old files cover it
		}
		w.Tiles = slices.DeleteFunc(w.Tiles, func(t manifest.Tile) bool { return e.has(int32(t.File)) })
		for i := range w.Tiles {
			w.Tiles[i].File = e.row(int32(w.Tiles[i].File))
		}
		x.Placements = append(x.Placements, w)
	}
	var err error
	x.State, err = json.Marshal(next)
	return x, err
}

// ChunkLengths returns the chunk lengths along the first dimension of arrays that are stored in the manifest, by path:
// see plan.Options.ChunkLengths.
func ChunkLengths(arrays []manifest.Array) map[string]int64 {
	lengths := map[string]int64{}
	for i := range arrays {
		a := &arrays[i]
		if a.Placement != "" || len(a.Dims) == 0 {
			continue
		}
		if n, ok := a.Schema.ChunkGrid.Sizes[0].RegularSize(); ok {
			lengths[a.Path] = n
		}
	}
	return lengths
}

// UnitsOf returns the units that arrays declare, or "", by path: see plan.Options.UnitsOf. Units of times are not among
// them. Units that a curation changed count as none: files do not state them, so no numbers are in them.
func UnitsOf(arrays []manifest.Array, curations ...*plan.Curation) map[string]string {
	units := map[string]string{}
	for i := range arrays {
		raw, has := arrays[i].Schema.Attributes.Get(cf.UnitsName)
		if slices.ContainsFunc(curations, func(c *plan.Curation) bool { return changesUnits(c, arrays[i].Path) }) {
			units[arrays[i].Path] = ""
			continue
		}
		if text, ok := cf.TextOf(raw); (ok || !has) && arrays[i].Reading != manifest.Retimed && !strings.Contains(text, " since ") {
			units[arrays[i].Path] = text
		}
	}
	return units
}

// TextLengthsOf returns the names of the last dimensions of arrays of characters, by path: see plan.Options.TextLengthsOf.
func TextLengthsOf(arrays []manifest.Array) map[string]string {
	names := map[string]string{}
	for i := range arrays {
		dims := arrays[i].Schema.Dims()
		if t := arrays[i].Schema.DataType.Type(); len(dims) > 0 && t.Kind == codec.FixedBytes && t.Size == 1 {
			names[arrays[i].Path] = dims[len(dims)-1]
		}
	}
	return names
}

// addPieces appends pieces to an array, and returns their values. It joins the first piece to a short last piece of
// the array.
func (s *state) addPieces(a *manifest.Array, pieces []manifest.Piece, values map[string]*manifest.Values) (made []*manifest.Values) {
	a.Pieces = slices.Clone(a.Pieces)
	for _, p := range pieces {
		v := values[p.Values]
		if tail, ok := s.Tails[a.Path]; ok && len(a.Pieces) > 0 && v.Texts == nil {
			last := a.Pieces[len(a.Pieces)-1]
			a.Pieces = a.Pieces[:len(a.Pieces)-1]
			p = manifest.Piece{Origin: last.Origin, Shape: append([]int64{last.Shape[0] + p.Shape[0]}, p.Shape[1:]...)}
			v = &manifest.Values{Data: slices.Concat(tail, v.Data)}
			v.SetID()
			p.Values = v.ID
		}
		a.Pieces, made = append(a.Pieces, p), append(made, v)
		s.keepTail(a, func(string) *manifest.Values { return v })
	}
	return made
}

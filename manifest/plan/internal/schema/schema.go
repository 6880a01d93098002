// Package schema decides what an array declares: its element type, what becomes of elements,
// the fill value, attributes and codecs.
//
//	members ─┬─ types, packings, masks ── type, reading, mask     so that no value changes its meaning
//	         ├─ attributes ───────────── attributes               on which all agree
//	         ├─ conversions ──────────── fill value               of most unwritten bytes
//	         └─ codecs ───────────────── codecs                   of most bytes, among those clients have
//
// What clients see has to be what xarray would show of each file. A client takes missing
// values from the attribute _FillValue only; the fill value of the array says what chunks hold
// that are not there, and masks nothing.
package schema

import (
	"fmt"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/convert"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
	"varve/zarrjson"
)

// Member stands for all files whose variable is alike but for its length along the axes of
// concatenation.
type Member struct {
	Variable *manifest.Variable
	Files    int64  // the number of files
	First    string // the name of the first of them
	Bytes    int64  // the size of the elements of all of them in memory
}

// Options are what the planner knows, and what users choose.
type Options struct {
	Array string // the path, for findings
	// Names returns the files of members, for findings. If it is nil, findings name the first file of each.
	Names func(members []int) report.Files
	// Gaps says that some cells of the array are in no member: files that lack the variable,
	// holes of the mosaic.
	Gaps bool
	// Type, if it is not the zero value, is the element type to declare.
	Type codec.Type
	// CodecFrom, if it is not 0, is 1 more than the place of the member whose codecs to declare.
	CodecFrom int
	// Exact says that chunks have to be re-encoded, and so declared in codecs that encode, and give
	// back what they encode.
	Exact bool
	// Reference is what times are told in that are not in the same units in all files. Without
	// one it is found without looking at values.
	Reference *cf.Reference
	// Keep are attributes that are kept as those members have them that have any.
	Keep []string
	// Common is what decisions share that are made of one archive; nil for one alone.
	Common *Common
}

// Schema is what an array declares, but for its shape, grid and dimensions.
type Schema struct {
	DataType   zarrjson.DataType
	Reading    manifest.Reading
	Fill       []byte
	Codecs     []codec.Spec
	Attributes zarrjson.Attributes
	// From is the place of the member whose codecs these are, or -1 if no member's will do.
	From int
	// Kept says of each member whether its elements and its codecs are those of the schema, so
	// that its chunks may be served as they are stored.
	Kept []bool
	// Conversions are of each member's elements into the schema's.
	Conversions []*convert.Conversion
	// Inexact says that not everything can be stored in these codecs.
	Inexact bool
}

// Decide returns the schema that serves most bytes as they are stored, and what there is to say
// of it. Members are in the order of their first files, and have equally many axes. If the
// members cannot be one array, a finding with the effect report.Refused says why, and there is
// no schema.
func Decide(members []Member, opts Options) (*Schema, []report.Finding, error) {
	if len(members) == 0 {
		return nil, nil, fmt.Errorf("%s: no file has it", opts.Array)
	}
	d := newDecision(members, opts)
	for _, step := range []func(){d.meaning, d.choices, d.elements, d.attributes, d.conversions, d.fill, d.codecs} {
		if step(); d.refused {
			return nil, d.findings, nil
		}
	}
	return &d.schema, d.findings, nil
}

// decision is a schema in the making.
type decision struct {
	members  []member
	opts     Options
	files    int64
	schema   Schema
	masks    [][]byte         // of the schema
	chosen   map[int64]string // the names of an enumeration's numbers
	declared []zarrjson.Attribute
	places   places // of what is declared
	findings []report.Finding
	refused  bool

	common  *Common
	scratch []byte
}

type member struct {
	Member
	at         int // its place among the members
	packing    cf.Packing
	units      cf.Units
	timed      bool // units are valid
	conversion *convert.Conversion
	places     places // of the attributes
}

func newDecision(members []Member, opts Options) *decision {
	d := &decision{opts: opts, members: make([]member, len(members)), common: opts.Common}
	if d.common == nil {
		d.common = &Common{}
	}
	d.schema.Kept = make([]bool, len(members))
	for i, m := range members {
		d.members[i].Member, d.members[i].at = m, i
		d.files += m.Files
	}
	return d
}

// alone reports whether there is nobody to disagree with.
func (d *decision) alone() bool { return len(d.members) == 1 }

// array is the schema as conversions want it.
func (d *decision) array() *zarrjson.Array {
	return &zarrjson.Array{DataType: d.schema.DataType, Attributes: d.schema.Attributes}
}

// meaning reads what the attributes of each member say of its numbers.
func (d *decision) meaning() {
	for i := range d.members {
		m := &d.members[i]
		var err error
		if m.packing, err = cf.PackingOf(m.Variable); err != nil {
			d.refuse(report.PackingInvalid, m, err).Remedies = d.drop()
			return
		}
		if m.units, m.timed, err = cf.UnitsOf(m.Variable); err != nil {
			m.timed = false // as text they are kept if all files have the same
		}
	}
}

// conversions are made for each member; one that loses anything is a refusal.
func (d *decision) conversions() {
	schema := d.array()
	d.schema.Conversions = make([]*convert.Conversion, len(d.members))
	for i := range d.members {
		m := &d.members[i]
		var err error
		if m.conversion, err = convert.New(m.Variable, schema, d.schema.Reading); err != nil {
			d.refuse(report.ValueImpossible, m, err)
			return
		}
		d.schema.Conversions[i] = m.conversion
	}
}

// add adds a finding, and returns it so that more can be added to it.
func (d *decision) add(f report.Finding) *report.Finding {
	f.Array, f.Of = d.opts.Array, d.files
	d.findings = append(d.findings, f)
	return &d.findings[len(d.findings)-1]
}

// refuse adds the finding that there is no schema, because of an error in a member.
func (d *decision) refuse(code report.Code, m *member, err error) *report.Finding {
	d.refused = true
	return d.add(report.Finding{Code: code, Effect: report.Refused, Files: d.filesOf([]int{m.at}), Count: m.Files, Args: report.Args{"reason": err.Error()}})
}

// note adds a finding about all files.
func (d *decision) note(code report.Code, effect report.Effect, args report.Args) *report.Finding {
	all := make([]int, len(d.members))
	for i := range all {
		all[i] = i
	}
	return d.add(report.Finding{Code: code, Effect: effect, Files: d.filesOf(all), Count: d.files, Args: args})
}

// drop is the remedy that leaves out the array.
func (d *decision) drop() []report.Remedy {
	return []report.Remedy{report.DropPath(d.members[0].Variable.Path)}
}

// filesOf returns the files of members.
func (d *decision) filesOf(members []int) report.Files {
	if d.opts.Names != nil {
		return d.opts.Names(members)
	}
	var names []string
	for _, at := range members {
		names = append(names, d.members[at].First)
	}
	return report.Named(names...)
}

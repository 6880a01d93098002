// Package schema decides the schema of an array: element type, conversion, fill value, attributes
// and codecs.
//
//	members ─┬─ types, packings, masks ── type, reading, mask     no value changes its meaning
//	         ├─ attributes ───────────── attributes               those on which all members agree
//	         ├─ conversions ──────────── fill value               the fill value of most bytes
//	         └─ codecs ───────────────── codecs                   the codecs of most bytes, if all clients decode them
//
// Clients must see the values that xarray shows for each file. Clients take missing values only
// from the attribute _FillValue. The fill value of the array is the content of missing chunks, and
// marks nothing as missing.
package schema

import (
	"fmt"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/convert"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/zarrjson"
)

// Member represents all files whose variable is equal, except for its length along concatenated
// dimensions.
type Member struct {
	Variable *manifest.Variable
	// Own are attributes in place of those of Variable with the same names. Members whose variables differ only in values
	// of attributes share a Variable, since there may be one for each file.
	Own   []manifest.Attribute
	Files int64  // the number of files
	First string // the name of the first file
	Bytes int64  // the size of all elements of all files, decoded
}

// Options are facts that the planner knows, and choices of the user.
type Options struct {
	Array string // the path, for findings
	// Names returns the files of members, for findings. If it is nil, findings name the first file
	// of each member.
	Names func(members []int) report.Files
	// Gaps says that some positions of the array are in no member: files lack the variable, or the
	// mosaic has holes.
	Gaps bool
	// Texts says that elements are characters of texts, and that shorter texts are padded. The fill value is then NUL.
	Texts bool
	// Type is the element type to declare. The zero value leaves the choice to Decide.
	Type codec.Type
	// Repack is the scale factor to which all members are packed if their packings differ, or 0. A member
	// must have it.
	Repack float64
	// CodecFrom is 1 plus the index of the member whose codecs to declare, or 0.
	CodecFrom int
	// Exact says that chunks have to be re-encoded, so the codecs must be able to encode and
	// restore all values.
	Exact bool
	// Reference has the common units of times whose units differ. Without it, Decide chooses units
	// that fit all times without looking at values.
	Reference *cf.Reference
	// Units says how to treat members whose units differ.
	Units plan.Units
	// PublishedUnits are the units that an earlier snapshot declares, or empty if it declares none. nil if there is no
	// earlier snapshot.
	PublishedUnits *string
	// Keep lists attributes to declare with the value of the first member that has them, even if
	// members disagree.
	Keep []string
	// Common caches results for other decisions in the same archive. It may be nil.
	Common *Common
}

// Schema is the schema of an array without shape, chunk grid and dimensions.
type Schema struct {
	DataType   zarrjson.DataType
	Reading    manifest.Reading
	Fill       []byte
	Codecs     []codec.Spec
	Attributes zarrjson.Attributes
	// AttributeTypes has the types of attributes that their JSON does not show: see manifest.Array.
	AttributeTypes map[string]string
	// From is the index of the member whose codecs are declared, or -1 if no member's codecs are
	// suitable.
	From int
	// Kept says for each member whether its chunks can be verbatim, because it has the elements and
	// the codecs of the schema.
	Kept []bool
	// Conversions convert the elements of each member to the schema. They are nil if there are more than mostConversions
	// members and none is repacked: all would need as much memory as the headers, and making one takes microseconds.
	Conversions []*convert.Conversion
	// Inexact says that the codecs cannot encode, or do not restore, all values.
	Inexact bool
}

// Decide returns the schema that keeps most bytes verbatim, and findings about it. Members must be
// sorted by their first files, and have the same number of axes. If the members cannot form one
// array, the schema is nil and a finding with the effect report.Refused says why.
func Decide(members []Member, opts Options) (*Schema, []report.Finding, error) {
	if len(members) == 0 {
		return nil, nil, fmt.Errorf("%s: no file has this variable", opts.Array)
	}
	d := newDecision(members, opts)
	for _, step := range []func(){d.meaning, d.choices, d.elements, d.attributes, d.conversions, d.fill, d.codecs} {
		if step(); d.refused {
			return nil, d.findings, nil
		}
	}
	return &d.schema, d.findings, nil
}

// decision holds a schema while it is decided.
type decision struct {
	members  []member
	opts     Options
	files    int64
	schema   Schema
	masks    [][]byte         // the missing values of the schema
	chosen   map[int64]string // the names of an enumeration's numbers
	inUnits  *member          // the member to whose units all others are converted, or nil
	packed   *member          // the member whose packing is declared, if all are repacked to it; else nil
	declared []zarrjson.Attribute
	places   places // index of declared
	findings []report.Finding
	refused  bool

	common  *Common
	scratch []byte
	whole   manifest.Variable // see variable
}

// mostConversions is the number of members up to which a Schema has their conversions.
const mostConversions = 1 << 10

type member struct {
	Member
	at         int // index among the members
	packing    cf.Packing
	units      cf.Units
	timed      bool   // units are valid
	fill       []byte // the fill value of the variable, converted
	isIdentity bool   // the conversion changes no element
	places     places // index of the attributes
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

// variable returns the variable of a member with its own attributes. The next call may change it.
func (d *decision) variable(m *member) *manifest.Variable {
	if len(m.Own) == 0 {
		return m.Variable
	}
	attributes := append(d.whole.Attributes[:0], m.Variable.Attributes...)
	d.whole = *m.Variable
	d.whole.Attributes = attributes
	for i := range attributes {
		if own := manifest.Lookup(m.Own, attributes[i].Name); own != nil {
			attributes[i] = *own
		}
	}
	return &d.whole
}

// alone reports whether there is only one member, so that nothing can differ.
func (d *decision) alone() bool { return len(d.members) == 1 }

// array returns the schema in the form that conversions take.
func (d *decision) array() *zarrjson.Array {
	return &zarrjson.Array{DataType: d.schema.DataType, Attributes: d.schema.Attributes}
}

// meaning reads packing and units of each member.
func (d *decision) meaning() {
	for i := range d.members {
		m := &d.members[i]
		var err error
		if m.packing, err = cf.PackingOf(d.variable(m)); err != nil {
			d.refuse(report.PackingInvalid, m, err).Remedies = d.drop()
			return
		}
		if m.units, m.timed, err = cf.UnitsOf(d.variable(m)); err != nil {
			m.timed = false // the units are declared as text if all files have the same
		}
	}
	d.chooseUnits()
}

// conversions makes the conversion of each member. It refuses a conversion that loses data.
func (d *decision) conversions() {
	schema := d.array()
	keep := len(d.members) <= mostConversions || d.schema.Reading == manifest.Repacked
	if keep {
		d.schema.Conversions = make([]*convert.Conversion, len(d.members))
	}
	for i := range d.members {
		m := &d.members[i]
		made, err := convert.New(d.variable(m), schema, d.schema.Reading)
		if err != nil {
			d.refuse(report.ValueImpossible, m, err)
			return
		}
		m.fill, m.isIdentity = made.Fill(), made.Identity()
		if keep {
			d.schema.Conversions[i] = made
		}
	}
}

// add adds a finding, and returns it so that the caller can extend it.
func (d *decision) add(f report.Finding) *report.Finding {
	f.Array, f.Of = d.opts.Array, d.files
	d.findings = append(d.findings, f)
	return &d.findings[len(d.findings)-1]
}

// refuse adds the finding that there is no schema because of an error in a member.
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

// drop returns the remedy that excludes the array.
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

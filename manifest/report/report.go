// Package report holds what a plan has to say to people: on what the files of an archive
// disagree, with the files on each side, and what it costs.
package report

// Finding is one thing on which files disagree, or that a user has to know. One finding
// stands for all files that share it.
type Finding struct {
	Kind   Kind     `json:"kind"`
	Array  string   `json:"array"` // path; empty if it is not about one array
	Files  []string `json:"files"` // the first and the last on the odd side
	Count  int64    `json:"count"` // of files on the odd side
	Of     int64    `json:"of"`    // of files that were compared
	Says   string   `json:"says"`
	Effect Effect   `json:"effect"`
	Option string   `json:"option,omitempty"` // what would change it, as it is written on a command line
}

// Kind is a word of the table of conflicts.
type Kind string

// The kinds of findings.
const (
	Length      Kind = "length"      // along the concatenation axis
	Codec       Kind = "codec"       // compression, level, byte order, filter masks
	ChunkShape  Kind = "chunks"      // shapes of chunks
	Type        Kind = "dtype"       // element types
	Packing     Kind = "packing"     // scale_factor, add_offset, _Unsigned
	FillValue   Kind = "fill"        // _FillValue, missing_value, the format's own
	Time        Kind = "time"        // units and calendars
	Absent      Kind = "absent"      // a variable or group that some files lack
	Width       Kind = "width"       // of other axes
	Coordinate  Kind = "coordinate"  // of axes that are not concatenated
	Attribute   Kind = "attribute"   // attributes
	Dimension   Kind = "dimension"   // names and order of dimensions
	Gap         Kind = "gap"         // something missing along the axis
	Overlap     Kind = "overlap"     // files that hold the same place
	Order       Kind = "order"       // how files were put in order
	Unreadable  Kind = "unreadable"  // a variable that no array can hold
	Foreign     Kind = "foreign"     // a file that has nothing to do with the rest
	Broken      Kind = "broken"      // a file that cannot be read
	Unwritten   Kind = "unwritten"   // values that were never written
	Static      Kind = "static"      // a variable without the axis that differs
	Units       Kind = "units"       // physical units
	Restriction Kind = "restriction" // what an export cannot carry
)

// Effect is what becomes of the files on the odd side.
type Effect string

// The effects.
const (
	Verbatim  Effect = "verbatim" // nothing: served as stored
	Reencoded Effect = "re-encoded"
	Filled    Effect = "filled"
	Dropped   Effect = "dropped"
	Refused   Effect = "refused"
	Noted     Effect = "noted" // only worth knowing
)

// Report is all that a plan has to say.
type Report struct {
	Findings []Finding
}

// Add appends a finding.
func (r *Report) Add(f Finding) { r.Findings = append(r.Findings, f) }

// Refused returns the findings for which there is no plan.
func (r *Report) Refused() (refused []Finding) {
	for _, f := range r.Findings {
		if f.Effect == Refused {
			refused = append(refused, f)
		}
	}
	return refused
}

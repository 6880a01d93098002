// Package report has the findings of a plan as data: the disagreements between the files of an archive,
// the odd files, the effect on them, and the options that change it. The odd files of a finding are the
// files that differ from the others, which are usually more. The package has no English: package
// report/text formats findings, and a command adds the names of its flags.
package report

// Finding is one disagreement between files, or one fact that a user must know. Join merges findings that
// differ only in their array.
type Finding struct {
	Code   Code   `json:"code"`
	Effect Effect `json:"effect"`
	// Array is the path of the array that the finding is about, or empty.
	Array string `json:"array"`
	// Arrays are the paths of all arrays if the finding is about several; Array is empty then.
	Arrays []string `json:"arrays,omitempty"`
	// Dim is the name of the dimension that the finding is about, or empty.
	Dim  string `json:"dim,omitempty"`
	Args Args   `json:"args,omitempty"`
	// Files has all odd files.
	Files Files `json:"files"`
	// Count is the number of odd files, and Of the number of files that were compared.
	Count int64 `json:"count"`
	Of    int64 `json:"of"`
	// By is the option that decides the effect: it allows the disagreement, or refuses it.
	By Setting `json:"by,omitzero"`
	// Cost says how many chunks and bytes the disagreement re-encodes, if that is known.
	Cost *Cost `json:"cost,omitempty"`
	// Remedies lists the ways to change the effect, the best first.
	Remedies []Remedy `json:"remedies"`
}

// Args has the facts of a finding by name. The values are strings, numbers, bools, Bytes and File, lists of
// these, and lists of Variant, Gap, Odd, Stretch, lists of Place, AxisLength and GroupDataset.
type Args map[string]any

// File is the name of one file among the arguments of a finding.
type File string

// Bytes is a size among the arguments of a finding.
type Bytes int64

// Variant is one of several values that files have for one property.
type Variant struct {
	Value string `json:"value"` // empty if the files have none
	Files int64  `json:"files"`
}

// Gap is a range along a dimension that no file covers.
type Gap struct {
	From   string `json:"from"` // the last value before the gap
	To     string `json:"to"`   // the first value after it
	Before File   `json:"before"`
	After  File   `json:"after"`
}

// Odd lists the odd files of some of the arrays of a finding.
type Odd struct {
	Arrays []string `json:"arrays"`
	Files  Files    `json:"files"`
}

// Stretch is a part of a dimension that two files share.
type Stretch struct {
	Dim   string `json:"dim"`
	Count int64  `json:"count"`
	From  string `json:"from,omitempty"` // the first coordinate value, and in To the last; empty without a coordinate
	To    string `json:"to,omitempty"`
}

// Place is a part of a dimension at which something was found.
type Place struct {
	Stretch
	Start int64 `json:"start"` // the position of the first element
}

// AxisLength is the length of a dimension in some arrays.
type AxisLength struct {
	Length int64    `json:"length"`
	Arrays []string `json:"arrays"`
}

// GroupDataset is a group that can be opened as one dataset.
type GroupDataset struct {
	Group      string      `json:"group"` // its path
	Arrays     []string    `json:"arrays"`
	Dimensions []DimLength `json:"dimensions"`
}

// DimLength is a dimension and its length.
type DimLength struct {
	Name   string `json:"name"`
	Length int64  `json:"length"`
}

// Cost compares an array as it is declared with the same array if the files agreed.
type Cost struct {
	Verbatim  int64 `json:"verbatim"`  // chunks that are served as they are stored
	Reencoded int64 `json:"reencoded"` // chunks that are decoded, converted and encoded again
	// The same numbers if the odd files were stored like the others.
	VerbatimWithout  int64 `json:"verbatim_without"`
	ReencodedWithout int64 `json:"reencoded_without"`
	// DataType is the declared type.
	DataType string `json:"data_type"`
	// ExportBytes is the decoded size of the re-encoded chunks, which an export has to hold.
	ExportBytes int64 `json:"export_bytes"`
}

// Effect is the effect of a finding on the odd files.
type Effect string

// The effects.
const (
	Verbatim  Effect = "verbatim"   // chunks of the odd files are served as they are stored
	Reencoded Effect = "re-encoded" // some chunks of the odd files are decoded, converted and encoded again
	Filled    Effect = "filled"     // the array has its fill value where the odd files have no elements
	Dropped   Effect = "dropped"    // a file, a variable or an attribute is left out
	Refused   Effect = "refused"    // there is no plan
	Noted     Effect = "noted"      // nothing changes
)

// Report holds the findings of a plan.
type Report struct {
	Findings []Finding
	// Sources has all files of the plan. The ranges of Finding.Files are indices into its names.
	Sources *Sources
}

// Add appends a finding.
func (r *Report) Add(f Finding) { r.Findings = append(r.Findings, f) }

// Refused returns the findings that prevent a plan.
func (r *Report) Refused() (refused []Finding) {
	for _, f := range r.Findings {
		if f.Effect == Refused {
			refused = append(refused, f)
		}
	}
	return refused
}

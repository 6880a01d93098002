package manifest

// Values are the elements of a small variable, or of a piece of an array.
type Values struct {
	ID    string   // hash of Data and Texts
	Data  []byte   // elements of a fixed size in memory form
	Texts [][]byte // elements of varying length
	// Summed says that only the ID is known: these values had to be compared with others, and
	// are too large to be kept.
	Summed bool
	// Summary is what else is known of summed values, if that was asked for.
	Summary *Summary
}

// DefaultValueBytes is the size in bytes up to which values of a variable of one file are kept
// that say where files lie, or that only a manifest can hold.
const DefaultValueBytes = 16 << 20

// MostSummed is the size in bytes of variables of several dimensions that are read only to be
// compared. Those of one dimension are never in memory as a whole.
const MostSummed = 1 << 30

// Sum returns the values without the elements.
func (v *Values) Sum() *Values { return &Values{ID: v.ID, Summed: true} }

// Ref is one row of the table of refs.
type Ref struct {
	Offset int64 // in the source; NotStored; or an InlineRow
	Size   int64 // as stored
	Mask   uint32
	// Other, if not 0, is 1 more than the row of the source that Offset is in, where that is
	// not the tile's.
	Other int32
}

// NotStored is the offset of a chunk that was never written.
const NotStored = -1

// InlineRow is the offset of a ref to bytes in the table of inline bytes.
func InlineRow(row int64) int64 { return -2 - row }

// Stored reports whether there are bytes for the chunk.
func (r Ref) Stored() bool { return r.Offset != NotStored }

// Inline returns the row in the table of inline bytes, if the bytes are there.
func (r Ref) Inline() (row int64, ok bool) { return -2 - r.Offset, r.Offset <= -2 }

// RefColumns are refs that follow one another, by columns of equal length.
type RefColumns struct {
	Offsets, Sizes []int64
	Masks          []uint32 // nil if all are 0
	Others         []int32  // nil if all are 0
}

// At is the i-th of them.
func (c *RefColumns) At(i int) Ref {
	ref := Ref{Offset: c.Offsets[i], Size: c.Sizes[i]}
	if c.Masks != nil {
		ref.Mask = c.Masks[i]
	}
	if c.Others != nil {
		ref.Other = c.Others[i]
	}
	return ref
}

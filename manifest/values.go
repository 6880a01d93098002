package manifest

// Values are the elements of a small variable, or of a piece of an array.
type Values struct {
	ID    string   // hash of Data and Texts
	Data  []byte   // elements of a fixed size in memory form
	Texts [][]byte // elements of varying length
	// Summed says that only the ID is known. It is set for values that are too large to store, but must
	// be compared with the values of other files.
	Summed bool
	// Summary describes summed values; nil if the plan does not need it.
	Summary *Summary
}

// DefaultValueBytes is the size up to which the values of a variable of one file are stored in the manifest,
// if they determine the placement or if only the reader can decode them.
const DefaultValueBytes = 16 << 20

// MostSummed is the largest size in bytes of a variable of several dimensions that is read only to
// compare it. Variables of one dimension are read in parts and have no limit.
const MostSummed = 1 << 30

// Sum returns the values without the elements: only the ID.
func (v *Values) Sum() *Values { return &Values{ID: v.ID, Summed: true} }

// Ref is one row of the table of refs: the location of a stored chunk.
type Ref struct {
	Offset int64 // in the source, or NotStored, or the result of InlineRow
	Size   int64 // in bytes, as stored
	Mask   uint32
	// Other is 0 if Offset is in the tile's own source. Otherwise it is the row of the source that has
	// the bytes, plus 1.
	Other int32
	// Checksum is the CRC-32C of the stored bytes; 0 if none is recorded.
	Checksum uint32
}

// NotStored is the offset of a chunk that was never written.
const NotStored = -1

// InlineRow returns the offset of a ref to bytes in the table of inline bytes.
func InlineRow(row int64) int64 { return -2 - row }

// Stored reports whether the chunk has bytes.
func (r Ref) Stored() bool { return r.Offset != NotStored }

// Inline returns the row in the table of inline bytes. ok is false if the bytes are not inline.
func (r Ref) Inline() (row int64, ok bool) { return -2 - r.Offset, r.Offset <= -2 }

// RefColumns are consecutive refs in columns of equal length.
type RefColumns struct {
	Offsets, Sizes []int64
	Masks          []uint32 // nil if all are 0
	Others         []int32  // nil if all are 0
	Checksums      []uint32 // nil if all are 0
}

// Slice returns a range of the refs.
func (c *RefColumns) Slice(from, to int) RefColumns {
	out := RefColumns{Offsets: c.Offsets[from:to], Sizes: c.Sizes[from:to]}
	if c.Masks != nil {
		out.Masks = c.Masks[from:to]
	}
	if c.Others != nil {
		out.Others = c.Others[from:to]
	}
	if c.Checksums != nil {
		out.Checksums = c.Checksums[from:to]
	}
	return out
}

// At returns the i-th ref.
func (c *RefColumns) At(i int) Ref {
	ref := Ref{Offset: c.Offsets[i], Size: c.Sizes[i]}
	if c.Masks != nil {
		ref.Mask = c.Masks[i]
	}
	if c.Others != nil {
		ref.Other = c.Others[i]
	}
	if c.Checksums != nil {
		ref.Checksum = c.Checksums[i]
	}
	return ref
}

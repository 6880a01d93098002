package netcdf3

import (
	"math"
	"math/bits"

	"varve/readers"
)

// records is the layout of a file's records.
type records struct {
	size  uint64 // distance from one record to the next
	count uint64
	err   error // why the layout is not known
}

// slab is the position of one variable's values: count runs of size bytes.
type slab struct {
	begin  int64
	size   uint64 // bytes of one record, or of all values
	stride uint64
	count  uint64 // 1 for a variable without records
	err    error  // why the position is not known
}

// bytes returns the size of all values.
func (s slab) bytes() uint64 { return s.size * s.count }

// end returns the offset after the last value.
func (s slab) end() uint64 {
	if s.bytes() == 0 {
		return 0
	}
	return uint64(s.begin) + (s.count-1)*s.stride + s.size
}

// isRecord reports whether a variable has one slab per record.
func (h *Header) isRecord(v *Var) bool {
	return len(v.DimIDs) > 0 && v.DimIDs[0] < uint64(len(h.Dims)) && h.Dims[v.DimIDs[0]].Length == 0
}

// slabSize returns the size in bytes of a variable, or of one of its records.
func (h *Header) slabSize(v *Var) (uint64, error) {
	size := uint64(v.Type.Size)
	for i, id := range v.DimIDs {
		if id >= uint64(len(h.Dims)) {
			return 0, readers.Corruptf("dimension %d has id %d of %d", i, id, len(h.Dims))
		}
		length := h.Dims[id].Length
		if length == 0 && i == 0 {
			continue
		}
		if length == 0 {
			// Records are interleaved along one dimension only.
			return 0, readers.Corruptf("dimension %d is the record dimension, which must be the first", i)
		}
		hi, lo := bits.Mul64(size, length)
		if hi != 0 || lo > math.MaxInt64 {
			return 0, readers.Corruptf("shape takes more than 2^63 bytes")
		}
		size = lo
	}
	return size, nil
}

// records computes the distance between records, and their number.
func (h *Header) records(fileSize int64) records {
	r := records{count: h.NumRecs}
	if h.Err != nil {
		r.err = readers.Corruptf("positions of records are unknown, because not all variables are known: %w", h.Err)
	}
	n, last := 0, uint64(0)
	for i := range h.Vars {
		v := &h.Vars[i]
		size, err := h.slabSize(v)
		switch {
		case err != nil && (len(v.DimIDs) == 0 || v.DimIDs[0] >= uint64(len(h.Dims)) || h.isRecord(v)):
			r.err = readers.Corruptf("positions of records are unknown: variable %q: %w", v.Name, err)
		case err == nil && h.isRecord(v):
			// The padding depends on whether there is a second record variable.
			n, last = n+1, size
			r.add(size)
		}
	}
	if n == 1 {
		r.size = last // a single record variable is not padded
	}
	if h.Streaming {
		r.count = h.countRecords(r, fileSize)
	}
	return r
}

// add adds the slab of one variable to the size of a record.
func (r *records) add(size uint64) {
	sum := r.size + size + -size%4
	if sum < r.size || sum > math.MaxInt64 {
		r.err = readers.Corruptf("record takes more than 2^63 bytes")
		return
	}
	r.size = sum
}

// countRecords returns the number of records in which every variable is complete.
func (h *Header) countRecords(r records, fileSize int64) uint64 {
	if r.err != nil || r.size == 0 {
		return 0
	}
	count := uint64(math.MaxUint64)
	for i := range h.Vars {
		v := &h.Vars[i]
		if !h.isRecord(v) {
			continue
		}
		size, err := h.slabSize(v)
		if err != nil || v.Begin > uint64(fileSize) || size > uint64(fileSize)-v.Begin {
			return 0
		}
		count = min(count, (uint64(fileSize)-v.Begin-size)/r.size+1)
	}
	return count
}

// place returns the position of a variable's values, which may be beyond the end of the file.
func (h *Header) place(v *Var, r records) slab {
	s := slab{count: 1}
	if s.size, s.err = h.slabSize(v); s.err != nil {
		return s
	}
	if h.isRecord(v) {
		s.count, s.stride, s.err = r.count, r.size, r.err
	}
	hi, span := bits.Mul64(s.stride, s.count)
	over := hi != 0 || v.Begin > math.MaxInt64-s.size || span > math.MaxInt64-s.size-v.Begin
	if s.err == nil && over {
		s.err = readers.Corruptf("%d runs of %d bytes from offset %d, %d apart, extend beyond 2^63", s.count, s.size, v.Begin, s.stride)
	}
	s.begin = int64(v.Begin)
	return s
}

// checkBounds returns an error if values overlap the header or extend beyond the file.
func (h *Header) checkBounds(s slab, fileSize int64) error {
	switch {
	case s.bytes() == 0:
		return nil
	case s.begin < h.Size && h.Err == nil:
		return readers.Corruptf("values start at offset %d, inside the header of %d bytes", s.begin, h.Size)
	case s.end() <= uint64(fileSize):
		return nil
	case s.count == 1:
		return readers.Corruptf("file is truncated: values end at offset %d, but the file at %d; fetch it again", s.end(), fileSize)
	}
	whole := uint64(0)
	if room := fileSize - s.begin; room >= int64(s.size) {
		whole = (uint64(room)-s.size)/s.stride + 1
	}
	return readers.Corruptf("file is truncated: values end at offset %d, but the file at %d; %d of %d records are complete",
		s.end(), fileSize, whole, s.count)
}

// Misplaced returns the reason why netcdf-c rejects a file: it requires values in the order of the
// variables without overlap, and those with records after all others.
func (h *Header) Misplaced() error {
	end := uint64(h.Size)
	for _, records := range []bool{false, true} {
		for i := range h.Vars {
			v := &h.Vars[i]
			size, err := h.slabSize(v)
			if err != nil || h.isRecord(v) != records {
				continue
			}
			if v.Begin < end {
				return readers.Corruptf("values of %q start at offset %d, before the end of other values at %d", v.Name, v.Begin, end)
			}
			if v.Begin > math.MaxInt64 || size > math.MaxInt64-3-v.Begin {
				return readers.Corruptf("values of %q extend beyond 2^63", v.Name)
			}
			end = v.Begin + size + -size%4
		}
	}
	return nil
}

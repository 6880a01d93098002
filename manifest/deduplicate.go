package manifest

import (
	"crypto/sha256"
	"slices"
)

// SharedVariables deduplicates equal variables of headers. Often each file has a header of its own
// that differs in one variable of many: the time, whose units contain the first date of the file. Such a
// header should need only the memory of that variable. It is not safe for concurrent use.
type SharedVariables struct {
	first []*Variable // the variables of the first header, not hashed yet; nil after the second header
	bySum map[[sha256.Size]byte]*Variable
	last  map[string]*Variable // the last new variable of each path
}

// Share replaces the variables of a header by equal variables of earlier headers, and remembers the others. It changes
// only variables that it remembers: they share equal parts with earlier ones.
// Variables of one header never equal each other, since their paths differ, so the first header is
// hashed only when Share is called for a second one.
func (x *SharedVariables) Share(h *Header) {
	if x.bySum == nil {
		if x.first == nil {
			x.first = h.Variables
			return
		}
		x.bySum, x.last = make(map[[sha256.Size]byte]*Variable, len(x.first)), make(map[string]*Variable, len(x.first))
		for _, v := range x.first {
			x.bySum[v.Sum()], x.last[v.Path] = v, v
		}
		x.first = nil
	}
	for i, v := range h.Variables {
		sum := v.Sum()
		if x.bySum[sum] == nil {
			v.shareParts(x.last[v.Path])
			x.bySum[sum], x.last[v.Path] = v, v
		}
		h.Variables[i] = x.bySum[sum]
	}
}

// shareParts replaces parts of a new variable by equal parts of another variable, which may be nil: usually all but some
// values of attributes.
func (v *Variable) shareParts(like *Variable) {
	v.Attributes = slices.Clone(v.Attributes) // without spare capacity
	if like == nil {
		return
	}
	v.Path = like.Path
	if slices.Equal(v.Dims, like.Dims) {
		v.Dims = like.Dims
	}
	if slices.Equal(v.Shape, like.Shape) {
		v.Shape = like.Shape
	}
	if string(v.appendStored(nil)) == string(like.appendStored(nil)) {
		v.Storage, v.Enum = like.Storage, like.Enum
	}
	if string(v.Fill.Value) == string(like.Fill.Value) && v.Fill.Value != nil && like.Fill.Value != nil {
		v.Fill.Value = like.Fill.Value
	}
	for i := range min(len(v.Attributes), len(like.Attributes)) {
		if a, b := &v.Attributes[i], &like.Attributes[i]; a.Name == b.Name {
			a.Name = b.Name
			if string(appendAttribute(nil, *a)) == string(appendAttribute(nil, *b)) {
				*a = *b
			}
		}
	}
}

// Shared deduplicates the parts of scans that have IDs and are often equal in many files: headers and their
// variables, group attributes, and values. It is not safe for concurrent use.
type Shared struct {
	headers   map[string]*FileHeader
	groups    map[string]*FileGroups
	values    map[string]*Values
	ofHeaders fileHeaders
	ofGroups  fileGroups
}

// NewShared returns an empty Shared.
func NewShared() *Shared {
	return &Shared{headers: map[string]*FileHeader{}, groups: map[string]*FileGroups{}, values: map[string]*Values{}}
}

// Header returns the FileHeader of a header with an ID. Headers with equal IDs have the same one. If h is the first header of
// its form (see formOf), it becomes the base of later ones: Header calls ready before that, unless ready is nil, and may
// replace variables of h by equal ones of earlier headers. Otherwise nothing of h is kept.
func (s *Shared) Header(h *Header, ready func()) *FileHeader {
	known := s.headers[h.ID]
	if known == nil {
		known = s.ofHeaders.share(h, ready)
		s.headers[known.ID] = known
	}
	return known
}

// Groups returns the FileGroups of group attributes with an ID. Attributes with equal IDs have the same one. If g has the
// first attributes of their form, it becomes the base of later ones: Groups calls ready before that, unless ready is nil.
// Otherwise nothing of g is kept.
func (s *Shared) Groups(g *GroupAttributes, ready func()) *FileGroups {
	known := s.groups[g.ID]
	if known == nil {
		known = s.ofGroups.share(g, ready)
		s.groups[known.ID] = known
	}
	return known
}

// Values returns earlier values with the ID of v, or v itself if there are none.
func (s *Shared) Values(v *Values) *Values {
	if same := s.values[v.ID]; same != nil {
		return same
	}
	s.values[v.ID] = v
	return v
}

// Sum returns a hash of the variable. Equal variables have equal hashes.
func (v *Variable) Sum() [sha256.Size]byte {
	buf := keys.Get().(*[]byte)
	*buf = v.appendKey((*buf)[:0])
	sum := sha256.Sum256(*buf)
	keys.Put(buf)
	return sum
}

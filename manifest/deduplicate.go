package manifest

import "crypto/sha256"

// SharedVariables deduplicates equal variables of headers. Often each file has a header of its own
// that differs in one variable of many: the time, whose units say when the file begins. Such a header
// should cost only the memory of that variable. It is not safe for concurrent use.
type SharedVariables struct { // the variables of the only header so far, not hashed yet
	first []*Variable // of the only header so far; nobody has asked for equal ones
	bySum map[[sha256.Size]byte]*Variable
}

// Share replaces the variables of a header by equal ones that it has seen, and remembers the new ones.
// Variables of one header never equal each other, since their paths differ, so the first header is
// hashed only when a second one comes.
func (x *SharedVariables) Share(h *Header) {
	if x.bySum == nil {
		if x.first == nil {
			x.first = h.Variables
			return
		}
		x.bySum = make(map[[sha256.Size]byte]*Variable, len(x.first))
		for _, v := range x.first {
			x.bySum[v.Sum()] = v
		}
		x.first = nil
	}
	for i, v := range h.Variables {
		sum := v.Sum()
		if x.bySum[sum] == nil {
			x.bySum[sum] = v
		}
		h.Variables[i] = x.bySum[sum]
	}
}

// Shared deduplicates everything with an ID that files have in common: headers and their variables,
// group attributes, and values. It is not safe for concurrent use.
type Shared struct {
	headers   map[string]*Header
	groups    map[string]*GroupAttributes
	values    map[string]*Values
	variables SharedVariables
}

// NewShared returns an empty Shared.
func NewShared() *Shared {
	return &Shared{headers: map[string]*Header{}, groups: map[string]*GroupAttributes{}, values: map[string]*Values{}}
}

// Header returns the header with h's ID that it has seen, or h itself if it is new. It calls ready,
// unless that is nil, before it remembers a new header.
func (s *Shared) Header(h *Header, ready func()) *Header {
	return findOrAdd(s.headers, h.ID, h, func() {
		if ready != nil {
			ready()
		}
		s.variables.Share(h)
	})
}

// Groups does for group attributes what Header does for headers.
func (s *Shared) Groups(g *GroupAttributes, ready func()) *GroupAttributes {
	return findOrAdd(s.groups, g.ID, g, ready)
}

// Values does for values what Header does for headers.
func (s *Shared) Values(v *Values) *Values { return findOrAdd(s.values, v.ID, v, nil) }

// findOrAdd returns the value that known has for the ID, or adds v.
func findOrAdd[T any](known map[string]*T, id string, v *T, ready func()) *T {
	if same := known[id]; same != nil {
		return same
	}
	if ready != nil {
		ready()
	}
	known[id] = v
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

package manifest

import "crypto/sha256"

// SharedVariables keeps one of all variables that are equal. Where each file has a header of its
// own, since the units of its times say when it begins, headers differ in one variable of many, and
// that is what one more of them should take in memory. It is for one goroutine at a time.
type SharedVariables struct {
	first []*Variable // of the only header so far; nobody has asked for equal ones
	bySum map[[sha256.Size]byte]*Variable
}

// Share has the variables of a header be those that are kept, and keeps the ones that are new. Those of
// one header differ, if in no more than their paths, and are not compared before there is another.
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

// Shared keeps one of all that files hold and is equal, which is what has the same ID: of headers and
// their variables, of the attributes of groups, and of values. It is for one goroutine at a time.
type Shared struct {
	headers   map[string]*Header
	groups    map[string]*GroupAttributes
	values    map[string]*Values
	variables SharedVariables
}

// NewShared returns one that keeps nothing yet.
func NewShared() *Shared {
	return &Shared{headers: map[string]*Header{}, groups: map[string]*GroupAttributes{}, values: map[string]*Values{}}
}

// Header returns the header that is kept of those that have an ID. It is h if there was none; ready,
// if it is not nil, is called before that is kept.
func (s *Shared) Header(h *Header, ready func()) *Header {
	return kept(s.headers, h.ID, h, func() {
		if ready != nil {
			ready()
		}
		s.variables.Share(h)
	})
}

// Groups is Header for the attributes of groups.
func (s *Shared) Groups(g *GroupAttributes, ready func()) *GroupAttributes {
	return kept(s.groups, g.ID, g, ready)
}

// Values is Header for values, which are kept as they are.
func (s *Shared) Values(v *Values) *Values { return kept(s.values, v.ID, v, nil) }

func kept[T any](known map[string]*T, id string, v *T, ready func()) *T {
	if same := known[id]; same != nil {
		return same
	}
	if ready != nil {
		ready()
	}
	known[id] = v
	return v
}

// Sum is a hash of the variable: equal ones have the same.
func (v *Variable) Sum() [sha256.Size]byte {
	buf := keys.Get().(*[]byte)
	*buf = v.appendKey((*buf)[:0])
	sum := sha256.Sum256(*buf)
	keys.Put(buf)
	return sum
}

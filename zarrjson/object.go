package zarrjson

import (
	"slices"
	"strings"
)

// object is a JSON object whose members are taken one by one, so that what nobody
// took can be refused, kept or dropped.
type object struct {
	path    string
	raw     []byte // all of it; nil if it was absent
	members []member
}

type member struct {
	name string
	raw  []byte
}

// at returns the value of a member. Paths are made for what is asked for only, since
// a document can have many members under a long path.
func (o *object) at(m member) value { return value{m.raw, join(o.path, abbreviate(m.name))} }

// object reads an object one level deep.
func (v value) object(allowed string) (*object, error) {
	if !v.is('{') {
		return nil, v.refuse(allowed)
	}
	o := &object{path: v.path, raw: v.raw}
	for m := range spans(v.raw) {
		o.members = append(o.members, member{m.key(v.raw), v.raw[m.value:m.end]})
	}
	return o, nil
}

// byName returns the members for many look-ups.
func (o *object) byName() map[string][]byte {
	values := make(map[string][]byte, len(o.members))
	for _, m := range o.members {
		values[m.name] = m.raw
	}
	return values
}

// take removes a member and returns its value.
func (o *object) take(name string) (value, bool) {
	i := slices.IndexFunc(o.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return value{}, false
	}
	v := o.at(o.members[i])
	o.members = slices.Delete(o.members, i, i+1)
	return v, true
}

// need takes a member that must be there.
func (o *object) need(name string) (value, error) {
	v, ok := o.take(name)
	if !ok {
		return value{}, wrong(join(o.path, name), "missing; it is required")
	}
	return v, nil
}

// text takes a string that must be there.
func (o *object) text(name string) (string, error) {
	v, err := o.need(name)
	if err != nil {
		return "", err
	}
	return v.text()
}

// whole takes an integer that must be there.
func (o *object) whole(name string, lo int64) (int64, error) {
	v, err := o.need(name)
	if err != nil {
		return 0, err
	}
	return v.whole(lo)
}

// literal takes a member that must be there and have one given value.
func (o *object) literal(name, want string) error {
	v, err := o.need(name)
	if err != nil {
		return err
	}
	if string(v.raw) != want {
		return v.refuse(want)
	}
	return nil
}

// rest refuses what nobody took.
func (o *object) rest(allowed string) error {
	if len(o.members) == 0 {
		return nil
	}
	names := make([]string, len(o.members))
	for i, m := range o.members {
		names[i] = m.name
	}
	slices.Sort(names)
	return wrong(join(o.path, abbreviate(names[0])), "unknown field (of %s); allowed are %s", abbreviate(strings.Join(names, ", ")), allowed)
}

// step reads one member of a document.
type step struct {
	name     string
	optional bool
	read     func(value) error
}

// each reads members in the order of the steps.
func (o *object) each(steps []step) error {
	for _, s := range steps {
		v, ok := o.take(s.name)
		if !ok && s.optional {
			continue
		}
		if !ok {
			return wrong(join(o.path, s.name), "missing; it is required")
		}
		if err := s.read(v); err != nil {
			return err
		}
	}
	return nil
}

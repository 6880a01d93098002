package zarrjson

import (
	"slices"
	"strings"
)

// object is a JSON object whose members are taken one by one, so that the remaining ones
// can be refused, kept or ignored.
type object struct {
	path    string
	raw     []byte // the object's text; nil if it was absent
	members []member
}

type member struct {
	name string
	raw  []byte
}

// memberValue returns the value of a member with its path. Paths are made on demand,
// since a document can have many members under a long path.
func (o *object) memberValue(m member) value {
	return value{m.raw, joinPath(o.path, abbreviate(m.name))}
}

// readObject reads an object, one level deep.
func (v value) readObject(allowed string) (*object, error) {
	if !v.startsWith('{') {
		return nil, v.refuse(allowed)
	}
	o := &object{path: v.path, raw: v.raw}
	for m := range spans(v.raw) {
		o.members = append(o.members, member{m.key(v.raw), v.raw[m.value:m.end]})
	}
	return o, nil
}

// byName returns the members as a map, for many look-ups.
func (o *object) byName() map[string][]byte {
	values := make(map[string][]byte, len(o.members))
	for _, m := range o.members {
		values[m.name] = m.raw
	}
	return values
}

// take removes a member and returns its value, if it exists.
func (o *object) take(name string) (value, bool) {
	i := slices.IndexFunc(o.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return value{}, false
	}
	v := o.memberValue(o.members[i])
	o.members = slices.Delete(o.members, i, i+1)
	return v, true
}

// need takes a required member.
func (o *object) need(name string) (value, error) {
	v, ok := o.take(name)
	if !ok {
		return value{}, corruptError(joinPath(o.path, name), "missing; it is required")
	}
	return v, nil
}

// needText takes a required string.
func (o *object) needText(name string) (string, error) {
	v, err := o.need(name)
	if err != nil {
		return "", err
	}
	return v.readText()
}

// needInteger takes a required integer of at least lo.
func (o *object) needInteger(name string, lo int64) (int64, error) {
	v, err := o.need(name)
	if err != nil {
		return 0, err
	}
	return v.readInteger(lo)
}

// needLiteral takes a required member that has only one allowed value.
func (o *object) needLiteral(name, want string) error {
	v, err := o.need(name)
	if err != nil {
		return err
	}
	if string(v.raw) != want {
		return v.refuse(want)
	}
	return nil
}

// refuseRest returns an error if any member has not been taken.
func (o *object) refuseRest(allowed string) error {
	if len(o.members) == 0 {
		return nil
	}
	names := make([]string, len(o.members))
	for i, m := range o.members {
		names[i] = m.name
	}
	slices.Sort(names)
	return corruptError(joinPath(o.path, abbreviate(names[0])), "unknown field (all unknown: %s); allowed: %s", abbreviate(strings.Join(names, ", ")), allowed)
}

// step reads one member of a document.
type step struct {
	name     string
	optional bool
	read     func(value) error
}

// readSteps reads members in the order of the steps, whatever their order in the
// document: later steps may depend on earlier ones.
func (o *object) readSteps(steps []step) error {
	for _, s := range steps {
		v, ok := o.take(s.name)
		if !ok && s.optional {
			continue
		}
		if !ok {
			return corruptError(joinPath(o.path, s.name), "missing; it is required")
		}
		if err := s.read(v); err != nil {
			return err
		}
	}
	return nil
}

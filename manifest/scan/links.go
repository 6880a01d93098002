package scan

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/readers"
)

// What a link leads to in another file is in the source under the path of the link, as if it
// stood there: a variable with storage in another source, or a group with all that is in it.
//
//	source            file that a link names
//	/entry/data_1 ──▶ /entry/data          a variable
//	/scan_1       ──▶ /run/scan            a group
//	/scan_1/y     ──▶ /run/scan/y

// Limits of how much the links of one source lead to, and of how much is looked through for it.
const (
	maxLinked = 1 << 18
	maxSteps  = 1 << 26
)

// addLinked adds what links lead to.
func (r *reading) addLinked(groups *manifest.GroupAttributes) error {
	return r.addLinks(groups, &mount{from: r, at: "/", target: "/", way: []string{r.out.url + "\x00/"}}, r)
}

// addLinks adds what the links of a file lead to, as far as they are in what stands in its place.
func (r *reading) addLinks(groups *manifest.GroupAttributes, m *mount, n *reading) error {
	for _, l := range n.data.Links {
		if !isWithin(l.Path, m.target) {
			continue
		}
		at := m.path(l.Path)
		err := r.addLink(groups, at, l, m, n)
		if err != nil && isReason(err) {
			r.problem(at, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	return r.ctx.Err()
}

// addLink adds what one link of a file leads to.
func (r *reading) addLink(groups *manifest.GroupAttributes, at string, l readers.Link, up *mount, from *reading) error {
	n, err := from.linked(l)
	if n == nil && err == nil {
		err = fmt.Errorf("is %s of the file %q, which is not there: %w", l.Target, l.File, errors.ErrUnsupported)
	}
	if err != nil {
		return err
	}
	m := &mount{from: n, at: at, target: l.Target}
	if m.way = append(slices.Clip(up.way), n.out.url+"\x00"+l.Target); slices.Contains(up.way, m.way[len(up.way)]) {
		return fmt.Errorf("is %s of the file %q, which it is in itself: %w", l.Target, l.File, errors.ErrUnsupported)
	}
	if onward, target := n.onward(l.Target); onward != nil {
		return r.addLink(groups, at, readers.Link{File: onward.File, Target: target}, m, n)
	}
	list, err := r.mounted(groups, m)
	if err != nil {
		return err
	}
	r.steps += len(n.data.Problems) + len(n.data.Links)
	if r.steps > maxSteps || len(r.header.Variables)+len(list)+len(groups.Groups) > maxLinked {
		return fmt.Errorf("links lead to more than %d groups and variables: %w", maxLinked, errors.ErrUnsupported)
	}
	// What cannot be told by refs is kept, and belongs to this version of the file.
	if _, err := r.others.named(&readers.Other{Source: n.out.url}); err != nil {
		return err
	}
	for _, p := range n.data.Problems {
		if isWithin(p.Path, l.Target) {
			if !isReason(p.Err) {
				return p.Err
			}
			r.problem(m.path(p.Path), p.Err)
		}
	}
	r.through = n
	for _, v := range list {
		if err := r.add(v); err != nil {
			return fmt.Errorf("%s: %w", v.Path, err)
		}
	}
	r.through = nil
	return r.addLinks(groups, m, n)
}

// problem notes that what is at a path is not understood.
func (r *reading) problem(at string, err error) {
	if r.problems == nil {
		r.problems = map[string]error{}
	}
	r.problems[at] = err
}

// linked opens the file that a link leads into. There need not be one.
func (r *reading) linked(l readers.Link) (*reading, error) {
	n, err := r.neighbour(l.File)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, fmt.Errorf("is %s of %q: %w", l.Target, l.File, err)
	case n == nil || err != nil:
		return nil, err
	case n.near.depth > maxNesting:
		return nil, fmt.Errorf("links lead to others more than %d times: %w", maxNesting, errors.ErrUnsupported)
	}
	return n, nil
}

// locate returns the variable at a path, and the file that it is in if links lead there. There
// need not be one.
func (r *reading) locate(at string) (v *readers.Variable, through *reading, err error) {
	if v, _ = r.find(at); v != nil {
		return v, nil, r.problemOf(v)
	}
	if l, target := r.onward(at); l != nil {
		return r.beyond(l, target, (*reading).locate)
	}
	return nil, nil, nil
}

// named is locate of what a mapping names.
func (r *reading) named(name string) (v *readers.Variable, through *reading, err error) {
	if r.data.Named == nil {
		return r.locate("/" + strings.Trim(name, "/"))
	}
	v, l, err := r.data.Named(name)
	switch {
	case err != nil:
		return nil, nil, err
	case l != nil:
		return r.beyond(l, l.Target, (*reading).named)
	case v == nil:
		return nil, nil, nil
	}
	return v, nil, r.problemOf(v)
}

// problemOf returns why a variable cannot be read.
func (r *reading) problemOf(v *readers.Variable) error {
	for _, p := range r.data.Problems {
		if p.Path == v.Path {
			return p.Err
		}
	}
	return nil
}

// beyond returns what locate finds at a path of the file that a link leads into.
func (r *reading) beyond(l *readers.Link, target string, locate func(*reading, string) (*readers.Variable, *reading, error)) (v *readers.Variable, through *reading, err error) {
	n, err := r.linked(*l)
	if n == nil || err != nil {
		return nil, nil, err
	}
	if v, through, err = locate(n, target); v == nil || err != nil {
		return nil, nil, err
	}
	if through == nil {
		through = n
	}
	return (&mount{from: n, at: l.Path, target: l.Target}).variable(v), through, nil
}

// onward returns the link that is on a path, if there is one, and where it leads on to.
func (r *reading) onward(at string) (l *readers.Link, target string) {
	for i := range r.data.Links {
		if l = &r.data.Links[i]; isWithin(at, l.Path) {
			m := mount{at: l.Target, target: l.Path}
			return l, m.path(at)
		}
	}
	return nil, ""
}

// mount is what a link leads to, standing in the place of the link.
type mount struct {
	from   *reading // the file that it is in
	target string   // where it is in that file
	at     string   // the path of the link
	way    []string // the links that led here, by what they lead to

	dims  map[*readers.Dimension]*readers.Dimension
	taken map[string]bool // paths of dimensions
}

// isWithin reports whether a path is another, or below it.
func isWithin(at, top string) bool {
	rest, ok := strings.CutPrefix(at, strings.TrimSuffix(top, "/"))
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '#')
}

// path is where what is at a path of the file, within the target, stands.
func (m *mount) path(at string) string {
	rest := strings.Trim(strings.TrimPrefix(at, strings.TrimSuffix(m.target, "/")), "/")
	switch {
	case rest == "":
		return m.at
	case rest[0] == '#':
		return m.at + rest
	}
	return strings.TrimSuffix(m.at, "/") + "/" + rest
}

// mounted adds the groups of what a link leads to, and lists its variables.
func (r *reading) mounted(groups *manifest.GroupAttributes, m *mount) ([]*readers.Variable, error) {
	v, g := m.from.find(m.target)
	switch {
	case v != nil:
		return []*readers.Variable{m.variable(v)}, nil
	case g != nil:
		return r.addGroups(groups, m.group(g))
	}
	for _, p := range m.from.data.Problems {
		if p.Path == m.target {
			return nil, p.Err
		}
	}
	return nil, fmt.Errorf("is %s of the file %s, in which there is no such variable or group: %w", m.target, m.from.src.Name(), errors.ErrUnsupported)
}

// group stands a group in its place, with those below it.
func (m *mount) group(g *readers.Group) *readers.Group {
	out := &readers.Group{Path: m.path(g.Path), Attributes: m.attributes(g.Attributes)}
	out.Name = path.Base(out.Path)
	for _, d := range g.Dimensions {
		out.Dimensions = append(out.Dimensions, m.dimension(d))
	}
	for _, v := range g.Variables {
		out.Variables = append(out.Variables, m.variable(v))
	}
	for _, child := range g.Groups {
		out.Groups = append(out.Groups, m.group(child))
	}
	return out
}

// variable stands a variable in its place.
func (m *mount) variable(v *readers.Variable) *readers.Variable {
	out := *v
	out.Path = m.path(v.Path)
	out.Name = path.Base(out.Path)
	out.Dims = make([]*readers.Dimension, len(v.Dims))
	for i, d := range v.Dims {
		out.Dims[i] = m.dimension(d)
	}
	if out.Storage.Source == "" {
		out.Storage.Source = m.from.out.url
	}
	out.Storage.InOrder = false // of refs that are all in another source
	out.Attributes = m.attributes(v.Attributes)
	if v.Type.TellsPaths() {
		m.turnPaths(&out)
	}
	return &out
}

// turnPaths has a variable of paths say where the objects stand.
func (m *mount) turnPaths(v *readers.Variable) {
	if texts := v.Storage.Texts; texts != nil {
		v.Storage.Texts = func(ctx context.Context, stored []byte) ([][]byte, error) {
			list, err := texts(ctx, stored)
			if err != nil {
				return nil, err
			}
			return m.paths(list)
		}
	}
	readAll := v.ReadAll
	v.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		value, err := readAll(ctx, limit)
		if err == nil {
			value.Texts, err = m.paths(value.Texts)
		}
		return value, err
	}
}

// attributes are those of what stands in its place: references to objects say where these stand.
func (m *mount) attributes(list []readers.Attribute) []readers.Attribute {
	own := false
	for i := range list {
		a := list[i]
		if a.Err != nil || a.Type == nil {
			continue
		}
		if a.Type.TellsPaths() {
			a.Texts, a.Err = m.paths(a.Texts)
		} else {
			a.Type, a.Data, a.Err = readers.Retold(a.Type, a.Data, (*readers.Type).TellsPaths, placed, m.place)
		}
		if !own {
			list, own = slices.Clone(list), true
		}
		list[i] = a
	}
	return list
}

// paths are those at which objects of the file stand.
func (m *mount) paths(list [][]byte) ([][]byte, error) {
	out := make([][]byte, len(list))
	for i, text := range list {
		var err error
		if out[i], err = m.place(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// placed is the type of paths in compounds and sequences.
var placed = &readers.Type{Class: readers.VarLen, IsText: true, UTF8: true, Size: 8, Tag: readers.PathTag}

// place is the path at which an object of the file stands; none for none.
func (m *mount) place(at []byte) ([]byte, error) {
	switch {
	case len(at) == 0:
		return nil, nil
	case !isWithin(string(at), m.target):
		return nil, fmt.Errorf("it refers to %s of the other file, which is not within what the link leads to: %w", at, errors.ErrUnsupported)
	}
	return []byte(m.path(string(at))), nil
}

// dimension stands a dimension in its place. One of a group above the target belongs to what
// stands for this.
func (m *mount) dimension(d *readers.Dimension) *readers.Dimension {
	if out := m.dims[d]; out != nil {
		return out
	}
	if m.dims == nil {
		m.dims, m.taken = map[*readers.Dimension]*readers.Dimension{}, map[string]bool{}
	}
	out := *d
	if isWithin(d.Path, m.target) {
		out.Path = m.path(d.Path)
	} else {
		out.Anonymous = true
		out.Path = m.at + "#" + d.Name
		for i := 1; m.taken[out.Path]; i++ {
			out.Path = fmt.Sprintf("%s#%s_%d", m.at, d.Name, i)
		}
	}
	m.dims[d], m.taken[out.Path] = &out, true
	return &out
}

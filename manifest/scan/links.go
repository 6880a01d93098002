package scan

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"varve/readers"
)

// The target of a link into another file gets the path of the link. It is a variable, whose storage is in the
// other source, or a group with everything in it.
//
//	source            file that a link names
//	/entry/data_1 ──▶ /entry/data          a variable
//	/scan_1       ──▶ /run/scan            a group
//	/scan_1/y     ──▶ /run/scan/y

// Limits of the objects that links of one source add, and of the search for them.
const (
	maxLinked = 1 << 18
	maxSteps  = 1 << 26
)

// addLinked adds the targets of links.
func (r *reading) addLinked() error {
	return r.addLinks(&mount{from: r.opened, at: "/", target: "/", way: []string{r.url + "\x00/"}}, r.opened)
}

// addLinks adds the targets of a file's links that are within the mounted object.
func (r *reading) addLinks(m *mount, n *opened) error {
	for _, l := range n.data.Links {
		if !isWithin(l.Path, m.target) {
			continue
		}
		at := m.path(l.Path)
		err := r.addLink(at, l, m, n)
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

// addLink adds the target of one link.
func (r *reading) addLink(at string, l readers.Link, up *mount, from *opened) error {
	n, err := from.linked(l)
	if n == nil && err == nil {
		err = fmt.Errorf("links to %s of the file %q, which does not exist: %w", l.Target, l.File, errors.ErrUnsupported)
	}
	if err != nil {
		return err
	}
	m := &mount{from: n, at: at, target: n.names.path(l.Target)}
	// A link to a group that contains the link would repeat forever.
	if m.way = append(slices.Clip(up.way), n.url+"\x00"+l.Target); slices.Contains(up.way, m.way[len(up.way)]) {
		return fmt.Errorf("links to %s of the file %q, which contains the link itself: %w", l.Target, l.File, errors.ErrUnsupported)
	}
	if onward, target := n.onward(m.target); onward != nil {
		return r.addLink(at, readers.Link{File: onward.File, Target: target}, m, n)
	}
	list, err := r.mounted(m)
	if err != nil {
		return err
	}
	r.steps += len(n.data.Problems) + len(n.data.Links)
	if r.steps > maxSteps || len(r.header.Variables)+len(list)+len(r.groups) > maxLinked {
		return fmt.Errorf("links lead to more than %d groups and variables: %w", maxLinked, errors.ErrUnsupported)
	}
	// Record the version of the file, because the manifest stores the values that refs cannot describe.
	if _, err := r.other(&readers.Other{Source: n.url}); err != nil {
		return err
	}
	for _, p := range n.data.Problems {
		if !isWithin(p.Path, m.target) {
			continue
		}
		i := slices.IndexFunc(list, func(v *readers.Variable) bool { return v.Path == m.path(p.Path) })
		if i < 0 {
			err = r.note(m.path(p.Path), nil, p.Err)
		} else {
			err = r.note(list[i].Path, list[i], p.Err)
		}
		if err != nil {
			return err
		}
	}
	for _, v := range list {
		if err := r.add(v, n, nil); err != nil {
			return fmt.Errorf("%s: %w", v.Path, err)
		}
	}
	return r.addLinks(m, n)
}

// problem records that the object at a path cannot be read.
func (r *reading) problem(at string, err error) {
	if r.problems == nil {
		r.problems = map[string]error{}
	}
	r.problems[at] = err
}

// mount is the target of a link at the path of the link.
type mount struct {
	from   *opened  // the file that contains the target
	target string   // path of the target in that file
	at     string   // the path of the link
	way    []string // targets of all links from the source to this one

	dims  map[*readers.Dimension]*readers.Dimension
	taken map[string]bool // paths of dimensions
}

// isWithin reports whether a path is top or below it.
func isWithin(at, top string) bool {
	rest, ok := strings.CutPrefix(at, strings.TrimSuffix(top, "/"))
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '#')
}

// path returns the mounted path of an object within the target.
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

// mounted adds the groups of the target of a link, and returns its variables.
func (r *reading) mounted(m *mount) ([]*readers.Variable, error) {
	v, g := m.from.find(m.target)
	switch {
	case v != nil:
		return []*readers.Variable{m.variable(v)}, nil
	case g != nil:
		return r.addGroups(m.group(g))
	}
	for _, p := range m.from.data.Problems {
		if isWithin(m.target, p.Path) {
			return nil, p.Err
		}
	}
	return nil, fmt.Errorf("links to %s of the file %s, which has no such variable or group: %w", m.target, m.from.src.Name(), errors.ErrUnsupported)
}

// group returns a group with its mounted paths, and all groups below it.
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

// variable returns a variable with its mounted paths.
func (m *mount) variable(v *readers.Variable) *readers.Variable {
	out := *v
	out.Path = m.path(v.Path)
	out.Name = path.Base(out.Path)
	out.Dims = make([]*readers.Dimension, len(v.Dims))
	for i, d := range v.Dims {
		out.Dims[i] = m.dimension(d)
	}
	out.Candidates = slices.Clone(v.Candidates)
	for i, like := range v.Candidates {
		out.Candidates[i] = make([]*readers.Dimension, len(like))
		for k, d := range like {
			out.Candidates[i][k] = m.dimension(d)
		}
	}
	if out.Storage.Source == "" {
		out.Storage.Source = m.from.url
	}
	out.Storage.InOrder = false // all refs are in another source
	out.Attributes = m.attributes(v.Attributes)
	if v.Type.IsPath() {
		m.turnPaths(&out)
	}
	return &out
}

// turnPaths changes a variable whose values are paths of objects: it then returns the mounted paths.
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

// attributes returns attributes in which references to objects are mounted paths.
func (m *mount) attributes(list []readers.Attribute) []readers.Attribute {
	own := false
	for i := range list {
		a := list[i]
		if a.Err != nil || a.Type == nil {
			continue
		}
		if a.Type.IsPath() {
			a.Texts, a.Err = m.paths(a.Texts)
		} else {
			a.Type, a.Data, a.Err = readers.ReplaceWithText(a.Type, a.Data, (*readers.Type).IsPath, placed, m.place)
		}
		if !own {
			list, own = slices.Clone(list), true
		}
		list[i] = a
	}
	return list
}

// paths returns the mounted paths of objects.
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

// placed is the type of mounted paths in compounds and sequences.
var placed = &readers.Type{Class: readers.VarLen, IsText: true, UTF8: true, Size: 8, Tag: readers.PathTag}

// place returns the mounted path of an object; an empty path stays empty.
func (m *mount) place(at []byte) ([]byte, error) {
	switch {
	case len(at) == 0:
		return nil, nil
	case !isWithin(string(at), m.target):
		return nil, fmt.Errorf("refers to %s of the other file, which is outside the link's target: %w", at, errors.ErrUnsupported)
	}
	return []byte(m.path(string(at))), nil
}

// dimension returns a dimension with its mounted path. A dimension of a group above the target becomes
// anonymous, next to the target.
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

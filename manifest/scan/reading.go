package scan

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"varve/codec"
	"varve/manifest"
	"varve/readers"
	"varve/readers/source"
)

// reading collects everything that a manifest stores about a source, including the targets of its links.
type reading struct {
	*account
	groups   []manifest.Group
	problems map[string]error // objects that cannot be read, by path
	steps    int              // steps taken to follow links
	damage   damage
	used     map[*readers.Dimension]bool // dimensions of wanted variables; nil until needed
}

// named returns the name of a source in a manifest, and the name to open it by.
func (s *scanner) named(name string) (url, open string, err error) {
	if url = URLOf(name, s.KeepQuery...); !source.IsURL(name) {
		return url, name, nil
	}
	if !s.Opener.Remembers(name) {
		if _, err = s.Opener.Remember(name, s.KeepQuery); err != nil {
			return url, name, sameName(err)
		}
	}
	if s.Opener.Remembers(url) {
		name = url
	}
	return url, name, nil
}

// sameName adds to a source.SameNameError the options that avoid it.
func sameName(err error) error {
	var same *source.SameNameError
	if !errors.As(err, &same) {
		return err
	}
	advice := manifest.WithRemedy(err, "keep-query", same.Parameters[0])
	for _, p := range same.Parameters[1:] {
		advice.Or("keep-query", p)
	}
	return advice
}

// scan reads a source.
func (s *scanner) scan(ctx context.Context, url, name string, asked request) *found {
	src, err := s.Opener.Open(ctx, name)
	if err != nil {
		return &found{url: url, err: err}
	}
	out, err := s.scanOpen(ctx, src, url, asked)
	if err != nil {
		return &found{url: url, err: err}
	}
	return out
}

// scanOpen reads a source and closes it.
func (s *scanner) scanOpen(ctx context.Context, src *source.Source, url string, asked request) (out *found, err error) {
	defer func() { err = errors.Join(err, src.Close()) }()
	near, memory, err := readWhole(ctx, src)
	if err != nil {
		return nil, err
	}
	if memory != nil {
		defer wholes.Put(memory)
	}
	o := &opened{scanner: s, ctx: ctx, url: url, src: near, trail: trail{named: new([]manifest.Source)}}
	defer func() { err = errors.Join(err, o.closeNeighbours()) }()
	if err = o.load(); err != nil {
		return nil, err
	}
	r := &reading{account: newAccount(o, asked)}
	if err := r.read(); err != nil {
		r.found.refs.free()
		return nil, err
	}
	asked.held.learn(src)
	r.found.points = src.Points()
	return r.found, nil
}

// URLOf returns the name that a scanned source has in a manifest: absolute, because other processes run in other folders,
// and without secrets, because the manifest may be published. keep lists parameters of queries that are no secrets.
func URLOf(name string, keep ...string) string {
	path, err := source.LocalPath(name)
	if err != nil {
		return source.Stored(name, keep)
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// read reads everything that a manifest stores about the dataset.
func (r *reading) read() error {
	if err := r.sortProblems(); err != nil {
		return err
	}
	list, err := r.addGroups(r.data.Root)
	if err != nil {
		return err
	}
	file := r.found.file
	file.Source = identity(r.url, r.src, r.data.Format)
	file.Values = make([]*manifest.Values, 0, len(list))
	if len(list) > 0 {
		r.header.Variables = make([]*manifest.Variable, 0, len(list))
	}
	if err := r.addAll(list); err != nil {
		return err
	}
	if err := r.addLinked(); err != nil {
		return err
	}
	if err := r.damageErr(); err != nil {
		return err
	}
	if err := r.addBeside(); err != nil {
		return err
	}
	r.addNamed()
	r.listProblems()
	file.Groups = r.shared.groups(r.groups)
	file.Header = r.shared.header(r.header)
	file.Bytes = r.handed + r.found.refs.stored
	return r.ctx.Err()
}

// addBeside adds the files of Dataset.Beside to the files that the source names.
func (r *reading) addBeside() error {
	for _, x := range r.data.Beside {
		id, _, err := r.identify(x)
		if err != nil {
			return err
		}
		*r.trail.named = append(*r.trail.named, id)
	}
	return nil
}

// addNamed adds the files that were read although no ref is in them: for values that the manifest stores, or because they name
// further files. If one changes, the source has to be scanned again.
func (r *reading) addNamed() {
	if len(*r.trail.named) == 0 {
		return
	}
	known := map[string]bool{r.url: true}
	for _, o := range r.found.others {
		known[o.URL] = true
	}
	for _, h := range r.found.hidden {
		known[h.url] = true
		for _, o := range h.others {
			known[o.URL] = true
		}
	}
	for _, s := range *r.trail.named {
		if !known[s.URL] {
			known[s.URL] = true
			r.found.others = append(r.found.others, s)
		}
	}
}

func identity(url string, src *source.Source, format string) manifest.Source {
	id := src.Identity()
	return manifest.Source{URL: url, Size: id.Size, Modified: id.Modified, ETag: id.ETag, Format: format}
}

// sortProblems records the objects that the reader could not read.
func (r *reading) sortProblems() error {
	for _, p := range r.data.Problems {
		v, _ := r.find(p.Path)
		if err := r.note(p.Path, v, p.Err); err != nil {
			return err
		}
	}
	return nil
}

// listProblems adds unreadable objects as variables, so that users see why they are missing.
func (r *reading) listProblems() {
	paths := make([]string, 0, len(r.problems))
	for path := range r.problems {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	known := map[string]bool{}
	if len(paths) > 0 {
		for i := range r.header.Variables {
			known[r.header.Variables[i].Path] = true
		}
	}
	for _, path := range paths {
		if known[path] {
			continue
		}
		err := r.problems[path]
		r.header.Variables = append(r.header.Variables, &manifest.Variable{Path: path, Unreadable: reasonOf(err), Elsewhere: elsewhereOf(err), Damaged: isDamage(err)})
		r.found.file.Values = append(r.found.file.Values, nil)
	}
}

// addGroups adds a group with all groups below it, and returns their variables.
func (r *reading) addGroups(root *readers.Group) (list []*readers.Variable, failed error) {
	root.Walk(func(g *readers.Group) bool {
		failed = errors.Join(failed, r.noteAttributes(g))
		r.groups = append(r.groups, manifest.Group{Path: g.Path, Attributes: attributes(g.Attributes)})
		for _, d := range g.Dimensions {
			r.addDimension(d)
		}
		list = append(list, g.Variables...)
		return true
	})
	return list, failed
}

// add adds a variable with its refs and values.
func (r *reading) add(v *readers.Variable, in *opened, ahead *prepared) error {
	e := r.entry(v, in, ahead)
	e.by = r
	var values *manifest.Values
	inline, hidden := len(r.found.inline), len(r.found.hidden)
	err := r.problems[v.Path]
	if err == nil {
		err = e.store()
	}
	if err == nil {
		values, err = e.values()
	}
	if err == nil && e.out.Type.Kind == codec.String && !isUTF8(values) {
		e.out.Type.Kind = codec.Bytes
	}
	if err != nil {
		// Undo everything that was added before the error; the variable becomes unreadable.
		if err := r.note(v.Path, v, err); err != nil {
			return err
		}
		r.found.refs.cut(min(e.first, r.found.refs.len()))
		r.found.inline, r.found.hidden = r.found.inline[:inline], r.found.hidden[:hidden]
		delete(r.found.file.Parts, e.number)
		e.out.Unreadable, e.out.Elsewhere, e.out.Damaged, e.out.Storage = reasonOf(err), elsewhereOf(err), isDamage(err), manifest.Storage{}
		values, err = nil, nil
	}
	out := e.out // a copy, so that the rest of the entry can be freed
	r.header.Variables = append(r.header.Variables, &out)
	r.found.file.Values = append(r.found.file.Values, values)
	return err
}

// isUTF8 reports whether all texts are UTF-8, which Zarr strings require. Unknown values count as UTF-8.
func isUTF8(values *manifest.Values) bool {
	return values == nil || !slices.ContainsFunc(values.Texts, func(t []byte) bool { return !utf8.Valid(t) })
}

// isReason reports whether an error affects only one variable.
func isReason(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, source.ErrForbidden)
}

// reasonOf returns the text of an error without the file name, so that the same problem has the same text in
// all files.
func reasonOf(err error) string {
	if located, ok := err.(*readers.Error); ok {
		err = located.Err
	}
	text := err.Error()
	for _, mark := range []error{errors.ErrUnsupported, source.ErrForbidden} {
		text = strings.TrimSuffix(text, ": "+mark.Error())
	}
	return text
}

// elsewhereOf returns the folder or the server that the user must allow, or "" if an error has another cause.
func elsewhereOf(err error) string {
	var address *source.AddressError
	if errors.As(err, &address) {
		return address.Place()
	}
	if name := forbidden(""); errors.As(err, &name) {
		return name.folder()
	}
	return ""
}

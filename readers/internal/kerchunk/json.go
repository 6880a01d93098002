package kerchunk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"varve/readers"
	"varve/readers/internal/zarrtree"
	"varve/readers/source"
)

// Limits of an index.
const (
	maxDocuments = 256 << 20 // bytes of all documents
	maxPrefixes  = 1 << 16
	maxExtents   = 64 // of one prefix
)

// extent is the range of the text from the start of a name to the end of a value.
type extent struct{ start, end int64 }

// index is the result of one pass over the text: the documents, and the positions of each array's
// entries. An array with entries in many places has one extent that also covers other entries.
type index struct {
	templates templates
	version   string
	gens      []generator
	sources   map[string]version

	flat, refs table
	isNested   bool // the set has a member "refs"
}

// table is an index of the entries of one object.
type table struct {
	documents zarrtree.Collector
	bytes     int                 // size of the documents
	extents   map[string][]extent // by the hint of their keys
	rest      extent              // entries of other prefixes, if there are too many
}

// hint removes the trailing parts of a key that can belong to a chunk's name. The result is the
// same for all chunks of an array and for the array's path.
func hint(key string) string {
	for key != "" {
		cut := strings.LastIndexByte(key, '/')
		if !isLikeChunk(key[cut+1:]) {
			break
		}
		key = key[:max(cut, 0)]
	}
	return key
}

func isLikeChunk(name string) bool {
	if name == "c" {
		return true
	}
	for _, c := range []byte(strings.TrimPrefix(name, "c.")) {
		if c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// buildIndex reads the whole text.
func buildIndex(ctx context.Context, src *source.Source) (*index, error) {
	x := &index{}
	s := newScanner(ctx, src, 0, src.Size())
	s.want('{')
	s.members(func(name string) { x.member(s, name) })
	if s.err == nil && !s.isAtEnd() {
		s.fail("text follows the references")
	}
	if s.err != nil {
		return nil, s.err
	}
	if err := x.check(); err != nil {
		return nil, &readers.Error{Source: src.Name(), Path: "/", Offset: -1, Err: err}
	}
	return x, nil
}

// members calls read at the value of each member of the open object.
func (s *scanner) members(read func(name string)) {
	for first := true; s.err == nil; first = false {
		name, ok := s.next(first)
		if !ok || s.err != nil {
			return
		}
		read(name)
	}
}

// member reads a member of the outermost object.
func (x *index) member(s *scanner, name string) {
	c := s.peek()
	switch {
	case name == "refs" && c == '{':
		x.isNested = true
		s.pos++
		s.members(func(key string) { x.refs.add(s, key) })
	case name == "version" && c != '"' && c != '[' && c != '{':
		x.version = string(s.capture())
	case name == "templates" && c == '{':
		var err error
		if x.templates, err = parseTemplates(s.capture()); err != nil && s.err == nil {
			s.err = err
		}
	case name == "sources" && c == '{':
		raw := s.capture()
		if s.err == nil {
			x.sources, s.err = parseVersions(raw)
		}
	case name == "gen" && c == '[':
		raw := s.capture()
		if s.err == nil {
			var err error
			if x.gens, err = parseGenerators(raw); err != nil {
				s.err = &readers.Error{Source: s.src.Name(), Offset: -1, Err: err}
			}
		}
	default:
		x.flat.add(s, name)
	}
}

func (x *index) check() error {
	switch {
	case x.version != "" && x.version != "0" && x.version != "1":
		return fmt.Errorf("references of version %.20s (supported: 0 and 1): %w", x.version, errors.ErrUnsupported)
	// Version 1 has members besides "refs".
	case x.version == "1" && !x.isNested:
		return readers.Corruptf(`references of version 1 have no "refs"`)
	}
	return nil
}

// entries returns the references. In version 0 they are members of the outermost object.
func (x *index) entries() *table {
	if x.isNested {
		return &x.refs
	}
	return &x.flat
}

// add reads one entry.
func (t *table) add(s *scanner, key string) {
	start := s.entry
	if !zarrtree.IsDocument(key) {
		s.skip()
		t.extend(hint(key), extent{start, s.offset()})
		return
	}
	raw := s.capture()
	if s.err != nil {
		return
	}
	doc, err := document(raw)
	if err != nil {
		doc = []byte(string(raw)) // not a document either; the parser of documents reports that
	}
	t.documents.Add(key, doc)
	if t.bytes += len(doc); t.bytes > maxDocuments {
		s.err = fmt.Errorf("%s: metadata take more than %d bytes: %w", s.src.Name(), maxDocuments, errors.ErrUnsupported)
	}
}

// extend adds an entry to the extents of a prefix.
func (t *table) extend(prefix string, e extent) {
	list, ok := t.extents[prefix]
	if !ok && len(t.extents) >= maxPrefixes {
		if t.rest.end == 0 {
			t.rest.start = e.start
		}
		t.rest.end = e.end
		return
	}
	if t.extents == nil {
		t.extents = map[string][]extent{}
	}
	last := len(list) - 1
	// Only a comma and white space are between two entries of one array.
	if last >= 0 && (e.start-list[last].end < 64 || len(list) == maxExtents) {
		list[last].end = e.end
		return
	}
	t.extents[prefix] = append(list, e)
}

// of returns the positions of an array's entries.
func (t *table) of(path string) []extent {
	if list, ok := t.extents[hint(path)]; ok || t.rest.end == 0 {
		return list
	}
	return []extent{t.rest}
}

// jsonSet is a set of references in a JSON file.
type jsonSet struct {
	src   *source.Source
	index *index
	reach
}

// Refs reads the entries of an array again.
func (s *jsonSet) Refs(ctx context.Context, a *zarrtree.Array) iter.Seq2[*readers.Ref, error] {
	return func(yield func(*readers.Ref, error) bool) {
		l := lookup{ctx: ctx, a: a, places: placer{reach: s.reach, templates: s.index.templates, versions: s.index.sources}, yield: yield}
		l.coords = make([]int64, a.Grid.Rank())
		l.ref.Index = make([]uint64, a.Grid.Rank())
		if a.Path != "" {
			l.prefix = a.Path + "/"
		}
		for _, e := range s.index.entries().of(a.Path) {
			scan := newScanner(ctx, s.src, e.start, e.end)
			if err := l.scan(scan); err != nil {
				if !errors.Is(err, errStopped) {
					yield(nil, err)
				}
				return
			}
		}
		if err := l.generate(s.index.gens); err != nil && !errors.Is(err, errStopped) {
			yield(nil, &readers.Error{Source: s.src.Name(), Path: a.Path, Offset: -1, Err: err})
		}
	}
}

var errStopped = errors.New("stopped")

// lookup finds the refs of one array among entries.
type lookup struct {
	ctx    context.Context
	a      *zarrtree.Array
	prefix string
	places placer
	coords []int64
	ref    readers.Ref
	yield  func(*readers.Ref, error) bool
}

func (l *lookup) scan(s *scanner) error {
	for first := true; !s.isAtEnd(); first = false {
		name, ok := s.next(first)
		if !ok || s.err != nil {
			break
		}
		key, in := strings.CutPrefix(name, l.prefix)
		// The extent may cover entries of other arrays.
		if !in || !l.a.Chunk(key, l.ref.Index, l.coords) {
			s.skip()
			continue
		}
		at := s.entry
		raw := s.capture()
		if s.err != nil {
			break
		}
		if err := l.places.place(&l.ref, raw); err != nil {
			return &readers.Error{Source: s.src.Name(), Path: name, Offset: at, Err: err}
		}
		if !l.yield(&l.ref, nil) {
			return errStopped
		}
	}
	return s.err
}

package hdf5

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"varve/readers"
)

// Kind is the kind of an Object.
type Kind uint8

// The kinds of objects. Links that are not hard links are objects too.
const (
	Unreadable Kind = iota
	GroupObject
	DatasetObject
	TypeObject
	SoftLink
	ExternalLink
	UserLink
	SecondLink // another hard link to an object that is listed under an earlier path
)

// Object is an object at one path of a file.
type Object struct {
	Path       string
	Kind       Kind
	Addr       uint64 // relative to the base address
	Order      int64  // creation order of its link, or -1 if it is not tracked
	Attributes []Attribute
	Dataset    *Dataset      // for DatasetObject
	Type       *readers.Type // for TypeObject
	Target     string        // for links; for SecondLink, the path of the listed object
	File       string        // for ExternalLink
	LinkType   int           // for UserLink
	// Err is the reason why the object, or a part of it, cannot be read. If Kind is Unreadable,
	// only the path is known.
	Err error

	members          []link // for GroupObject, sorted by name
	membersErr       error  // why some members cannot be read
	hasCreationOrder bool   // members have a creation order
}

// MembersErr returns the damage to a group's list of members. libhdf5 lists no members then; a Tree
// lists the readable ones.
func (o *Object) MembersErr() error { return o.membersErr }

// Tree holds all objects of a file.
type Tree struct {
	Objects []*Object // sorted by path
	Root    *Object

	file   *File
	byAddr map[uint64]*Object
}

// At returns the object at an address, or nil.
func (t *Tree) At(addr uint64) *Object { return t.byAddr[addr] }

const (
	maxObjects   = 1 << 22
	maxPathBytes = 1 << 20 // of one path
	// All paths together may take minPathsBytes, and maxPathsFactor times the file's size. A chain of groups has paths
	// whose lengths add up to the square of the number of groups.
	minPathsBytes  = 1 << 20
	maxPathsFactor = 16
)

// walk lists the objects that hard links reach.
type walk struct {
	*Tree
	f        *File
	header   header // of the current object; its memory is reused
	ahead    readAhead
	left     int64           // bytes that further paths may take
	expanded map[uint64]bool // addresses of groups whose members were prefetched ahead
}

// openedObject is the target of a hard link, without its path.
type openedObject struct {
	kind             Kind
	dataset          *Dataset
	typ              *readers.Type
	links            []link
	membersErr       error
	hasCreationOrder bool
	attributes       []Attribute
	err              error
	panicked         any // the value to panic with when the object is taken
}

// pendingLink is a link to follow.
type pendingLink struct {
	path string
	link link
}

// Tree lists all objects of the file. It follows hard links depth first in the order of names, and
// visits each object once. Unreadable objects are listed with the reason.
func (f *File) Tree(ctx context.Context) (*Tree, error) {
	t, err := f.list(ctx)
	if err == nil {
		err = errors.Join(t.growVirtual(ctx, newSourceFiles()), ctx.Err())
	}
	return t, err
}

// list is Tree without the shapes of growing virtual datasets, which depend on other files' trees.
func (f *File) list(ctx context.Context) (*Tree, error) {
	w := &walk{f: f, Tree: &Tree{file: f, byAddr: map[uint64]*Object{}}, ahead: readAhead{of: map[uint64]*pendingObject{}}}
	w.left = minPathsBytes + maxPathsFactor*min(f.src.Size(), math.MaxInt64/2/maxPathsFactor)
	defer w.ahead.workers.Wait() // the owner may close the file after list returns
	todo := []pendingLink{{"/", link{addr: f.super.root, order: -1}}}
	for len(todo) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(w.Objects) >= maxObjects {
			return nil, f.locate("", readers.Corruptf("more than %d objects", maxObjects))
		}
		w.openAhead(ctx, todo)
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w.left -= int64(len(p.path)); w.left < 0 {
			return nil, f.locate("", readers.Corruptf("the paths of all objects are longer than %d bytes and %d times the file together", minPathsBytes, maxPathsFactor))
		}
		children := w.visit(ctx, p)
		w.prefetchHeaders(ctx, children)
		// todo is a stack: with the children reversed, the first one is visited next.
		slices.Reverse(children)
		todo = append(todo, children...)
	}
	w.noteIndexes()
	if w.Root = w.Objects[0]; w.Root.Kind != GroupObject && w.Root.Err == nil {
		w.Root.Err = f.locate("/", &readers.Error{Offset: int64(f.super.root + f.super.base), Err: readers.Corruptf("the root object is not a group")})
	}
	slices.SortStableFunc(w.Objects, func(a, b *Object) int { return strings.Compare(a.Path, b.Path) })
	return w.Tree, nil
}

func (w *walk) visit(ctx context.Context, p pendingLink) []pendingLink {
	o := &Object{Path: p.path, Order: p.link.order}
	w.Objects = append(w.Objects, o)
	switch {
	case p.link.kind == linkDamaged:
		o.Err = w.f.locate(o.Path, p.link.err)
		return nil
	case p.link.kind == linkSoft:
		o.Kind, o.Target = SoftLink, strings.TrimRight(p.link.path, "\x00")
		return nil
	case p.link.kind == linkExternal:
		o.Kind, o.Target, o.File = ExternalLink, p.link.path, p.link.file
		return nil
	case p.link.kind != linkHard:
		o.Kind, o.LinkType = UserLink, p.link.kind
		return nil
	}
	if first := w.byAddr[p.link.addr]; first != nil {
		o.Kind, o.Addr, o.Target = SecondLink, first.Addr, first.Path
		return nil
	}
	o.Addr = p.link.addr
	children, err := w.open(ctx, o)
	o.Err = w.f.locate(o.Path, err)
	if o.Kind != Unreadable {
		// Later hard links to this object become SecondLinks.
		w.byAddr[o.Addr] = o
	}
	return children
}

// open reads the target of a hard link.
func (w *walk) open(ctx context.Context, o *Object) ([]pendingLink, error) {
	x := w.ahead.take(o.Addr)
	if x == nil {
		x = w.f.openObject(ctx, o.Addr, &w.header)
	}
	// A panic in a worker is raised here, where the caller can recover it.
	if x.panicked != nil {
		panic(x.panicked)
	}
	if o.Kind = x.kind; x.kind == Unreadable {
		return nil, x.err
	}
	o.Dataset, o.Type, o.Attributes = x.dataset, x.typ, x.attributes
	if o.Dataset != nil {
		o.Dataset.path = o.Path
	}
	for i := range o.Attributes {
		o.Attributes[i].Err = w.f.locate(o.Path, o.Attributes[i].Err)
	}
	o.members, o.membersErr, o.hasCreationOrder = x.links, w.f.locate(o.Path, x.membersErr), x.hasCreationOrder
	// libhdf5 lists no members if one of them is damaged.
	if i := slices.IndexFunc(x.links, isDamaged); i >= 0 && o.membersErr == nil {
		o.membersErr = w.f.locate(join(o.Path, x.links[i].name), x.links[i].err)
	}
	children, err := memberLinks(o)
	if err == nil {
		err = x.err
	}
	return children, err
}

// openObject reads the object at an address. If only a part of it is damaged, the result has the
// rest and an error.
func (f *File) openObject(ctx context.Context, addr uint64, h *header) *openedObject {
	x := &openedObject{}
	if x.err = f.readHeaderInto(ctx, addr, h); x.err != nil {
		return x
	}
	kind := h.kind()
	switch kind {
	case GroupObject:
		x.links, x.membersErr = f.links(ctx, h)
		x.err, x.hasCreationOrder = x.membersErr, h.ordersLinks()
	case DatasetObject:
		if x.dataset, x.err = f.readDataset(ctx, h); x.err != nil {
			return x
		}
	case TypeObject:
		m, _ := h.find(msgDatatype)
		if x.typ, x.err = f.typeMessage(ctx, m, h); x.err != nil {
			return x
		}
		if _, ok := h.find(msgLayout); ok {
			x.err = readers.Corruptf("object is damaged: it has a data layout but no dataspace")
		}
	default:
		x.err = readers.Corruptf("object is neither a group, a dataset nor a named datatype")
		return x
	}
	x.kind = kind
	var err error
	if x.attributes, err = f.attributes(ctx, h); x.err == nil {
		x.err = err
	}
	return x
}

// memberLinks returns the members of a group as links to follow.
func memberLinks(o *Object) ([]pendingLink, error) {
	base := strings.TrimSuffix(o.Path, "/") + "/"
	children := make([]pendingLink, 0, len(o.members))
	for _, l := range o.members {
		if len(base)+len(l.name) > maxPathBytes {
			return children, readers.Corruptf("path is longer than %d bytes", maxPathBytes)
		}
		children = append(children, pendingLink{base + l.name, l})
	}
	return children, nil
}

// onAllCores calls work with each number below n, in several goroutines unless n is small or the
// source is remote (one goroutine then makes larger requests). A panic in a goroutine is raised in
// the caller.
func (f *File) onAllCores(n int, work func(i int)) {
	if n < fewObjects || f.src.Far() {
		for i := range n {
			work(i)
		}
		return
	}
	var panicked atomic.Pointer[any]
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+objectsPerTurn-1)/objectsPerTurn) {
		workers.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(&p)
				}
			}()
			for from := 0; from < n; {
				from = int(next.Add(objectsPerTurn)) - objectsPerTurn
				for i := from; i < min(from+objectsPerTurn, n); i++ {
					work(i)
				}
			}
		})
	}
	workers.Wait()
	if p := panicked.Load(); p != nil {
		panic(*p)
	}
}

// objectsPerTurn is the number of objects that a goroutine takes at a time: objects that are close in the
// file share cached blocks.
const objectsPerTurn = 8

// kind returns the kind of an object by its messages, as libhdf5 does.
func (h *header) kind() Kind {
	_, hasType := h.find(msgDatatype)
	_, hasSpace := h.find(msgDataspace)
	switch {
	case h.isGroup():
		return GroupObject
	case hasType && hasSpace:
		return DatasetObject
	case hasType:
		return TypeObject
	}
	return Unreadable
}

// ordersLinks reports whether a group tracks the creation order of its links.
func (h *header) ordersLinks() bool {
	m, ok := h.find(msgLinkInfo)
	return ok && len(m.data) > 1 && m.data[1]&1 != 0
}

// typeMessage decodes a datatype message, which may be shared.
func (f *File) typeMessage(ctx context.Context, m message, h *header) (*readers.Type, error) {
	c, err := f.cursorOf(ctx, m)
	if err != nil {
		return nil, err
	}
	return readType(&c, h.version > 1)
}

package hdf5

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"varve/readers"
)

// Kind is what an Object is.
type Kind uint8

// The kinds of objects. A link is an object here if it is not a hard link.
const (
	Unreadable Kind = iota
	GroupObject
	DatasetObject
	TypeObject
	SoftLink
	ExternalLink
	UserLink
	SecondLink // a further hard link to an object that is listed under another path
)

// Object is what stands under one path of a file.
type Object struct {
	Path       string
	Kind       Kind
	Addr       uint64 // relative to the base address
	Order      int64  // of creation of its link, -1 where it is not tracked
	Attributes []Attribute
	Dataset    *Dataset      // of a DatasetObject
	Type       *readers.Type // of a TypeObject
	Target     string        // of a link; of a SecondLink, the path it is listed under
	File       string        // of an ExternalLink
	LinkType   int           // of a UserLink
	// Err says why the object, or a part of it, cannot be read. If Kind is Unreadable
	// nothing is known but the path.
	Err error

	members []link // of a GroupObject, by name
	lost    error  // why they cannot all be read
	ordered bool   // members have an order of creation
}

// MembersErr returns why a group's list of members is damaged: libhdf5 lists none of it then. Those
// that could be read are listed in a Tree all the same.
func (o *Object) MembersErr() error { return o.lost }

// Tree is what is in a file.
type Tree struct {
	Objects []*Object // by path
	Root    *Object

	file   *File
	byAddr map[uint64]*Object
}

// At returns the object at an address, or nil.
func (t *Tree) At(addr uint64) *Object { return t.byAddr[addr] }

const (
	maxObjects   = 1 << 22
	maxPathBytes = 1 << 20
)

// walk lists the objects that hard links reach.
type walk struct {
	*Tree
	f      *File
	header header // of the object at hand
	ahead  ahead
}

// opened is what a hard link points at, whatever its path.
type opened struct {
	kind       Kind
	dataset    *Dataset
	typ        *readers.Type
	links      []link
	lost       error
	ordered    bool
	attributes []Attribute
	err        error
	panicked   any // what whoever wants the object is to panic with
}

// pending is a link that is to be followed.
type pending struct {
	path string
	link link
}

// Tree lists what is in the file. Hard links are followed depth first in the order of
// names, each object once. Objects that cannot be read are listed with the reason.
func (f *File) Tree(ctx context.Context) (*Tree, error) {
	t, err := f.list(ctx)
	if err == nil {
		err = errors.Join(t.growVirtual(ctx, newNeighbours()), ctx.Err())
	}
	return t, err
}

// list is Tree but for the shapes of virtual datasets, which depend on other trees.
func (f *File) list(ctx context.Context) (*Tree, error) {
	w := &walk{f: f, Tree: &Tree{file: f, byAddr: map[uint64]*Object{}}, ahead: ahead{of: map[uint64]*coming{}}}
	defer w.ahead.workers.Wait() // nobody reads from a file that its owner takes for done
	todo := []pending{{"/", link{addr: f.super.root, order: -1}}}
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
		children := w.visit(ctx, p)
		w.announce(ctx, children)
		slices.Reverse(children)
		todo = append(todo, children...)
	}
	w.noteIndexes()
	if w.Root = w.Objects[0]; w.Root.Kind != GroupObject && w.Root.Err == nil {
		w.Root.Err = f.locate("/", &readers.Error{Offset: int64(f.super.root + f.super.base), Err: readers.Corruptf("the root is no group")})
	}
	slices.SortStableFunc(w.Objects, func(a, b *Object) int { return strings.Compare(a.Path, b.Path) })
	return w.Tree, nil
}

func (w *walk) visit(ctx context.Context, p pending) []pending {
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
		w.byAddr[o.Addr] = o
	}
	return children
}

// open reads what a hard link points at.
func (w *walk) open(ctx context.Context, o *Object) ([]pending, error) {
	x := w.ahead.take(o.Addr)
	if x == nil {
		x = w.f.openObject(ctx, o.Addr, &w.header)
	}
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
	o.members, o.lost, o.ordered = x.links, w.f.locate(o.Path, x.lost), x.ordered
	if i := slices.IndexFunc(x.links, isDamaged); i >= 0 && o.lost == nil {
		o.lost = w.f.locate(join(o.Path, x.links[i].name), x.links[i].err)
	}
	children, err := below(o)
	if err == nil {
		err = x.err
	}
	return children, err
}

// openObject reads the object at an address. Where only a part of it cannot be read there is
// both the rest and an error.
func (f *File) openObject(ctx context.Context, addr uint64, h *header) *opened {
	x := &opened{}
	if x.err = f.readHeaderInto(ctx, addr, h); x.err != nil {
		return x
	}
	kind := h.kind()
	switch kind {
	case GroupObject:
		x.links, x.lost = f.links(ctx, h)
		x.err, x.ordered = x.lost, h.ordersLinks()
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
			x.err = readers.Corruptf("object is a datatype, and was a dataset: it has a layout and no dataspace")
		}
	default:
		x.err = readers.Corruptf("object is neither a group nor a dataset nor a datatype")
		return x
	}
	x.kind = kind
	var err error
	if x.attributes, err = f.attributes(ctx, h); x.err == nil {
		x.err = err
	}
	return x
}

// below are the members of a group.
func below(o *Object) ([]pending, error) {
	base := strings.TrimSuffix(o.Path, "/") + "/"
	children := make([]pending, 0, len(o.members))
	for _, l := range o.members {
		if len(base)+len(l.name) > maxPathBytes {
			return children, readers.Corruptf("path of more than %d bytes", maxPathBytes)
		}
		children = append(children, pending{base + l.name, l})
	}
	return children, nil
}

// onAllCores calls work with each number below n, by several goroutines unless there are few, or
// doing one after the other makes larger requests. A panic of theirs becomes the caller's.
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
	for range min(runtime.GOMAXPROCS(0), (n+stretch-1)/stretch) {
		workers.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(&p)
				}
			}()
			for from := 0; from < n; {
				from = int(next.Add(stretch)) - stretch
				for i := from; i < min(from+stretch, n); i++ {
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

// stretch is how many things a goroutine does before it looks for more: those that stand near
// each other in the file share blocks of it.
const stretch = 8

// kind tells what an object is by its messages, as libhdf5 does.
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

// ordersLinks reports whether a group tracks the order in which its links were made.
func (h *header) ordersLinks() bool {
	m, ok := h.find(msgLinkInfo)
	return ok && len(m.data) > 1 && m.data[1]&1 != 0
}

// typeMessage decodes a datatype message, shared or not.
func (f *File) typeMessage(ctx context.Context, m message, h *header) (*readers.Type, error) {
	c, err := f.cursorOf(ctx, m)
	if err != nil {
		return nil, err
	}
	return readType(&c, h.version > 1)
}

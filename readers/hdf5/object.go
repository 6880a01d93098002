package hdf5

import (
	"context"
	"slices"
	"strings"

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
	ordered bool   // members have an order of creation
}

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
		t.growVirtual(ctx)
		err = ctx.Err()
	}
	return t, err
}

// list is Tree but for the shapes of virtual datasets, which depend on other trees.
func (f *File) list(ctx context.Context) (*Tree, error) {
	w := &walk{f: f, Tree: &Tree{file: f, byAddr: map[uint64]*Object{}}}
	todo := []pending{{"/", link{addr: f.super.root, order: -1}}}
	for len(todo) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(w.Objects) >= maxObjects {
			return nil, f.locate("", readers.Corruptf("more than %d objects", maxObjects))
		}
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		children := w.visit(ctx, p)
		w.announce(ctx, children)
		slices.Reverse(children)
		todo = append(todo, children...)
	}
	w.noteIndexes()
	w.Root = w.Objects[0]
	slices.SortStableFunc(w.Objects, func(a, b *Object) int { return strings.Compare(a.Path, b.Path) })
	return w.Tree, nil
}

func (w *walk) visit(ctx context.Context, p pending) []pending {
	o := &Object{Path: p.path, Order: p.link.order}
	w.Objects = append(w.Objects, o)
	switch {
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
	h := &w.header
	err := w.f.readHeaderInto(ctx, o.Addr, h)
	if err != nil {
		return nil, err
	}
	kind := h.kind()
	var children []pending
	switch kind {
	case GroupObject:
		children, err = w.members(ctx, o, h)
	case DatasetObject:
		if o.Dataset, err = w.f.readDataset(ctx, h); err != nil {
			return nil, err
		}
		o.Dataset.path = o.Path
	case TypeObject:
		m, _ := h.find(msgDatatype)
		if o.Type, err = w.f.typeMessage(ctx, m, h); err != nil {
			return nil, err
		}
	default:
		return nil, readers.Corruptf("object is neither a group nor a dataset nor a datatype")
	}
	o.Kind = kind
	attributes, attrErr := w.f.attributes(ctx, h)
	o.Attributes = attributes
	for i := range attributes {
		attributes[i].Err = w.f.locate(o.Path, attributes[i].Err)
	}
	if err == nil {
		err = attrErr
	}
	return children, err
}

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

func (w *walk) members(ctx context.Context, o *Object, h *header) ([]pending, error) {
	base := strings.TrimSuffix(o.Path, "/") + "/"
	links, err := w.f.links(ctx, h)
	if err != nil {
		return nil, err
	}
	o.members, o.ordered = links, h.ordersLinks()
	children := make([]pending, 0, len(links))
	for _, l := range links {
		if len(base)+len(l.name) > maxPathBytes {
			return children, readers.Corruptf("path of more than %d bytes", maxPathBytes)
		}
		children = append(children, pending{base + l.name, l})
	}
	return children, nil
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

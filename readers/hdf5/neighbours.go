package hdf5

import (
	"context"
	"errors"

	"varve/readers/source"
	"varve/readers/virtual"
)

// The limits of what it takes to look at the sources of virtual datasets: how many lead to one
// another, and how much is done for them all. A few mappings of mappings are enough for work
// without an end.
const (
	maxVirtualDepth = 8
	maxVirtualWork  = 1 << 32 // bytes of sources and of places
	mappingWork     = 1 << 14 // at least
	objectWork      = 1 << 6  // to list one of a file
	maxNeighbours   = 32      // open besides those in use
)

// neighbours are the files that virtual datasets of one file lead to, and what is left to be done
// for them. Each is opened and listed once for all who name it, as long as there are not too many.
type neighbours struct {
	left  uint64 // of maxVirtualWork
	open  map[neighbourName]*neighbour
	names []string        // of all that were opened, each once
	known map[string]bool // these names
}

// neighbourName is how one file names another.
type neighbourName struct {
	of   *File
	name string
}

type neighbour struct {
	src   *source.Source
	tree  *Tree
	users int
}

func newNeighbours() *neighbours {
	return &neighbours{left: maxVirtualWork, open: map[neighbourName]*neighbour{}, known: map[string]bool{}}
}

func (n *neighbours) spend(work uint64) error {
	if work > n.left {
		return unsupported("virtual dataset that takes more than %d bytes of others to read", uint64(maxVirtualWork))
	}
	n.left -= work
	return nil
}

// close closes those that nobody uses.
func (n *neighbours) close() (err error) {
	for key, one := range n.open {
		if one.users == 0 {
			err = errors.Join(err, one.src.Close())
			delete(n.open, key)
		}
	}
	return err
}

// with calls use with the dataset that a part of a virtual dataset in t is of, if it is there.
func (n *neighbours) with(ctx context.Context, t *Tree, s virtual.Source, use func(*Tree, *Dataset) error) error {
	return n.file(ctx, t, s.File, func(t *Tree) error { return n.dataset(ctx, t, s.Dataset, 0, use) })
}

// dataset calls use with the dataset at a path, through links into other files too. A virtual one
// is as long as its file says, whatever its own sources have become: so libhdf5 has it.
func (n *neighbours) dataset(ctx context.Context, t *Tree, path string, steps int, use func(*Tree, *Dataset) error) error {
	o, err := t.dataset(path)
	if away, ok := err.(*elsewhere); ok && steps < maxLinksFollowed {
		return n.file(ctx, t, away.file, func(t *Tree) error { return n.dataset(ctx, t, away.path, steps+1, use) })
	}
	if o == nil || err != nil {
		return err
	}
	return use(t, o.Dataset.asDeclared())
}

// file calls use with what is in a file that another names, if it is there.
func (n *neighbours) file(ctx context.Context, t *Tree, name string, use func(*Tree) error) error {
	if name == "." {
		return use(t)
	}
	key := neighbourName{t.file, name}
	one := n.open[key]
	if one == nil {
		if len(n.open) >= maxNeighbours {
			if err := n.close(); err != nil {
				return err
			}
		}
		src, err := t.file.openBeside(ctx, name)
		if src == nil || err != nil {
			return err
		}
		one = &neighbour{src: src}
		if one.tree, err = n.list(ctx, t.file, src); err != nil {
			return errors.Join(err, src.Close())
		}
		n.open[key] = one
	}
	one.users++
	defer func() { one.users-- }()
	return use(one.tree)
}

// note keeps the name of a file that was opened.
func (n *neighbours) note(name string) {
	if !n.known[name] {
		n.known[name] = true
		n.names = append(n.names, name)
	}
}

func (n *neighbours) list(ctx context.Context, of *File, src *source.Source) (*Tree, error) {
	f, err := OpenFile(ctx, src, of.allow...)
	if err != nil {
		return nil, err
	}
	n.note(src.Name())
	t, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	return t, n.spend(objectWork * uint64(len(t.Objects)))
}

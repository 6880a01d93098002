package hdf5

import (
	"context"
	"errors"

	"varve/readers/source"
	"varve/readers/virtual"
)

// Limits of reading the sources of virtual datasets: the depth of nesting, and the work for all
// sources together. Virtual datasets of virtual datasets can cause unbounded work with a few
// mappings.
const (
	maxVirtualDepth = 8
	maxVirtualWork  = 1 << 32 // bytes of sources and of positions
	mappingWork     = 1 << 14 // minimum for a mapping
	objectWork      = 1 << 6  // to list one object of a file
	maxSourceFiles  = 32      // open files that are not in use
)

// sourceFiles holds the files that the virtual datasets of one file refer to, and the remaining
// work. A file is opened and listed once for all virtual datasets, unless it was closed because too
// many were open.
type sourceFiles struct {
	remaining uint64 // remaining part of maxVirtualWork
	open      map[sourceFileName]*sourceFile
	names     []string        // files that were opened, each once
	isKnown   map[string]bool // the same names, as a set
}

// sourceFileName identifies a file by the file that refers to it and the name it uses.
type sourceFileName struct {
	of   *File
	name string
}

type sourceFile struct {
	src   *source.Source
	tree  *Tree
	users int
}

func newSourceFiles() *sourceFiles {
	return &sourceFiles{remaining: maxVirtualWork, open: map[sourceFileName]*sourceFile{}, isKnown: map[string]bool{}}
}

func (n *sourceFiles) spend(work uint64) error {
	if work > n.remaining {
		return unsupported("virtual dataset: its sources take more than %d bytes to read", uint64(maxVirtualWork))
	}
	n.remaining -= work
	return nil
}

// close closes the files that are not in use.
func (n *sourceFiles) close() (err error) {
	for key, one := range n.open {
		if one.users == 0 {
			err = errors.Join(err, one.src.Close())
			delete(n.open, key)
		}
	}
	return err
}

// withSource calls use with the source dataset s of a virtual dataset in t. It does not call use if the
// source does not exist.
func (n *sourceFiles) withSource(ctx context.Context, t *Tree, s virtual.Source, use func(*Tree, *Dataset) error) error {
	return n.withFile(ctx, t, s.File, func(t *Tree) error { return n.withDataset(ctx, t, s.Dataset, 0, use) })
}

// withDataset calls use with the dataset at a path, and follows links into other files. A virtual
// source keeps the shape in its file, even if its own sources have grown: libhdf5 does the same.
func (n *sourceFiles) withDataset(ctx context.Context, t *Tree, path string, steps int, use func(*Tree, *Dataset) error) error {
	o, err := t.dataset(path)
	if away, ok := err.(*otherFileError); ok && steps < maxLinksFollowed {
		return n.withFile(ctx, t, away.file, func(t *Tree) error { return n.withDataset(ctx, t, away.path, steps+1, use) })
	}
	if o == nil || err != nil {
		return err
	}
	return use(t, o.Dataset.asDeclared())
}

// withFile calls use with the objects of a file that t's file refers to, if it exists.
func (n *sourceFiles) withFile(ctx context.Context, t *Tree, name string, use func(*Tree) error) error {
	if name == "." {
		return use(t)
	}
	key := sourceFileName{t.file, name}
	one := n.open[key]
	if one == nil {
		// Thousands of sources would exhaust the open files of the process.
		if len(n.open) >= maxSourceFiles {
			if err := n.close(); err != nil {
				return err
			}
		}
		src, err := t.file.openSibling(ctx, name)
		if src == nil || err != nil {
			return err
		}
		one = &sourceFile{src: src}
		if one.tree, err = n.openTree(ctx, t.file, src); err != nil {
			return errors.Join(err, src.Close())
		}
		n.open[key] = one
	}
	one.users++
	defer func() { one.users-- }()
	return use(one.tree)
}

// addName records the name of a file that was opened.
func (n *sourceFiles) addName(name string) {
	if !n.isKnown[name] {
		n.isKnown[name] = true
		n.names = append(n.names, name)
	}
}

func (n *sourceFiles) openTree(ctx context.Context, of *File, src *source.Source) (*Tree, error) {
	f, err := OpenFile(ctx, src, of.allow...)
	if err != nil {
		return nil, err
	}
	f.opener = of.opener
	n.addName(src.Name())
	t, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	return t, n.spend(objectWork * uint64(len(t.Objects)))
}

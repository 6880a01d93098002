package hdf5

import (
	"context"
	"errors"

	"varve/readers"
	"varve/readers/virtual"
)

// Limits of the bytes that are read from a source, and cached.
const (
	maxSourceBytes = 1 << 27
	maxCachedBytes = 1 << 26
)

// nesting describes the chain of virtual datasets from the requested dataset to the one that is read.
type nesting struct {
	depth int
	here  *Tree // objects of the file whose dataset refers to the current one
	*sources
}

// sources is the state that all datasets in a chain of virtual datasets share.
type sources struct {
	files  *sourceFiles
	values map[*Dataset][]byte // cached values: many parts come from few datasets
	size   uint64              // bytes in values

	isStrict bool // chunks that libhdf5 does not find are an error
}

func newNesting() nesting {
	return nesting{sources: &sources{files: newSourceFiles(), values: map[*Dataset][]byte{}}}
}

// valuesOf returns the values of a source that m selects, and the index of the first of them in the
// source. It reads and caches the whole source, unless it is used once and some of its rows
// suffice.
func (n nesting) valuesOf(ctx context.Context, from *Dataset, m *virtual.Match, once bool) (values []byte, first int64, err error) {
	if values, ok := n.values[from]; ok {
		return values, 0, nil
	}
	size, err := from.bytes()
	if err != nil {
		return nil, 0, err
	}
	if once && from.hasRows() {
		return n.rowsOf(ctx, from, m)
	}
	if err := n.files.spend(size); err != nil {
		return nil, 0, err
	}
	if values, err = from.readAll(ctx, maxSourceBytes, n); err != nil {
		return nil, 0, err
	}
	// Start again: the parts of one source usually follow each other.
	if n.size += size; n.size > maxCachedBytes {
		clear(n.values)
		n.size = size
	}
	n.values[from] = values
	return values, 0, nil
}

// rowsOf is valuesOf for a range of rows that contains all selected elements.
func (n nesting) rowsOf(ctx context.Context, from *Dataset, m *virtual.Match) (values []byte, first int64, err error) {
	a, b := m.Rows()
	some := rows{uint64(a), uint64(b)}
	count := some.end - some.first
	// Whole chunks are decoded: account for the chunks at both ends.
	if from.Layout == readers.Chunked {
		count = min(count+2*from.Chunk[0], from.Shape[0])
	}
	if err := n.files.spend(count * from.rowBytes()); err != nil {
		return nil, 0, err
	}
	values, err = from.readRows(ctx, some, maxSourceBytes, n)
	return values, int64(some.first * from.rowBytes() / uint64(from.Type.Size)), err
}

// eachPiece calls use for each part of a virtual dataset with the source dataset, which is in this
// file or one in its folder. once is true if only one mapping uses the source. Parts whose source
// does not exist are skipped: like libhdf5, readers see fill values there.
func (d *Dataset) eachPiece(ctx context.Context, in nesting, use func(from *Dataset, m *virtual.Match, once bool, in nesting) error) error {
	if in.depth >= maxVirtualDepth {
		return readers.Corruptf("virtual dataset: nested more than %d levels deep", maxVirtualDepth)
	}
	here := in.here
	if here == nil || here.file != d.f {
		var err error
		if here, err = d.f.list(ctx); err != nil {
			return err
		}
		if err := in.files.spend(objectWork * uint64(len(here.Objects))); err != nil {
			return err
		}
	}
	below := in
	below.depth++
	named := map[virtual.Source]int{}
	for _, m := range d.Mappings {
		named[virtual.Source{File: m.File, Dataset: m.Dataset}]++
	}
	err := virtual.Pieces(d.Mappings, func(p *virtual.Piece) (there bool, err error) {
		err = in.files.withSource(ctx, here, p.Source, func(tree *Tree, from *Dataset) error {
			there, below.here = true, tree
			if from.Space == Null {
				return unsupported("virtual dataset: its source %s has a null dataspace now", from.path)
			}
			m, err := p.Match(from.Shape, d.Shape)
			if err == nil {
				err = in.files.spend(mappingWork + 8*uint64(m.Elements()))
			}
			if err != nil || m.Elements() == 0 {
				return err
			}
			return use(from, m, named[p.Source] < 2, below)
		})
		return there, err
	})
	// Only the outermost dataset may close the files that the chain shares.
	if in.depth == 0 {
		err = errors.Join(err, in.files.close())
	}
	return err
}

// readVirtualValues copies the values of all parts of a virtual dataset to out.
func (d *Dataset) readVirtualValues(ctx context.Context, out []byte, in nesting) error {
	return d.eachPiece(ctx, in, func(from *Dataset, m *virtual.Match, once bool, in nesting) error {
		convert, err := converter(from, d)
		if err != nil {
			return err
		}
		values, first, err := in.valuesOf(ctx, from, m, once)
		if err != nil {
			return err
		}
		size, width := int64(d.Type.Size), int64(from.Type.Size)
		return m.Runs(func(to, at, n int64) error {
			at -= first
			return convert(out[to*size:(to+n)*size], values[at*width:(at+n)*width])
		})
	})
}

// isText reports whether a dataset holds strings of varying length.
func (d *Dataset) isText() bool { return d.Type.Class == readers.VarLen && d.Type.IsText }

// texts returns the elements of a dataset of strings of varying length. For a virtual dataset it
// reads the strings from each source, because stored elements point into the heap of their own
// file.
func (d *Dataset) texts(ctx context.Context, limit uint64, in nesting) ([][]byte, error) {
	if d.Layout != readers.Virtual {
		stored, err := d.readAll(ctx, limit, in)
		if err != nil {
			return nil, err
		}
		return d.f.Texts(ctx, d.Type, stored)
	}
	n, err := d.bytes()
	if err == nil && n > limit {
		err = unsupported("dataset of %d bytes is too large to read at once (limit %d)", n, limit)
	}
	if err != nil {
		return nil, err
	}
	// Cells without a source have the fill value.
	out, err := d.f.Texts(ctx, d.Type, d.filled(n))
	if err != nil || n == 0 {
		return out, err
	}
	return out, d.eachPiece(ctx, in, func(from *Dataset, m *virtual.Match, _ bool, in nesting) error {
		if from.Type.String() != d.Type.String() {
			return conversionError(from, d, "")
		}
		// The bytes of the pointers count as work, since strings have no size of their own here.
		size, err := from.bytes()
		if err == nil {
			err = in.files.spend(size)
		}
		if err != nil {
			return err
		}
		texts, err := from.texts(ctx, maxSourceBytes, in)
		if err != nil {
			return err
		}
		return m.Runs(func(to, at, n int64) error {
			copy(out[to:to+n], texts[at:at+n])
			return nil
		})
	})
}

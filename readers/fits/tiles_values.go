package fits

import (
	"context"
	"encoding/binary"
	"fmt"

	"varve/codec"
	"varve/grid"
	"varve/readers"
)

// addTiles adds a compressed image under the name that it would have uncompressed. It returns only
// errors of reading.
func (b *builder) addTiles(ctx context.Context, u *hdu, usual string) error {
	if u.isTrue("ZSIMPLE") {
		usual = "PRIMARY"
	}
	name := b.names.Take(u.string("EXTNAME"), usual)
	t, err := u.tiles()
	if err != nil {
		b.addProblem("/"+name, b.locate(err))
		return nil
	}
	if len(t.axes) == 0 {
		b.addEmpty(u, name)
		return nil
	}
	if t.storedSize, err = b.storedSize(ctx, t); err != nil {
		return err
	}
	storage, err := b.tileStorage(t)
	if err != nil {
		b.addProblem("/"+name, b.locate(err))
		return nil
	}
	v := b.image(u, name, t.bitpix, t.axes)
	v.Storage = storage
	v.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		value, err := b.readTiles(ctx, v, t, limit)
		if err != nil {
			err = &readers.Error{Source: b.src.Name(), Path: v.Path, Offset: -1, Err: err}
		}
		return value, err
	}
	// The image was the primary HDU before compression, so its keywords belong to the whole file.
	if u.number == 1 && u.isTrue("ZSIMPLE") {
		b.out.Root.Attributes = addAttributes(u.attributes(), b.out.Root.Attributes)
	}
	b.checkSize(u, v.Path)
	return nil
}

// storedSize returns the size in bytes of an integer in a tile. CFITSIO before version 3.2 wrote
// four bytes in gzip, even for smaller integers. The end of the first tile's gzip stream holds the
// uncompressed size, which shows this.
func (b *builder) storedSize(ctx context.Context, t *tiles) (int, error) {
	size := t.element().Size
	if t.bitpix < 0 || size > 2 || t.coder != "GZIP_1" && t.coder != "GZIP_2" || product(t.axes) == 0 || b.checkTableEnd(t.hdu) != nil {
		return size, nil
	}
	row := make([]byte, t.hdu.axes[0])
	if _, err := b.src.ReadAt(ctx, row, t.end); err != nil {
		return 0, err
	}
	r := newTileReader(t, [3]uint32{})
	ref, err := r.locate(0, row)
	if err != nil || ref.Size < 4 {
		return size, nil // reading the tiles reports this error
	}
	var end [4]byte
	if _, err := b.src.ReadAt(ctx, end[:], ref.Offset+int64(ref.Size)-4); err != nil {
		return 0, err
	}
	if uint64(binary.LittleEndian.Uint32(end[:])) == 4*product(t.tile) {
		return 4, nil
	}
	return size, nil
}

// readTiles reads all elements of a compressed image.
func (b *builder) readTiles(ctx context.Context, v *readers.Variable, t *tiles, limit uint64) (readers.Value, error) {
	size := product(t.axes) * uint64(v.Type.Size)
	if size > limit {
		return readers.Value{}, fmt.Errorf("values take %d bytes, which is more than the limit of %d", size, limit)
	}
	d := tileDecoder{builder: b, v: v, grid: t.grid, whole: grid.Window[byte]{Data: make([]byte, size), Region: grid.Whole(t.grid.Shape())}}
	if v.Storage.Grid == nil && size > 0 {
		shape := make([]int64, len(v.Shape))
		for k, n := range v.Storage.ChunkShape {
			shape[k] = int64(n)
		}
		var err error
		if d.grid, err = grid.Regular(t.grid.Shape(), shape); err != nil {
			return readers.Value{}, err
		}
	}
	for ref, err := range v.Storage.Refs(ctx) {
		if err == nil {
			err = d.decode(ctx, ref)
		}
		if err != nil {
			return readers.Value{}, err
		}
	}
	return readers.Value{Type: v.Type, Shape: v.Shape, Data: d.whole.Data}, ctx.Err()
}

// tileDecoder decodes chunks and copies them to their positions.
type tileDecoder struct {
	*builder
	v         *readers.Variable
	grid      *grid.Grid
	whole     grid.Window[byte]
	pipelines codec.Pipelines
	stored    []byte
}

func (d *tileDecoder) decode(ctx context.Context, ref *readers.Ref) error {
	element, _, _ := d.v.Type.Plain()
	coords := make([]int64, len(ref.Index))
	for k, n := range ref.Index {
		coords[k] = int64(n)
	}
	chunk, _ := d.grid.Chunk(coords)
	form := codec.Form{Type: element, Shape: chunk.Shape}
	specs, err := d.v.Storage.Pipeline.Specs(ref.Mask)
	if err != nil {
		return err
	}
	p, err := d.pipelines.New(specs, form)
	if err != nil {
		return err
	}
	if uint64(cap(d.stored)) < ref.Size {
		d.stored = make([]byte, ref.Size)
	}
	stored := d.stored[:ref.Size]
	if _, err := d.src.ReadAt(ctx, stored, ref.Offset); err != nil {
		return err
	}
	elems := codec.NewElems(form)
	if err := p.Decode(elems, stored); err != nil {
		return &readers.Error{Offset: ref.Offset, Err: fmt.Errorf("chunk %v: %w", ref.Index, err)}
	}
	_, err = grid.CopyShared(d.whole, grid.Window[byte]{Data: elems.Fixed, Region: chunk.Region}, int64(element.Size))
	return err
}

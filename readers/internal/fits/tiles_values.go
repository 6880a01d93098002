package fits

import (
	"context"
	"encoding/binary"

	"varve/readers"
	"varve/readers/internal/chunks"
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
		value, err := chunks.ReadAll(ctx, b.src, v, limit)
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

package codec

import (
	"varve/codec/internal/corrupt"
)

// askTiles lists the rows of a table of tiles, and once they are there the tiles that the region meets.
func (d *regionDecode) askTiles(pt *part) error {
	for i := range pt.tiles {
		d.wants = append(d.wants, Range{pt.at.Offset + pt.tiles[i].At, pt.tiles[i].Length})
	}
	if pt.tiles != nil {
		return nil
	}
	rows := pt.p.toBytes.(*fitsQuantized).table.RowBytes()
	if rows > pt.at.Length {
		return pt.p.at(len(pt.p.arrays), corrupt.Errorf("a table of %d bytes has rows that take %d", pt.at.Length, rows))
	}
	d.wants = append(d.wants, Range{pt.at.Offset, rows})
	return nil
}

// deliverTiles finds the tiles that the region meets, or decodes them.
func (d *regionDecode) deliverTiles(pt *part, got [][]byte) (err error) {
	q, form := pt.p.toBytes.(*fitsQuantized), pt.p.innermost()
	if pt.tiles == nil {
		if pt.tiles, err = q.table.Find(got[0], pt.at.Length, form.Shape, pt.region.Origin, pt.region.Shape); len(pt.tiles) > 0 {
			d.parts = append(d.parts, *pt)
		}
		return pt.p.at(len(pt.p.arrays), err)
	}
	for i, stored := range got {
		if err := q.decodeTile(pt.into, pt.region, &pt.tiles[i], stored); err != nil {
			return pt.p.at(len(pt.p.arrays), err)
		}
	}
	return nil
}

package codec

import (
	"varve/codec/internal/corrupt"
)

// requestTiles adds the range of the table's rows or, when these have been read, the
// ranges of the tiles that intersect the region.
func (d *regionDecode) requestTiles(pt *part) error {
	for i := range pt.tiles {
		d.ranges = append(d.ranges, Range{pt.at.Offset + pt.tiles[i].At, pt.tiles[i].Length})
	}
	if pt.tiles != nil {
		return nil
	}
	rows := pt.p.toBytes.(*fitsQuantized).table.RowBytes()
	if rows > pt.at.Length {
		return pt.p.stageError(len(pt.p.arrayCodecs), corrupt.Errorf("a table of %d bytes has rows that take %d", pt.at.Length, rows))
	}
	d.ranges = append(d.ranges, Range{pt.at.Offset, rows})
	return nil
}

// decodeTiles finds the tiles that intersect the region, or decodes them.
func (d *regionDecode) decodeTiles(pt *part, got [][]byte) (err error) {
	q, form := pt.p.toBytes.(*fitsQuantized), pt.p.innermost()
	if pt.tiles == nil {
		if pt.tiles, err = q.table.Find(got[0], pt.at.Length, form.Shape, pt.region.Origin, pt.region.Shape); len(pt.tiles) > 0 {
			d.parts = append(d.parts, *pt)
		}
		return pt.p.stageError(len(pt.p.arrayCodecs), err)
	}
	for i, stored := range got {
		if err := q.decodeTile(pt.into, pt.region, &pt.tiles[i], stored); err != nil {
			return pt.p.stageError(len(pt.p.arrayCodecs), err)
		}
	}
	return nil
}

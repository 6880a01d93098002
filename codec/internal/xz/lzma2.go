package xz

import "varve/codec/internal/corrupt"

// lzma2 decodes LZMA2 data up to its end, and returns how many bytes it wrote to dst. The
// data is chunks that start with a control byte:
//
//	00         the end
//	01         bytes as they are, with nothing before them to refer to
//	02         bytes as they are
//	80 … 9F    LZMA data that goes on from the chunk before
//	A0 … BF    … with its state reset
//	C0 … DF    … and with properties
//	E0 … FF    … and with nothing before it to refer to
//
// A size follows, less 1, big-endian: 16 bits for bytes as they are, and for LZMA 16 that
// the low 5 bits of the control byte go before. LZMA goes on with its packed size, less
// 1, in 16 bits, and with the properties.
func (d *decoder) lzma2(dst []byte) (int, error) {
	d.out, d.at, d.base = dst, 0, 0
	isFirst, hasProperties, hasState := true, false, false
	for {
		control, err := d.take(1)
		if err != nil {
			return 0, err
		}
		c := control[0]
		switch {
		case c == 0:
			return d.at, nil
		case isFirst && c != 1 && c < 0xe0:
			return 0, d.badControl(c, "the first one should start afresh")
		case c == 1 || c >= 0xe0:
			d.base = d.at
			hasProperties, hasState = false, false
		}
		isFirst = false
		if c < 0x80 {
			if c > 2 {
				return 0, d.badControl(c, "which has no meaning")
			}
			if err := d.storedChunk(); err != nil {
				return 0, err
			}
			continue
		}
		hasProperties = hasProperties || c >= 0xc0
		hasState = hasState || c >= 0xa0
		if !hasProperties || !hasState {
			return 0, d.badControl(c, "nothing before it to go on from")
		}
		if err := d.lzmaChunk(c); err != nil {
			return 0, err
		}
	}
}

func (d *decoder) badControl(c byte, why string) error {
	return corrupt.Errorf("xz: LZMA2 chunk %02x at byte %d: %s", c, d.next-1, why)
}

// room returns where the text of a chunk ends.
func (d *decoder) room(size int) (int, error) {
	if size > len(d.out)-d.at {
		return 0, corrupt.Errorf("xz: the chunk before byte %d decodes to %d bytes, with room for %d of %d", d.next, size, len(d.out)-d.at, len(d.out))
	}
	return d.at + size, nil
}

func (d *decoder) storedChunk() error {
	b, err := d.take(2)
	if err != nil {
		return err
	}
	size := (int(b[0])<<8 | int(b[1])) + 1
	end, err := d.room(size)
	if err != nil {
		return err
	}
	text, err := d.take(size)
	if err != nil {
		return err
	}
	d.at += copy(d.out[d.at:end], text)
	return nil
}

func (d *decoder) lzmaChunk(control byte) error {
	b, err := d.take(4)
	if err != nil {
		return err
	}
	end, err := d.room((int(control&0x1f)<<16 | int(b[0])<<8 | int(b[1])) + 1)
	if err != nil {
		return err
	}
	packed := (int(b[2])<<8 | int(b[3])) + 1
	if control >= 0xc0 {
		p, err := d.take(1)
		if err != nil {
			return err
		}
		if err := d.setPackedProperties(p[0]); err != nil {
			return err
		}
	}
	if control >= 0xa0 {
		d.resetState()
	}
	start := d.next
	if _, err := d.take(packed); err != nil {
		return err
	}
	if err := d.startRange(d.src[:d.next], start); err != nil {
		return err
	}
	atMarker, err := d.run(end)
	if err != nil {
		return err
	}
	d.normalize()
	if atMarker || !d.atEnd() {
		return d.damaged()
	}
	return nil
}

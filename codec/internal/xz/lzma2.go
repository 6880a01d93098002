package xz

import "varve/codec/internal/corrupt"

// lzma2 decodes LZMA2 data up to its end marker to dst, and returns the decoded length. LZMA2 data is a
// list of chunks. Each starts with a control byte:
//
//	00         end of the data
//	01         uncompressed, and the dictionary is reset: later data cannot refer to earlier data
//	02         uncompressed
//	80 … 9F    LZMA data that continues with the state of the previous chunk
//	A0 … BF    LZMA data, and the state is reset
//	C0 … DF    LZMA data with new properties, and the state is reset
//	E0 … FF    LZMA data with new properties, and the state and the dictionary are reset
//
// Then come, big-endian and less 1, the text size (16 bits; for LZMA 21 bits, the highest 5 in the control
// byte), for LZMA the compressed size (16 bits), the properties byte if they are new, and the data.
func (d *decoder) lzma2(dst []byte) (int, error) {
	d.out, d.at, d.base = dst, 0, 0
	isFirst, hasProperties, hasState := true, false, false
	for !d.isFull() {
		control, err := d.take(1)
		if err != nil {
			return 0, err
		}
		c := control[0]
		switch {
		case c == 0:
			return d.at, nil
		case isFirst && c != 1 && c < 0xe0:
			return 0, d.badControl(c, "the first chunk must reset the dictionary (01 or E0 to FF)")
		case c == 1 || c >= 0xe0:
			d.base = d.at
			hasProperties, hasState = false, false
		}
		isFirst = false
		if c < 0x80 {
			if c > 2 {
				return 0, d.badControl(c, "control bytes 03 to 7F are not defined")
			}
			if err := d.storedChunk(); err != nil {
				return 0, err
			}
			continue
		}
		hasProperties = hasProperties || c >= 0xc0
		hasState = hasState || c >= 0xa0
		if !hasProperties || !hasState {
			return 0, d.badControl(c, "no previous chunk has the state or the properties that it needs")
		}
		if err := d.lzmaChunk(c); err != nil {
			return 0, err
		}
	}
	return d.at, nil
}

// badControl returns the error for the control byte before the current position.
func (d *decoder) badControl(c byte, why string) error {
	return corrupt.Errorf("xz: LZMA2 control byte %02x at byte %d: %s", c, d.next-1, why)
}

// room returns the end in d.out of a chunk's text of the given size.
func (d *decoder) room(size int) (int, error) {
	if d.isPart {
		return min(d.at+size, len(d.out)), nil
	}
	if size > len(d.out)-d.at {
		return 0, corrupt.Errorf("xz: the chunk before byte %d decodes to %d bytes, only %d of %d are expected", d.next, size, len(d.out)-d.at, len(d.out))
	}
	return d.at + size, nil
}

// storedChunk copies an uncompressed chunk.
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

// lzmaChunk decodes a chunk of LZMA data.
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
	if d.isFull() {
		return nil
	}
	d.normalize()
	if atMarker || !d.atEnd() {
		return d.damaged()
	}
	return nil
}

package dap

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"varve/codec"
)

// The flags in the header of a chunk of DAP4, above the 24 bits of its length.
const (
	lastChunk    = 1 << 24
	littleEndian = 4 << 24
	noChecksums  = 8 << 24
)

// chunkBytes is the largest length of a chunk of an answer; the format allows almost 16 MiB.
const chunkBytes = 1 << 20

// Data returns the answer with values in DAP4. An answer of more than limit bytes is a *SizeError. Without checksums, the CRC-32
// after each variable is left out.
//
//	header  flags u8, length u24, big-endian
//	chunk   the DMR
//	header  …
//	chunk   values of a variable, little-endian; its CRC-32; those of the next one; …
//
// A chunk may end anywhere. A text is its length, as u64, and its bytes.
func (d *Dataset) Data(ctx context.Context, expression string, checksums bool, limit int64) (*Answer, error) {
	choices, err := d.parse4(expression)
	if err != nil {
		return nil, err
	}
	leaves := d.variables4(choices)
	size, err := checkValues(leaves, limit, func(l leaf) (int64, error) {
		if l.isText {
			return textSize(ctx, l, limit, func(text []byte) int64 { return 8 + int64(len(text)) })
		}
		if n := elements(l.slabs); n > limit/l.size4() {
			return 0, &SizeError{n, limit}
		}
		return elements(l.slabs) * l.size4(), nil
	})
	if err != nil {
		return nil, err
	}
	dmr := d.dmr(choices, false) + "\r\n"
	if len(dmr) >= lastChunk {
		return nil, &SizeError{int64(len(dmr)), lastChunk - 1}
	}
	values := size
	flags := uint32(littleEndian | noChecksums)
	if checksums {
		size, flags = size+4*int64(len(leaves)), littleEndian
	}
	chunks := max((size+chunkBytes-1)/chunkBytes, 1)
	write := func(ctx context.Context, w io.Writer) error {
		head := binary.BigEndian.AppendUint32(nil, flags|uint32(len(dmr)))
		if _, err := w.Write(append(head, dmr...)); err != nil {
			return err
		}
		out := &chunkWriter{out: w, flags: flags, left: size}
		if err := out.begin(); err != nil {
			return err
		}
		for _, l := range leaves {
			if err := l.write4(ctx, out, checksums); err != nil {
				return fmt.Errorf("%s: %w", l.path, err)
			}
		}
		if out.left != 0 {
			return fmt.Errorf("%d bytes of the answer are missing: texts changed while they were read", out.left)
		}
		return nil
	}
	return &Answer{Size: int64(4+len(dmr)) + 4*chunks + size, Values: values, write: write}, nil
}

// write4 writes the values of a variable and their checksum.
func (l leaf) write4(ctx context.Context, out io.Writer, checksums bool) error {
	sum := uint32(0)
	put := func(b []byte) error {
		if checksums {
			sum = crc32.Update(sum, crc32.IEEETable, b)
		}
		_, err := out.Write(b)
		return err
	}
	var buffer []byte
	err := l.each(ctx, l.slabs, func(e codec.Elems) error {
		for _, text := range e.Var {
			buffer = append(binary.LittleEndian.AppendUint64(buffer[:0], uint64(len(text))), text...)
			if err := put(buffer); err != nil {
				return err
			}
		}
		return l.inPieces(e.Fixed, func(piece []byte) error {
			buffer = l.append4(buffer[:0], piece)
			return put(buffer)
		})
	})
	if err == nil && checksums {
		_, err = out.Write(binary.LittleEndian.AppendUint32(nil, sum))
	}
	return err
}

// chunkWriter divides the values of an answer into chunks.
type chunkWriter struct {
	out   io.Writer
	flags uint32
	left  int64 // bytes of the answer
	room  int64 // bytes of the chunk
}

// begin writes the header of the next chunk.
func (c *chunkWriter) begin() error {
	c.room = min(c.left, chunkBytes)
	header := c.flags | uint32(c.room)
	if c.room == c.left {
		header |= lastChunk
	}
	_, err := c.out.Write(binary.BigEndian.AppendUint32(nil, header))
	return err
}

func (c *chunkWriter) Write(b []byte) (n int, err error) {
	if int64(len(b)) > c.left {
		return 0, fmt.Errorf("%d bytes of values where the answer has room for %d", len(b), c.left)
	}
	for len(b) > 0 {
		if c.room == 0 {
			if err := c.begin(); err != nil {
				return n, err
			}
		}
		k, err := c.out.Write(b[:min(int64(len(b)), c.room)])
		n, b = n+k, b[k:]
		c.room -= int64(k)
		c.left -= int64(k)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

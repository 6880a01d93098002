package hdf5

import (
	"context"
	"slices"

	"varve/readers"
)

// Message types (IV.A.2).
const (
	msgNull           = 0x00
	msgDataspace      = 0x01
	msgLinkInfo       = 0x02
	msgDatatype       = 0x03
	msgOldFill        = 0x04
	msgFill           = 0x05
	msgLink           = 0x06
	msgExternalFiles  = 0x07
	msgLayout         = 0x08
	msgBogus          = 0x09
	msgGroupInfo      = 0x0a
	msgFilters        = 0x0b
	msgAttribute      = 0x0c
	msgComment        = 0x0d
	msgOldModified    = 0x0e
	msgSharedTable    = 0x0f
	msgContinuation   = 0x10
	msgSymbolTable    = 0x11
	msgModified       = 0x12
	msgBTreeK         = 0x13
	msgDriverInfo     = 0x14
	msgAttributeInfo  = 0x15
	msgReferenceCount = 0x16
	msgFileSpace      = 0x17
	msgCacheImage     = 0x18
	msgUnknown        = 0x19
)

// Message flags.
const (
	flagShared      = 0x02
	flagUnshareable = 0x04
	flagFailWrite   = 0x08
	flagMark        = 0x10
	flagWasUnknown  = 0x20
	flagShareable   = 0x40
	flagFailAlways  = 0x80
)

// isShareable contains the message types that may be stored outside the object header.
var isShareable = map[int]bool{
	msgDataspace: true, msgDatatype: true, msgOldFill: true, msgFill: true, msgFilters: true, msgAttribute: true,
}

const (
	maxHeaderChunks   = 4096
	maxHeaderMessages = 1 << 17
)

// message is one message of an object header.
type message struct {
	kind  int
	flags int
	order int // creation order, where it is tracked
	data  []byte
	addr  uint64 // of data
}

// header is an object header (IV.A.1). Version 1:
//
//	0   version 1 (1 byte), reserved (1), number of messages (2)
//	4   reference count (4), size of the messages in this chunk (4), padding (4)
//	16  messages: type (2), size (2), flags (1), reserved (3), data
//
// Version 2:
//
//	0   "OHDR", version 2 (1), flags (1)
//	    times (16, flag 0x20), attribute limits (4, flag 0x10), size (1, 2, 4 or 8)
//	    messages: type (1), size (2), flags (1), creation order (2, flag 0x04), data
//	    gap, checksum (4)
//
// A continuation message leads to another chunk of messages, which in version 2 begins with "OCHK"
// and ends with a checksum.
type header struct {
	addr     uint64
	version  int
	flags    int
	messages []message
	cont     []span
	count    int // version 1: number of messages according to the header
}

type span struct{ addr, size uint64 }

func (f *File) readHeader(ctx context.Context, addr uint64) (*header, error) {
	h := &header{}
	return h, f.readHeaderInto(ctx, addr, h)
}

// readHeaderInto reads an object header into h and reuses h's memory.
func (f *File) readHeaderInto(ctx context.Context, addr uint64, h *header) error {
	if err := f.readFirstChunkInto(ctx, addr, h); err != nil {
		return err
	}
	for i := 0; i < len(h.cont); i++ {
		if i >= maxHeaderChunks {
			return &readers.Error{Offset: int64(addr), Err: readers.Corruptf("object header: more than %d continuations", maxHeaderChunks)}
		}
		if err := f.readContinuation(ctx, h, h.cont[i]); err != nil {
			return err
		}
	}
	return nil
}

// readFirstChunk reads an object header without its continuations.
func (f *File) readFirstChunk(ctx context.Context, addr uint64) (*header, error) {
	h := &header{}
	return h, f.readFirstChunkInto(ctx, addr, h)
}

const usualMessages = 24

func (f *File) readFirstChunkInto(ctx context.Context, addr uint64, h *header) error {
	// Most headers fit in 256 bytes. A larger one is read again at its size.
	c, err := f.cursorAt(ctx, addr, f.available(addr, 256))
	if err != nil {
		return err
	}
	*h = header{addr: addr, messages: h.messages[:0], cont: h.cont[:0]}
	if h.messages == nil {
		// Most headers have fewer, so one allocation suffices.
		h.messages = make([]message, 0, usualMessages)
	}
	if len(c.b) >= 4 && string(c.b[:4]) == "OHDR" {
		return f.readHeader2(ctx, h, c)
	}
	return f.readHeader1(ctx, h, c)
}

func (f *File) readHeader1(ctx context.Context, h *header, c *cursor) error {
	h.version = c.version("object header", 1, 1)
	c.skip(1)
	h.count = c.u16()
	c.skip(4)
	size := c.u32()
	c.skip(4)
	if c.err != nil {
		return c.err
	}
	if h.count > 0 && size < 8 || h.count == 0 && size > 0 {
		c.fail("object header: %d messages do not fit in %d bytes", h.count, size)
		return c.err
	}
	body, err := f.readWhole(ctx, c, h.addr, 16, uint64(size))
	if err != nil {
		return err
	}
	if err := h.readMessages(body); err != nil {
		return err
	}
	if len(h.messages) > h.count {
		return &readers.Error{Offset: body.at, Err: readers.Corruptf("object header: %d messages in the first chunk (the header says %d in all)", len(h.messages), h.count)}
	}
	return nil
}

// readWhole returns a cursor at byte n of a structure, which ends size bytes later. It reads the
// structure again if the cursor does not hold all of it.
func (f *File) readWhole(ctx context.Context, c *cursor, addr uint64, n int, size uint64) (*cursor, error) {
	if size > uint64(f.available(addr, 1<<30)-n) {
		return nil, &readers.Error{Offset: c.at, Err: readers.Corruptf("structure of %d bytes extends beyond the end of the file", size)}
	}
	if n+int(size) > len(c.b) {
		b, err := f.view(ctx, addr, n+int(size))
		if err != nil {
			return nil, err
		}
		c = f.newCursor(b, addr)
	}
	c.b, c.pos = c.b[:n+int(size)], n
	return c, nil
}

func (f *File) readHeader2(ctx context.Context, h *header, c *cursor) error {
	c.signature("OHDR")
	h.version = c.version("object header", 2, 2)
	h.flags = c.u8()
	if h.flags&^0x3f != 0 {
		c.fail("object header: flags are %#x (bits 6 and 7 are reserved)", h.flags)
	}
	if h.flags&0x20 != 0 {
		c.skip(16)
	}
	if h.flags&0x10 != 0 {
		c.skip(4)
	}
	size := c.uint(1 << (h.flags & 3))
	if c.err != nil {
		return c.err
	}
	body, err := f.readWhole(ctx, c, h.addr, c.pos, size+4)
	if err != nil {
		return err
	}
	if size > 1<<30 {
		return readers.Corruptf("object header: %d bytes (limit %d)", size, 1<<30)
	}
	return h.readChecked(body)
}

// readChecked reads the messages of a chunk with a checksum at its end.
func (h *header) readChecked(c *cursor) error {
	end := len(c.b) - 4
	if end < c.pos {
		c.fail("object header: no room for the checksum")
		return c.err
	}
	check := *c
	check.pos = end
	check.checksum("object header")
	if check.err != nil {
		return check.err
	}
	c.b = c.b[:end]
	return h.readMessages(c)
}

func (f *File) readContinuation(ctx context.Context, h *header, s span) error {
	if s.size > 1<<30 {
		return readers.Corruptf("object header: continuation of %d bytes (limit %d)", s.size, 1<<30)
	}
	c, err := f.cursorAt(ctx, s.addr, int(s.size))
	if err != nil {
		return err
	}
	if h.version == 1 {
		return h.readMessages(c)
	}
	c.signature("OCHK")
	return h.readChecked(c)
}

// readMessages reads messages up to the end of the cursor. In version 2 a gap that is too small for
// a message may follow, unless the chunk has a null message: the library would have enlarged that
// one instead.
func (h *header) readMessages(c *cursor) error {
	prefix, first := h.prefixSize(), len(h.messages)
	for c.left() >= prefix {
		if len(h.messages) >= maxHeaderMessages {
			c.fail("object header: more than %d messages", maxHeaderMessages)
			break
		}
		h.readMessage(c)
	}
	isNull := func(m message) bool { return m.kind == msgNull }
	if c.left() > 0 && (h.version == 1 || slices.ContainsFunc(h.messages[first:], isNull)) {
		c.fail("object header: gap of %d bytes after the messages", c.left())
	}
	return c.err
}

func (h *header) prefixSize() int {
	switch {
	case h.version == 1:
		return 8
	case h.flags&4 != 0:
		return 6
	}
	return 4
}

func (h *header) readMessage(c *cursor) {
	m := message{}
	if h.version == 1 {
		m.kind = c.u16()
	} else {
		m.kind = c.u8()
	}
	size := c.u16()
	m.flags = c.u8()
	switch {
	case h.version == 1:
		c.skip(3)
		if size%8 != 0 {
			c.fail("object header: message of %d bytes is not a multiple of 8", size)
		}
	case h.flags&4 != 0:
		m.order = c.u16()
	}
	m.addr = uint64(c.at) + uint64(c.pos)
	m.data = c.take(size)
	h.checkFlags(c, m)
	if m.kind == msgContinuation && c.err == nil {
		d := *c
		d.b, d.pos = m.data, 0
		s := span{addr: d.address(), size: d.length()}
		if c.err = d.err; s.size == 0 {
			c.fail("object header: continuation of 0 bytes")
		}
		h.cont = append(h.cont, s)
	}
	h.messages = append(h.messages, m)
}

func (h *header) checkFlags(c *cursor, m message) {
	fl := m.flags
	known := m.kind < msgUnknown && m.kind != msgBogus
	switch {
	case c.err != nil:
	case fl&flagShared != 0 && fl&flagUnshareable != 0,
		fl&flagWasUnknown != 0 && fl&flagFailWrite != 0,
		fl&flagWasUnknown != 0 && fl&flagMark == 0:
		c.fail("object header: message flags %#x contradict each other", fl)
	case !known && fl&flagFailAlways != 0:
		c.err = unsupported("object header message of type %d", m.kind)
	case known && fl&(flagShared|flagShareable) != 0 && !isShareable[m.kind]:
		c.fail("object header: message of type %#x cannot be shared", m.kind)
	case m.kind == msgReferenceCount && h.version == 1:
		c.fail("object header: version 1 has a reference count message")
	case m.kind == msgOldModified && !isOldTime(m.data), m.kind == msgModified && (len(m.data) < 8 || m.data[0] != 1):
		c.fail("object header: modification time is damaged")
	}
}

// isOldTime reports whether a message holds a time as text: year, month, day, hour, minute and
// second in 14 digits, followed by at least two bytes.
func isOldTime(b []byte) bool {
	if len(b) < 16 {
		return false
	}
	return !slices.ContainsFunc(b[:14], func(digit byte) bool { return digit < '0' || digit > '9' })
}

// find returns the first message of a type.
func (h *header) find(kind int) (message, bool) {
	for _, m := range h.messages {
		if m.kind == kind {
			return m, true
		}
	}
	return message{}, false
}

// cursorOf returns a cursor over the content of a message, which may be shared.
func (f *File) cursorOf(ctx context.Context, m message) (cursor, error) {
	c := f.newCursor(m.data, m.addr-f.super.base)
	if m.flags&flagShared == 0 {
		return *c, nil
	}
	shared, err := f.readShared(ctx, m.kind, c)
	if err != nil {
		return cursor{}, err
	}
	return *shared, nil
}

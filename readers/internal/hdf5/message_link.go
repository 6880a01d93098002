package hdf5

// Link types (IV.A.2.g). Types from 64 on are user-defined; 64 is an external link.
const (
	linkHard     = 0
	linkSoft     = 1
	linkExternal = 64
	linkDamaged  = -1 // not in files: the name is readable, and err says why the rest is not
)

// link is one member of a group.
type link struct {
	name  string
	kind  int
	order int64  // creation order, or -1 if it is not tracked
	addr  uint64 // hard
	path  string // soft, external
	file  string // external
	err   error  // damaged
}

func isDamaged(l link) bool { return l.kind == linkDamaged }

// readLink decodes a link message (IV.A.2.g):
//
//	version 1, flags, type (1, flag 0x08), creation order (8, flag 0x04),
//	character set (1, flag 0x10), length of the name (1, 2, 4 or 8), name,
//	hard: address; soft: length (2), path; external: length (2), flags, file, path
//
// For example, a hard link "x" to address 0x320 is 01 00 01 78 2003000000000000.
func readLink(c *cursor) link {
	c.version("link", 1, 1)
	flags := c.u8()
	l := link{addr: undefined, order: -1}
	if flags&^0x1f != 0 {
		c.fail("link: flags are %#x (bits 5 to 7 are reserved)", flags)
	}
	if flags&8 != 0 {
		l.kind = c.u8()
	}
	if flags&4 != 0 {
		l.order = int64(c.u64())
	}
	if flags&0x10 != 0 {
		if set := c.u8(); set > 1 {
			c.fail("link: character set is %d (want 0 or 1)", set)
		}
	}
	size := c.uint(1 << (flags & 3))
	l.name = string(textOf(c.take(c.fits(size, "link: length of the name"))))
	if l.name == "" {
		c.fail("link: empty name")
	}
	readTarget(c, &l)
	return l
}

func readTarget(c *cursor, l *link) {
	switch {
	case l.kind == linkHard:
		l.addr = c.address()
	case l.kind == linkSoft:
		n := c.u16()
		if n == 0 {
			c.fail("soft link: empty target")
		}
		l.path = string(c.take(n))
	case l.kind == linkExternal:
		sub := c.sub(c.u16())
		if flags := sub.u8(); flags != 0 {
			sub.fail("external link: version and flags are %#x (want 0)", flags)
		}
		l.file, l.path = sub.text("external link: file name"), sub.text("external link: target")
		c.err = sub.err
	case l.kind > linkExternal:
		// User-defined links are listed; only the program that made them can follow them.
		c.skip(c.u16())
	default:
		c.fail("link: type is %d", l.kind)
	}
}

// denseInfo is a link info message (IV.A.2.c) or an attribute info message (IV.A.2.v). It holds the
// addresses of the fractal heap and of the v2 B-trees by name and by creation order.
type denseInfo struct {
	heap, names, orders uint64
}

func readLinkInfo(c *cursor) denseInfo      { return readDenseInfo(c, "link information", 8) }
func readAttributeInfo(c *cursor) denseInfo { return readDenseInfo(c, "attribute information", 2) }

// readDenseInfo decodes the message. width is the size of the next creation order number in bytes.
func readDenseInfo(c *cursor, what string, width int) denseInfo {
	c.version(what, 0, 0)
	flags := c.u8()
	if flags&^3 != 0 {
		c.fail("%s: flags are %#x (bits 2 to 7 are reserved)", what, flags)
	}
	if flags&1 != 0 {
		if next := c.uint(width); int64(next) < 0 {
			c.fail("%s: next creation order is %d", what, int64(next))
		}
	}
	i := denseInfo{heap: c.address(), names: c.address(), orders: undefined}
	if flags&2 != 0 {
		i.orders = c.address()
	}
	return i
}

package hdf5

// Types of links (IV.A.2.g); from 64 on they are user-defined, of which 64 itself is
// an external link.
const (
	linkHard     = 0
	linkSoft     = 1
	linkExternal = 64
	linkDamaged  = -1 // not in files: a name, and why the rest cannot be read
)

// link is one member of a group.
type link struct {
	name  string
	kind  int
	order int64  // of creation, -1 where it is not tracked
	addr  uint64 // hard
	path  string // soft, external
	file  string // external
	err   error  // damaged
}

func isDamaged(l link) bool { return l.kind == linkDamaged }

// readLink decodes a link message.
func readLink(c *cursor) link {
	c.version("a link", 1, 1)
	flags := c.u8()
	l := link{addr: undefined, order: -1}
	if flags&^0x1f != 0 {
		c.fail("flags of a link are %#x", flags)
	}
	if flags&8 != 0 {
		l.kind = c.u8()
	}
	if flags&4 != 0 {
		l.order = int64(c.u64())
	}
	if flags&0x10 != 0 {
		if set := c.u8(); set > 1 {
			c.fail("character set of a link's name is %d", set)
		}
	}
	size := c.uint(1 << (flags & 3))
	l.name = string(textOf(c.take(c.fits(size, "length of a link's name"))))
	if l.name == "" {
		c.fail("a link has no name")
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
			c.fail("a soft link has no target")
		}
		l.path = string(c.take(n))
	case l.kind == linkExternal:
		sub := c.sub(c.u16())
		if flags := sub.u8(); flags != 0 {
			sub.fail("version and flags of an external link are %#x", flags)
		}
		l.file, l.path = sub.text("file of an external link"), sub.text("target of an external link")
		c.err = sub.err
	case l.kind > linkExternal:
		c.skip(c.u16())
	default:
		c.fail("type of a link is %d", l.kind)
	}
}

// denseInfo is the message of groups that may hold links densely (IV.A.2.c), and of objects that
// may hold attributes so (IV.A.2.v).
type denseInfo struct {
	heap, names, orders uint64
}

func readLinkInfo(c *cursor) denseInfo      { return readDenseInfo(c, "link information", 8) }
func readAttributeInfo(c *cursor) denseInfo { return readDenseInfo(c, "attribute information", 2) }

// readDenseInfo reads such a message, in which the number that the next in the order of creation
// gets has so many bytes.
func readDenseInfo(c *cursor, what string, width int) denseInfo {
	c.version(what, 0, 0)
	flags := c.u8()
	if flags&^3 != 0 {
		c.fail("flags of %s are %#x", what, flags)
	}
	if flags&1 != 0 {
		if next := c.uint(width); int64(next) < 0 {
			c.fail("next number in the order of creation is %d", int64(next))
		}
	}
	i := denseInfo{heap: c.address(), names: c.address(), orders: undefined}
	if flags&2 != 0 {
		i.orders = c.address()
	}
	return i
}

package hdf5

import "varve/readers"

const (
	maxFilters    = 32
	namedFromHere = 256 // filters below this number have no name in version 2
)

// readFilters decodes the filter pipeline (IV.A.2.l):
//
//	version 1: version, number, 6 reserved; id, name's length, flags, values' number,
//	           name padded to 8, values padded to an even number
//	version 2: version, number; no padding, no name for ids below 256
func readFilters(c *cursor) []readers.Filter {
	version := c.version("a filter pipeline", 1, 2)
	n := c.u8()
	if version == 1 {
		c.skip(6)
	}
	if n > maxFilters {
		c.fail("a pipeline has %d filters, not up to %d", n, maxFilters)
		return nil
	}
	filters := make([]readers.Filter, 0, n)
	for range n {
		filters = append(filters, readFilter(c, version))
	}
	return filters
}

func readFilter(c *cursor, version int) readers.Filter {
	f := readers.Filter{ID: c.u16()}
	length := 0
	if version == 1 || f.ID >= namedFromHere {
		length = c.u16()
	}
	if version == 1 && length%8 != 0 {
		c.fail("name of a filter is of %d bytes, which 8 does not divide", length)
	}
	f.Flags = uint32(c.u16())
	n := c.u16()
	if length > 0 {
		name := c.sub(length)
		f.Name = name.text("name of a filter")
		if c.err == nil {
			c.err = name.err
		}
	}
	if c.fits(uint64(n)*4, "size of a filter's values"); c.err != nil {
		return f
	}
	f.Values = make([]uint32, n)
	for i := range f.Values {
		f.Values[i] = uint32(c.uint(4))
	}
	if version == 1 && n%2 == 1 {
		c.skip(4)
	}
	return f
}

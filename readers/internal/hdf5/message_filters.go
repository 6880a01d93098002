package hdf5

import "varve/readers"

const (
	maxFilters       = 32
	firstNamedFilter = 256 // filters below this number have no name field in version 2
)

// readFilters decodes the filter pipeline message (IV.A.2.l):
//
//	version 1: version, number of filters, reserved (6)
//	version 2: version, number of filters
//	filter:    id (2), length of the name (2), flags (2), number of values (2), name, values
//
// Version 1 pads the name to a multiple of 8 bytes and the values to an even number. Version 2 pads
// nothing, and has no name and no length for ids below 256. For example, deflate of level 4 in
// version 2 is 02 01 0100 0100 0100 04000000.
func readFilters(c *cursor) []readers.Filter {
	version := c.version("filter pipeline", 1, 2)
	n := c.u8()
	if version == 1 {
		c.skip(6)
	}
	if n > maxFilters {
		c.fail("filter pipeline: %d filters (limit %d)", n, maxFilters)
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
	if version == 1 || f.ID >= firstNamedFilter {
		length = c.u16()
	}
	if version == 1 && length%8 != 0 {
		c.fail("filter pipeline: name of %d bytes is not a multiple of 8", length)
	}
	f.Flags = uint32(c.u16())
	n := c.u16()
	if length > 0 {
		name := c.sub(length)
		f.Name = name.text("filter pipeline: name")
		if c.err == nil {
			c.err = name.err
		}
	}
	if c.fits(uint64(n)*4, "filter pipeline: size of the values"); c.err != nil {
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

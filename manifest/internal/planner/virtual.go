package planner

import (
	"maps"
	"slices"

	"varve/manifest"
)

// virtualAxis is a dimension along which each file of a class is one position, although the files have
// no coordinate along it. The position comes from a scalar of the file, from a variable of one element,
// or from an option.
type virtualAxis struct {
	scalar *manifest.Variable // the scalar that is the position; nil if an option or another variable is
}

// withVirtual returns the class with a virtual axis. x is its coordinate, which has one element in each
// file.
func (c *class) withVirtual(x planVar, axis virtualAxis) *class {
	own := *c
	own.vars, own.dims, own.coords, own.virtual = slices.Clone(c.vars), maps.Clone(c.dims), maps.Clone(c.coords), maps.Clone(c.virtual)
	own.setCoord(x)
	if own.virtual == nil {
		own.virtual = map[string]virtualAxis{}
	}
	own.virtual[x.dims[0]] = axis
	return &own
}

// setCoord makes x the coordinate of its dimension. It replaces a variable with the same path.
func (c *class) setCoord(x planVar) {
	at, there := c.search(x.path)
	if there {
		c.vars[at] = x
	} else {
		c.vars = slices.Insert(c.vars, at, x)
		// The insertion moved the variables after it.
		for dim, i := range c.coords {
			if i >= at {
				c.coords[dim]++
			}
		}
	}
	c.dims[x.dims[0]] = manifest.Dimension{Path: x.dims[0], Length: 1}
	if x.path == x.dims[0] {
		c.coords[x.path] = at
	}
}

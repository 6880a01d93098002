package hdf5

import "varve/readers"

// FillTime says when a library writes the fill value.
type FillTime uint8

// The fill times.
const (
	FillAtAlloc FillTime = iota
	FillNever
	FillIfSet
)

// String names the fill time.
func (t FillTime) String() string { return [...]string{"alloc", "never", "ifset"}[min(t, FillIfSet)] }

// AllocTime says when a library allocates storage.
type AllocTime uint8

// The allocation times.
const (
	AllocDefault AllocTime = iota
	AllocEarly
	AllocLate
	AllocIncremental
)

// String names the allocation time.
func (t AllocTime) String() string {
	return [...]string{"default", "early", "late", "incr"}[min(t, AllocIncremental)]
}

// fillValue is IV.A.2.e and f.
type fillValue struct {
	state readers.FillState
	time  FillTime
	alloc AllocTime
	value []byte // as stored
}

// readFill decodes the messages of versions 1 to 3.
func readFill(c *cursor) fillValue {
	if c.version("a fill value", 1, 3) == 3 {
		return readFill3(c)
	}
	v := fillValue{}
	v.readTimes(c, c.u8(), c.u8())
	if c.u8() == 0 {
		v.state = readers.FillUndefined
		return v
	}
	size := int32(c.u32())
	if size < 0 {
		v.state = readers.FillUndefined
	}
	if size > 0 {
		v.state, v.value = readers.FillUser, c.take(int(size))
	}
	return v
}

// readTimes takes the times when storage is allocated and when the fill value is written. libhdf5 takes
// any number for the second, and then writes and reads whatever memory held.
func (v *fillValue) readTimes(c *cursor, alloc, fill int) {
	if alloc > int(AllocIncremental) || fill > int(FillIfSet) {
		c.fail("times of a fill value are %d and %d", alloc, fill)
	}
	v.alloc, v.time = AllocTime(alloc), FillTime(fill)
}

func readFill3(c *cursor) fillValue {
	flags := c.u8()
	v := fillValue{}
	v.readTimes(c, flags&3, flags>>2&3)
	switch flags >> 4 {
	case 0:
	case 1:
		v.state = readers.FillUndefined
	case 2:
		v.state, v.value = readers.FillUser, c.take(c.u32())
		if len(v.value) == 0 {
			c.fail("a fill value is of no bytes")
		}
	default:
		c.fail("flags of a fill value are %#x", flags)
	}
	return v
}

// readOldFill decodes the message that HDF5 before 1.6 wrote.
func readOldFill(c *cursor) fillValue {
	v := fillValue{time: FillIfSet, state: readers.FillUndefined}
	if v.value = c.take(c.u32()); len(v.value) > 0 {
		v.state = readers.FillUser
	}
	return v
}

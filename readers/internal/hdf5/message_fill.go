package hdf5

import "varve/readers"

// FillTime says when the library writes the fill value.
type FillTime uint8

// The fill times.
const (
	FillAtAlloc FillTime = iota
	FillNever
	FillIfSet
)

// String returns the fill time as h5dump prints it.
func (t FillTime) String() string { return [...]string{"alloc", "never", "ifset"}[min(t, FillIfSet)] }

// AllocTime says when the library allocates storage.
type AllocTime uint8

// The allocation times.
const (
	AllocDefault AllocTime = iota
	AllocEarly
	AllocLate
	AllocIncremental
)

// String returns the allocation time as h5dump prints it.
func (t AllocTime) String() string {
	return [...]string{"default", "early", "late", "incr"}[min(t, AllocIncremental)]
}

// fillValue is a decoded fill value message (IV.A.2.e and f). Version 3:
//
//	0   version 3 (1 byte)
//	1   flags (1 byte): allocation time (bits 0-1), fill time (bits 2-3),
//	    undefined (bit 4), defined (bit 5)
//	2   size (4 bytes) and value, if defined
//
// For example, 03 22 02000000 FFFF is the value 0xFFFF, with late allocation, written at
// allocation. Versions 1 and 2 have one byte for each of these fields.
type fillValue struct {
	state readers.FillState
	time  FillTime
	alloc AllocTime
	value []byte // as stored
}

// readFill decodes a fill value message of version 1 to 3.
func readFill(c *cursor) fillValue {
	if c.version("fill value", 1, 3) == 3 {
		return readFill3(c)
	}
	v := fillValue{}
	v.readTimes(c, c.u8(), c.u8())
	if c.u8() == 0 {
		v.state = readers.FillUndefined
		return v
	}
	// A size of -1 means that the fill value is undefined.
	size := int32(c.u32())
	if size < 0 {
		v.state = readers.FillUndefined
	}
	if size > 0 {
		v.state, v.value = readers.FillUser, c.take(int(size))
	}
	return v
}

// readTimes sets the allocation time and the fill time. It rejects undefined fill times. libhdf5
// accepts them and then writes and reads uninitialized memory.
func (v *fillValue) readTimes(c *cursor, alloc, fill int) {
	if alloc > int(AllocIncremental) || fill > int(FillIfSet) {
		c.fail("fill value: allocation time is %d and fill time is %d (want 0 to 3 and 0 to 2)", alloc, fill)
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
			c.fail("fill value: size is 0")
		}
	default:
		c.fail("fill value: flags are %#x (undefined and defined exclude each other)", flags)
	}
	return v
}

// readOldFill decodes the fill value message of HDF5 before 1.6.
func readOldFill(c *cursor) fillValue {
	v := fillValue{time: FillIfSet, state: readers.FillUndefined}
	if v.value = c.take(c.u32()); len(v.value) > 0 {
		v.state = readers.FillUser
	}
	return v
}

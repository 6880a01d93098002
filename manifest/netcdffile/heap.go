package netcdffile

// heap holds values of varying length: a list of global heap collections.
//
//	"GCOL" 1 0 0 0  size u64    objects…
//	object          index u16  references u16  0 u32  length u64  bytes… padded to 8
type heap struct {
	packer
	base  int64 // its address in the file
	begin int   // of the collection that is being filled; all before it are complete
	count int   // objects in that collection; 0 if none is being filled
}

const (
	heapHeader   = 16
	heapObject   = 16    // the header of an object
	leastHeap    = 4096  // libhdf5 expects no smaller collection
	fullHeap     = 65536 // a collection of this size gets no more objects
	maxObjects   = 32768 // of a collection, whose numbers have 16 bits
	heapSizeFrom = 8
)

// add adds a value and returns the element that refers to it: its count of elements, and its place. Nothing is stored of an
// empty value.
func (h *heap) add(value []byte, count int) []byte {
	if len(value) == 0 {
		return make([]byte, varyingSize)
	}
	if h.count > 0 && (len(h.b)-h.begin+len(value) > fullHeap || h.count == maxObjects) {
		h.close()
	}
	if h.count == 0 {
		h.begin = len(h.b)
		h.text("GCOL")
		h.u8(1, 0, 0, 0)
		h.u64(0)
	}
	h.count++
	h.u16(uint16(h.count))
	h.u16(1)
	h.u32(0)
	h.u64(uint64(len(value)))
	h.u8(value...)
	h.fill(8)
	return packed(func(p *packer) {
		p.u32(uint32(count))
		p.u64(uint64(h.base + int64(h.begin)))
		p.u32(uint32(h.count))
	})
}

// addText is add for a text. An empty text is stored as one NUL, since libhdf5 reads nothing as a null pointer.
func (h *heap) addText(text []byte) []byte {
	if len(text) == 0 {
		text = []byte{0}
	}
	return h.add(text, len(text))
}

// close completes the last collection.
func (h *heap) close() {
	if h.count == 0 {
		return
	}
	if free := leastHeap - (len(h.b) - h.begin); free > 0 {
		// Object 0 is free space, whose length includes its header.
		if free >= heapObject {
			h.u64(0)
			h.u64(uint64(free))
			free -= heapObject
		}
		h.u8(make([]byte, free)...)
	}
	size := packer{}
	size.u64(uint64(len(h.b) - h.begin))
	copy(h.b[h.begin+heapSizeFrom:], size.b)
	h.count = 0
}

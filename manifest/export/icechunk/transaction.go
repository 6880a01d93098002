package icechunk

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"io"
	"math/bits"
	"slices"

	"varve/grid"
)

// transaction is the table TransactionLog: what a commit changed.
type transaction struct {
	id                           objectID
	newGroups, newArrays         []nodeID
	updatedArrays, updatedGroups []nodeID
	deletedArrays, deletedGroups []nodeID
	chunks                       []*written
}

// written are the chunks of an array that a commit wrote: a bit for each of the grid.
type written struct {
	node nodeID
	grid *grid.Grid
	bits []uint64
	n    int64
}

func newWritten(id nodeID, g *grid.Grid) *written {
	return &written{node: id, grid: g, bits: make([]uint64, (g.Chunks()+63)/64)}
}

// add notes a chunk by its number in C order, once.
func (w *written) add(number int64) {
	w.bits[number/64] |= 1 << (number % 64)
	w.n++
}

// each calls do with the coordinates of every chunk, in C order.
func (w *written) each(do func(coords []int64) error) error {
	coords := make([]int64, w.grid.Rank())
	for i, word := range w.bits {
		for ; word != 0; word &= word - 1 {
			w.grid.Coords(int64(i)*64+int64(bits.TrailingZeros64(word)), coords)
			if err := do(coords); err != nil {
				return err
			}
		}
	}
	return nil
}

// A record is the table of a chunk's coordinates, and they:
//
//	vtable(8)  8(4)  4(4)  rank(4)  coordinates(4 each)
//
// Each has its own vtable, as in a manifest.
const chunkRecord = 20

func (w *written) stride() int64 { return chunkRecord + 4*int64(w.grid.Rank()) }

// empty reports whether the commit changes nothing.
func (t *transaction) empty() bool {
	return len(t.newGroups)+len(t.newArrays)+len(t.updatedArrays)+len(t.updatedGroups)+len(t.deletedArrays)+len(t.deletedGroups)+len(t.chunks) == 0
}

// readable reports whether Icechunk can read the log: it stops at 50 million tables, and
// FlatBuffers at 2 GiB.
func (t *transaction) readable() bool {
	size, tables := int64(1<<20), int64(0)
	for _, c := range t.chunks {
		size, tables = size+c.size(), tables+c.n+1
	}
	return size <= maxBuffer && tables < 50_000_000
}

// size is how many bytes the chunks take.
func (w *written) size() int64 { return arrayHead + w.n*(4+w.stride()) }

// write writes the buffer of the table. Where everything is in it is known from the numbers
// of chunks, so that it needs no memory for them.
//
//	what build makes of the table, but for the offsets in updated_chunks
//	for each array:  ArrayUpdatedChunks  offsets of records  records
func (t *transaction) write(w io.Writer) error {
	slices.SortFunc(t.chunks, func(a, b *written) int { return slices.Compare(a.node[:], b.node[:]) })
	head, list := t.head()
	at := int64(len(head))
	for i, c := range t.chunks {
		binary.LittleEndian.PutUint32(head[list+4*i:], uint32(at+vtableSize-int64(list+4*i)))
		at += c.size()
	}
	out := bufio.NewWriterSize(w, 1<<16)
	_, err := out.Write(head)
	at = int64(len(head))
	for _, c := range t.chunks {
		if err == nil {
			err = c.write(out, at)
		}
		at += c.size()
	}
	return cmp.Or(err, out.Flush())
}

// The vtables, padded to 8 bytes.
var (
	updatedTable = [4]uint16{8, 16, 4, 12}
	indicesTable = [4]uint16{6, 8, 4}
)

const (
	vtableSize = 8
	arrayHead  = vtableSize + 16 + 4 // ArrayUpdatedChunks with its vtable, and the number of chunks
)

// head returns what stands in front of the chunks, and where the offsets of arrays are: at
// its end.
func (t *transaction) head() (head []byte, list int) {
	head = build(fields{structure(t.id[:]), sorted(t.newGroups), sorted(t.newArrays), sorted(t.deletedGroups),
		sorted(t.deletedArrays), sorted(t.updatedArrays), sorted(t.updatedGroups), later(len(t.chunks))})
	return head, len(head) - offsetSize*len(t.chunks)
}

// write writes the chunks of one array, from a place in the buffer on.
func (w *written) write(out *bufio.Writer, at int64) error {
	head := appendTable(make([]byte, 0, arrayHead), updatedTable)
	head = append(head, w.node[:]...)
	head = binary.LittleEndian.AppendUint32(head, 4) // on to the number of chunks
	head = binary.LittleEndian.AppendUint32(head, uint32(w.n))
	if _, err := out.Write(head); err != nil {
		return err
	}
	list, stride := at+arrayHead, w.stride()
	records := list + 4*w.n
	for i := range w.n {
		offset := binary.LittleEndian.AppendUint32(out.AvailableBuffer(), uint32(records+i*stride+vtableSize-list-4*i))
		if _, err := out.Write(offset); err != nil {
			return err
		}
	}
	b := appendTable(make([]byte, 0, stride), indicesTable)
	b = binary.LittleEndian.AppendUint32(b, 4) // on to the coordinates
	b = binary.LittleEndian.AppendUint32(b, uint32(w.grid.Rank()))[:stride]
	return w.each(func(coords []int64) error {
		for i, c := range coords {
			binary.LittleEndian.PutUint32(b[chunkRecord+4*i:], uint32(c))
		}
		_, err := out.Write(b)
		return err
	})
}

// appendTable appends a vtable and the beginning of its table.
func appendTable(b []byte, vtable [4]uint16) []byte {
	for _, v := range vtable {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return binary.LittleEndian.AppendUint32(b, vtableSize)
}

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

// transaction is the table TransactionLog: the changes of a commit.
type transaction struct {
	id                           objectID
	newGroups, newArrays         []nodeID
	updatedArrays, updatedGroups []nodeID
	deletedArrays, deletedGroups []nodeID
	chunks                       []*written
}

// written is the set of an array's chunks that a commit wrote, with one bit per chunk of the grid.
type written struct {
	node nodeID
	grid *grid.Grid
	bits []uint64
	n    int64
}

func newWritten(id nodeID, g *grid.Grid) *written {
	return &written{node: id, grid: g, bits: make([]uint64, (g.Chunks()+63)/64)}
}

// add adds a chunk by its number in C order. The number must not be in the set.
func (w *written) add(number int64) {
	w.bits[number/64] |= 1 << (number % 64)
	w.n++
}

// each calls do with the coordinates of every chunk, in C order.
func (w *written) each(do func(coords []int64) error) error {
	coords := make([]int64, w.grid.Rank())
	for i, word := range w.bits {
		// word & (word-1) clears the lowest set bit.
		for ; word != 0; word &= word - 1 {
			w.grid.Coords(int64(i)*64+int64(bits.TrailingZeros64(word)), coords)
			if err := do(coords); err != nil {
				return err
			}
		}
	}
	return nil
}

// A chunk record is the table of a chunk's coordinates, followed by them:
//
//	vtable(8)  8(4)  4(4)  rank(4)  coordinates(4 each)
//
// Each record has its own vtable, as in a manifest.
const chunkRecord = 20

func (w *written) stride() int64 { return chunkRecord + 4*int64(w.grid.Rank()) }

// isEmpty reports whether the commit changes nothing.
func (t *transaction) isEmpty() bool {
	return len(t.newGroups)+len(t.newArrays)+len(t.updatedArrays)+len(t.updatedGroups)+len(t.deletedArrays)+len(t.deletedGroups)+len(t.chunks) == 0
}

// isReadable reports whether Icechunk can read the log: its limits are 50 million tables and, from
// FlatBuffers, 2 GiB.
func (t *transaction) isReadable() bool {
	size, tables := int64(1<<20), int64(0)
	for _, c := range t.chunks {
		size, tables = size+c.size(), tables+c.n+1
	}
	return size <= maxBuffer && tables < 50_000_000
}

// size returns the encoded size of the chunks in bytes.
func (w *written) size() int64 { return arrayHead + w.n*(4+w.stride()) }

// write encodes the table. All positions follow from the numbers of chunks, so it streams without a buffer.
//
//	the table as build writes it, with empty offsets in updated_chunks
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

// Vtables, padded to 8 bytes.
var (
	updatedTable = [4]uint16{8, 16, 4, 12}
	indicesTable = [4]uint16{6, 8, 4}
)

const (
	vtableSize = 8
	arrayHead  = vtableSize + 16 + 4 // ArrayUpdatedChunks with its vtable, and the number of chunks
)

// head returns the bytes before the chunks, and the position of the offsets of arrays, which are at its end.
func (t *transaction) head() (head []byte, list int) {
	head = build(fields{structure(t.id[:]), sorted(t.newGroups), sorted(t.newArrays), sorted(t.deletedGroups),
		sorted(t.deletedArrays), sorted(t.updatedArrays), sorted(t.updatedGroups), later(len(t.chunks))})
	return head, len(head) - offsetSize*len(t.chunks)
}

// write encodes the chunks of one array; at is the position in the buffer.
func (w *written) write(out *bufio.Writer, at int64) error {
	head := appendTable(make([]byte, 0, arrayHead), updatedTable)
	head = append(head, w.node[:]...)
	head = binary.LittleEndian.AppendUint32(head, 4) // distance to the number of chunks
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
	b = binary.LittleEndian.AppendUint32(b, 4) // distance to the coordinates
	b = binary.LittleEndian.AppendUint32(b, uint32(w.grid.Rank()))[:stride]
	// Records differ only in the coordinates, so one buffer serves all.
	return w.each(func(coords []int64) error {
		for i, c := range coords {
			binary.LittleEndian.PutUint32(b[chunkRecord+4*i:], uint32(c))
		}
		_, err := out.Write(b)
		return err
	})
}

// appendTable appends a vtable and the distance to it, with which a table begins.
func appendTable(b []byte, vtable [4]uint16) []byte {
	for _, v := range vtable {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return binary.LittleEndian.AppendUint32(b, vtableSize)
}

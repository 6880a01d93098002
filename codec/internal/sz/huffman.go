package sz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// tree is a Huffman code. It is stored as lists of its n nodes, the root first, parents before children:
//
//	up to 256 nodes    [byte order][u8  left  …][u8  right …][u32 le symbol …][u8 leaf …]
//	up to 65536        [byte order][u16 left  …][u16 right …][u32 le symbol …][u8 leaf …]
//	more               [byte order][u32 left  …][u32 right …][u32 le symbol …][u8 leaf …]
//
// Each list has n numbers, little-endian. A byte order other than 0 means that a big-endian machine wrote
// the stream.
type tree struct {
	nodes []node
	width int      // number of bits that index table
	table []prefix // for each possible next `width` bits: the node they lead to
	walk  []prefix // stack for building table
}

// node is a node of a tree. It is a leaf if left is 0.
type node struct {
	left, right int32
	symbol      int32
}

// prefix is the beginning of a code: bits that lead from the root to a node.
type prefix struct {
	node int32
	bits int32
}

// treeSize returns the stored size of a tree of n nodes, in bytes.
func treeSize(n int) int { return 1 + n*(2*pointerSize(n)+4+1) }

// pointerSize returns the bytes of a left or right number in a tree of n nodes.
func pointerSize(n int) int {
	switch {
	case n <= 256:
		return 1
	case n <= 65536:
		return 2
	}
	return 4
}

// read reads a tree of count nodes from src. symbols is the number of symbols to decode with it.
func (t *tree) read(src []byte, count, symbols int) error {
	if count < 1 || count > len(src) || len(src) < treeSize(count) {
		return corrupt.Errorf("sz: a Huffman tree of %d nodes does not fit in the %d bytes left", count, len(src))
	}
	if src[0] != 0 {
		return fmt.Errorf("sz: stream written by a big-endian machine: %w", errors.ErrUnsupported)
	}
	size := pointerSize(count)
	left := src[1:]
	right := left[count*size:]
	symbol := right[count*size:]
	leaf := symbol[count*4:]
	t.nodes = grow(t.nodes, count)
	for i := range t.nodes {
		n := node{symbol: int32(binary.LittleEndian.Uint32(symbol[4*i:]))}
		// libSZ does not read the leaf mark of the only node of a large tree, but no encoder writes one.
		if leaf[i] == 0 {
			n.left, n.right = pointer(left, i, size), pointer(right, i, size)
			if int(n.left) <= i || int(n.right) <= i || int(n.left) >= count || int(n.right) >= count {
				return corrupt.Errorf("sz: Huffman tree: node %d of %d has children %d and %d, both must follow it", i, count, n.left, n.right)
			}
		}
		t.nodes[i] = n
	}
	t.index(symbols)
	return nil
}

// pointer returns number i of a list of left or right numbers.
func pointer(b []byte, i, size int) int32 {
	switch size {
	case 1:
		return int32(b[i])
	case 2:
		return int32(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return int32(min(binary.LittleEndian.Uint32(b[4*i:]), 1<<31-1))
}

// index builds the table. More symbols to decode justify a larger table.
func (t *tree) index(symbols int) {
	t.width = min(max(bits.Len(uint(symbols))-3, 3), 12, bits.Len(uint(len(t.nodes)))+1)
	t.table = grow(t.table, 1<<t.width)
	at := 0 // the walk visits prefixes in ascending order
	t.walk = append(t.walk[:0], prefix{})
	for len(t.walk) > 0 {
		p := t.walk[len(t.walk)-1]
		t.walk = t.walk[:len(t.walk)-1]
		n := &t.nodes[p.node]
		if n.left != 0 && int(p.bits) < t.width {
			t.walk = append(t.walk, prefix{n.right, p.bits + 1}, prefix{n.left, p.bits + 1})
			continue
		}
		for end := at + 1<<(t.width-int(p.bits)); at < end; at++ {
			t.table[at] = p
		}
	}
}

// relabel replaces the symbols other than 0 by consecutive numbers from 1 on. It returns the symbol of
// each number.
func (t *tree) relabel() []int32 {
	symbols := []int32{0}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.left == 0 && n.symbol != 0 {
			symbols = append(symbols, n.symbol)
			n.symbol = int32(len(symbols) - 1)
		}
	}
	return symbols
}

// decode fills dst with the symbols of the codes in src. Bits are read from the most significant bit of a
// byte down.
func (t *tree) decode(dst []int32, src []byte) error {
	if t.nodes[0].left == 0 { // a single symbol has a code without bits
		for i := range dst {
			dst[i] = t.nodes[0].symbol
		}
		return nil
	}
	bit, shift := 0, 64-t.width
	for i := range dst {
		p := t.table[bitstream.At(src, bit)>>shift]
		bit += int(p.bits)
		n := &t.nodes[p.node]
		for n.left != 0 {
			if bit >= 8*len(src) {
				break
			}
			next := n.left
			if src[bit>>3]<<(bit&7)&0x80 != 0 {
				next = n.right
			}
			n = &t.nodes[next]
			bit++
		}
		if bit > 8*len(src) || n.left != 0 {
			return corrupt.Errorf("sz: the Huffman codes (%d bytes) end after %d of %d symbols", len(src), i, len(dst))
		}
		dst[i] = n.symbol
	}
	return nil
}

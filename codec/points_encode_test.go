package codec

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// splitEncoders encode bytes in parts that can be decoded alone. The encoders of the pipeline cannot do this, or there
// are none.
var splitEncoders = map[string]func(t *testing.T, rng *rand.Rand, b []byte) []byte{
	"zstd":           zstdFrames,
	"numcodecs.bz2":  bzip2Blocks,
	"numcodecs.lzma": xzBlocks,
}

// parts divides bytes into parts of random lengths up to most.
func parts(rng *rand.Rand, b []byte, most int) (list [][]byte) {
	for len(b) > 0 {
		n := min(len(b), 1+rng.IntN(most))
		list, b = append(list, b[:n]), b[n:]
	}
	return list
}

func zstdFrames(t *testing.T, rng *rand.Rand, b []byte) (out []byte) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, part := range parts(rng, b, 100_000) {
		out = e.EncodeAll(part, out)
	}
	return out
}

// xzBlocks writes streams of several blocks, of LZMA2 chunks that are not compressed.
func xzBlocks(_ *testing.T, rng *rand.Rand, b []byte) (out []byte) {
	sum := func(part []byte) []byte { return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(part)) }
	padded := func(part []byte) []byte { return append(part, make([]byte, -len(part)&3)...) }
	flags := []byte{0, 1} // CRC-32
	for _, stream := range parts(rng, b, 500_000) {
		out = append(append(append(out, "\xfd7zXZ\x00"...), flags...), sum(flags)...)
		index, blocks := []byte(nil), parts(rng, stream, 150_000)
		for _, text := range blocks {
			header := []byte{2, 0, 0x21, 1, 0x16, 0, 0, 0}
			block := append(header, sum(header)...)
			for i, chunk := range parts(rng, text, 1<<16) {
				block = append(block, byte(min(2, 1+i)), byte((len(chunk)-1)>>8), byte(len(chunk)-1))
				block = append(block, chunk...)
			}
			block = append(block, 0)
			index = binary.AppendUvarint(binary.AppendUvarint(index, uint64(len(block)+4)), uint64(len(text)))
			out = append(append(out, padded(block)...), sum(text)...)
		}
		index = padded(append(binary.AppendUvarint([]byte{0}, uint64(len(blocks))), index...))
		index = append(index, sum(index)...)
		footer := append(binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1)), flags...)
		out = append(append(append(append(out, index...), sum(footer)...), footer...), "YZ"...)
	}
	return out
}

// bitWriter writes bits from the most significant bit of each byte down.
type bitWriter struct {
	b    []byte
	bits int
}

func (w *bitWriter) write(v uint64, n int) {
	for n--; n >= 0; n-- {
		if w.bits%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.bits/8] |= byte(v>>n&1) << (7 - w.bits%8)
		w.bits++
	}
}

// bzip2Blocks writes a bzip2 stream of several blocks, with Huffman codes of equal lengths.
func bzip2Blocks(_ *testing.T, rng *rand.Rand, b []byte) []byte {
	w := &bitWriter{}
	w.write('B'<<24|'Z'<<16|'h'<<8|'9', 32)
	total := uint32(0)
	for _, text := range parts(rng, b, 60_000) {
		sum := bzip2Sum(text)
		total = (total<<1 | total>>31) ^ sum
		w.write(0x314159265359, 48)
		w.write(uint64(sum), 32)
		bzip2Block(w, text)
	}
	w.write(0x177245385090, 48)
	w.write(uint64(total), 32)
	return w.b
}

// bzip2Sum returns the CRC-32 of bzip2: the most significant bit first.
func bzip2Sum(text []byte) uint32 {
	sum := ^uint32(0)
	for _, c := range text {
		sum ^= uint32(c) << 24
		for range 8 {
			sum = sum<<1 ^ 0x04c11db7*(sum>>31)
		}
	}
	return ^sum
}

func bzip2Block(w *bitWriter, text []byte) {
	var runs []byte // the text, in which four equal bytes are followed by a number of repeats
	for len(text) > 0 {
		n := 1
		for n < len(text) && n < 259 && text[n] == text[0] {
			n++
		}
		runs = append(runs, text[:min(n, 4)]...)
		if n >= 4 {
			runs = append(runs, byte(n-4))
		}
		text = text[n:]
	}
	order := sortedRotations(runs)
	w.write(0, 1) // not randomised
	w.write(uint64(slices.Index(order, 0)), 24)
	var used [256]bool
	for _, c := range runs {
		used[c] = true
	}
	var front []byte // the move-to-front list
	for row := range 16 {
		w.write(uint64(bit(slices.Contains(used[16*row:16*row+16], true))), 1)
	}
	for row := range 16 {
		if slices.Contains(used[16*row:16*row+16], true) {
			for i := range 16 {
				w.write(uint64(bit(used[16*row+i])), 1)
				if used[16*row+i] {
					front = append(front, byte(16*row+i))
				}
			}
		}
	}
	count := len(front) + 2
	var symbols []uint64
	zeros := 0
	flush := func() {
		for ; zeros > 0; zeros = (zeros - 1) / 2 {
			symbols = append(symbols, uint64(1-zeros&1))
		}
	}
	for _, i := range order {
		c := runs[(i+len(runs)-1)%len(runs)]
		at := slices.Index(front, c)
		if at == 0 {
			zeros++
			continue
		}
		flush()
		copy(front[1:at+1], front[:at])
		front[0] = c
		symbols = append(symbols, uint64(at+1))
	}
	flush()
	symbols = append(symbols, uint64(count-1))
	selectors := (len(symbols) + 49) / 50
	w.write(2, 3)
	w.write(uint64(selectors), 15)
	w.write(0, selectors) // each group has the first code
	for range 2 {
		w.write(9, 5) // 9 bits hold any symbol
		w.write(0, count)
	}
	for _, s := range symbols {
		w.write(s, 9)
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sortedRotations returns the starts of the rotations of a text in their order. It sorts by the first 1, 2, 4 … bytes.
func sortedRotations(text []byte) []int {
	n := len(text)
	order, rank, next := make([]int, n), make([]int, n), make([]int, n)
	for i, c := range text {
		order[i], rank[i] = i, int(c)
	}
	for k := 0; ; k = max(1, 2*k) {
		key := func(i int) uint64 { return uint64(rank[i])<<32 | uint64(rank[(i+k)%n]) }
		slices.SortFunc(order, func(a, b int) int {
			switch x, y := key(a), key(b); {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		distinct := 1
		for i, at := range order {
			next[at] = 0
			if i > 0 {
				next[at] = next[order[i-1]]
				if key(at) != key(order[i-1]) {
					next[at] = i
					distinct++
				}
			}
		}
		rank, next = next, rank
		if k >= n || distinct == n {
			return order
		}
	}
}

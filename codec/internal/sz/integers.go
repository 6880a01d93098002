package sz

import (
	"encoding/binary"
	"math"

	"varve/codec/internal/corrupt"
)

// integers decodes one stream of integers. Its body is
//
//	u32 maximum of intervals   u32 intervals   i64 least value   f64 bound
//	size bytes of types   size number of stored values   size their bytes
//	types   stored values: differences from the least value
//
// Elements are computed as int64, which holds the values of all types, and the bits of a uint64.
type integers struct {
	*Chunk
	header
	*workspace
	body   []byte
	radius int32
	bound  float64
	least  int64
	stored []byte // stored values that are not yet read

	isShort bool // more values were needed than are stored
	round   func(predicted int64, add float64) int64
}

// decode decodes the body to dst, little-endian.
func (g *integers) decode(dst []byte) error {
	types, err := g.fields()
	if err != nil {
		return err
	}
	if g.exactBytes > g.size || g.exactBytes == 0 {
		return corrupt.Errorf("sz: %d bytes per stored value, must be 1 to %d", g.exactBytes, g.size)
	}
	if err := g.readTypes(types, g.count); err != nil {
		return err
	}
	if err := g.decodeTypes(g.count); err != nil {
		return err
	}
	g.round = rounds[g.kind]
	out := make([]int64, g.count)
	switch d := g.dims; len(d) {
	case 1:
		walkLine(g, out, g.types)
	case 4:
		for n, at := d[1]*d[2]*d[3], 0; at < len(out); at += n {
			walk(g, out[at:at+n], g.types[at:], [3]int(d[1:]))
		}
	default:
		walk(g, out, g.types, g.three())
	}
	if g.isShort {
		return corrupt.Errorf("sz: fewer values are stored than the types need")
	}
	putIntegers(dst, out, g.size)
	return nil
}

// fields reads the body's fields and returns the types.
func (g *integers) fields() ([]byte, error) {
	r := cursor{buf: g.body}
	r.u32()
	g.radius = int32(r.u32()) / 2
	g.least = int64(r.u64())
	g.bound = math.Float64frombits(r.u64())
	types := r.size(g.sizeBytes)
	r.size(g.sizeBytes)
	stored := r.size(g.sizeBytes)
	b := r.bytes(types, "types")
	g.stored = r.bytes(stored, "values")
	return b, r.err
}

// first returns the next stored value. If there is none, it returns 0 and sets isShort.
func (g *integers) first() int64 {
	n := g.exactBytes
	if len(g.stored) < n {
		g.isShort = true
		return 0
	}
	var room [8]byte
	copy(room[8-n:], g.stored[:n])
	g.stored = g.stored[n:]
	return g.wrap(int64(binary.BigEndian.Uint64(room[:])) + g.least)
}

// wrap returns a value modulo the type's width.
func (g *integers) wrap(v int64) int64 {
	unused := 64 - 8*g.size
	if g.kind%2 == 0 { // unsigned types have even numbers
		return int64(uint64(v) << unused >> unused)
	}
	return v << unused >> unused
}

func (g *integers) value(t int32, predicted int64) int64 {
	if t == 0 {
		return g.first()
	}
	return g.round(predicted, float64(2*(t-g.radius))*g.bound)
}

func (g *integers) beyond() int64 { return 0 }

func (g *integers) line(l, ll int64) int64 { return 2*l - ll }

func (g *integers) corner(n *neighbours[int64]) int64 {
	return n.l + n.u + n.b - n.ul - n.bu - n.bl + n.bul
}

// rounds holds for each type the function that adds a float64 to a prediction and converts the sum to an
// integer, with the results of libSZ compiled for amd64. Predictions of types of 32 and 64 bits are
// modulo their width; sums of smaller types are limited to their range.
var rounds = [kinds]func(int64, float64) int64{
	uint8s: func(p int64, add float64) int64 { return min(max(truncate(float64(p)+add), 0), math.MaxUint8) },
	int8s: func(p int64, add float64) int64 {
		return min(max(truncate(float64(p)+add), math.MinInt8), math.MaxInt8)
	},
	uint16s: func(p int64, add float64) int64 { return min(max(truncate(float64(p)+add), 0), math.MaxUint16) },
	int16s: func(p int64, add float64) int64 {
		return min(max(truncate(float64(p)+add), math.MinInt16), math.MaxInt16)
	},
	uint32s: func(p int64, add float64) int64 { return int64(uint32(truncate(float64(uint32(p)) + add))) },
	int32s:  func(p int64, add float64) int64 { return truncate32(float64(int32(p)) + add) },
	uint64s: func(p int64, add float64) int64 { return truncateUnsigned(float64(uint64(p)) + add) },
	int64s:  func(p int64, add float64) int64 { return truncate(float64(p) + add) },
}

// truncate converts to int64 like the processor: numbers out of range give the least int64.
func truncate(v float64) int64 {
	if v >= -0x1p63 && v < 0x1p63 {
		return int64(v)
	}
	return math.MinInt64
}

// truncate32 converts to int32 like the processor.
func truncate32(v float64) int64 {
	if v > math.MinInt32-1 && v < math.MaxInt32+1 {
		return int64(v)
	}
	return math.MinInt32
}

// truncateUnsigned converts to uint64 like the code that C compilers generate.
func truncateUnsigned(v float64) int64 {
	if v >= 0x1p63 {
		return truncate(v-0x1p63) ^ math.MinInt64
	}
	return truncate(v)
}

// putIntegers writes the low size bytes of each integer, little-endian.
func putIntegers(dst []byte, src []int64, size int) {
	switch size {
	case 1:
		for i, v := range src {
			dst[i] = byte(v)
		}
	case 2:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(v))
		}
	case 4:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
		}
	case 8:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(v))
		}
	}
}

package jpeg2000

import "math/bits"

// mq is the MQ decoder (annex C). It stores the length of an interval, a, and the distance of the
// codestream from the lower end of the interval, c. A decision splits the interval. The lower part
// has length q and belongs to the less probable symbol, unless it is the longer part. If c is less
// than q, the codestream is in the lower part, which becomes the interval. Otherwise the upper part
// does: q is subtracted from a and c. When a falls below half, both are doubled, and bits of the
// codestream are added to c.
//
// Most decisions only subtract q. To subtract once instead of twice, it is subtracted from slack,
// which starts as the lesser of c and a-half, and which a and c do not include. If slack becomes
// negative, the decision needs more than the subtraction, and a and c are updated.
type mq struct {
	a, c     int64 // without slack, with 16 bits of fraction
	slack    int64
	left     uint // bits of the last byte that c has not shifted up
	src      []byte
	at       int // the last byte that was added to c
	contexts [32]context
}

// context is the state of an adaptive probability.
type context struct {
	q      int64    // probability of the less probable symbol, with 16 bits of fraction
	likely uint32   // the more probable symbol
	next   [2]uint8 // the state after it, and after the other one
}

// half is the length below which a is doubled, with 16 bits of fraction.
const half = 0x8000 << 16

// states has the states of table C.2, each for both symbols: 2i is for 0, 2i+1 for 1. The states
// after the 94th are never reached.
var states = func() (all [128]context) {
	for i, s := range [47]struct {
		q              uint16
		likely, unlike uint8
		exchange       bool
	}{
		{0x5601, 1, 1, true}, {0x3401, 2, 6, false}, {0x1801, 3, 9, false}, {0x0ac1, 4, 12, false},
		{0x0521, 5, 29, false}, {0x0221, 38, 33, false}, {0x5601, 7, 6, true}, {0x5401, 8, 14, false},
		{0x4801, 9, 14, false}, {0x3801, 10, 14, false}, {0x3001, 11, 17, false}, {0x2401, 12, 18, false},
		{0x1c01, 13, 20, false}, {0x1601, 29, 21, false}, {0x5601, 15, 14, true}, {0x5401, 16, 14, false},
		{0x5101, 17, 15, false}, {0x4801, 18, 16, false}, {0x3801, 19, 17, false}, {0x3401, 20, 18, false},
		{0x3001, 21, 19, false}, {0x2801, 22, 19, false}, {0x2401, 23, 20, false}, {0x2201, 24, 21, false},
		{0x1c01, 25, 22, false}, {0x1801, 26, 23, false}, {0x1601, 27, 24, false}, {0x1401, 28, 25, false},
		{0x1201, 29, 26, false}, {0x1101, 30, 27, false}, {0x0ac1, 31, 28, false}, {0x09c1, 32, 29, false},
		{0x08a1, 33, 30, false}, {0x0521, 34, 31, false}, {0x0441, 35, 32, false}, {0x02a1, 36, 33, false},
		{0x0221, 37, 34, false}, {0x0141, 38, 35, false}, {0x0111, 39, 36, false}, {0x0085, 40, 37, false},
		{0x0049, 41, 38, false}, {0x0025, 42, 39, false}, {0x0015, 43, 40, false}, {0x0009, 44, 41, false},
		{0x0005, 45, 42, false}, {0x0001, 45, 43, false}, {0x5601, 46, 46, false},
	} {
		for symbol := range uint8(2) {
			other := symbol
			if s.exchange {
				other = 1 - symbol
			}
			all[2*i+int(symbol)] = context{int64(s.q) << 16, uint32(symbol), [2]uint8{2*s.likely + symbol, 2*s.unlike + other}}
		}
	}
	return all
}()

// Contexts of decisions (table D.1 and the tables after it), and their initial states.
const (
	zeroContexts   = 0  // 9: whether a coefficient becomes significant
	signContexts   = 9  // 5
	refineContexts = 14 // 3
	runContext     = 17
	evenContext    = 18
	contextCount   = 19

	startOfZero = 4
	startOfRun  = 3
	startOfEven = 46
)

// resetContexts sets all contexts to their initial states.
func (m *mq) resetContexts() {
	for i := range m.contexts {
		m.contexts[i] = states[0]
	}
	m.contexts[zeroContexts] = states[2*startOfZero]
	m.contexts[runContext] = states[2*startOfRun]
	m.contexts[evenContext] = states[2*startOfEven]
}

// start begins a segment (INITDEC).
func (m *mq) start(src []byte) {
	m.src, m.at = src, 0
	m.c = m.takeByte(int64(m.peek(0))<<16) << 7
	m.left -= 7
	m.a = half
	m.settle()
}

// peek returns a byte, or ff after the end: the end is then read as a marker.
func (m *mq) peek(i int) byte {
	if i < len(m.src) {
		return m.src[i]
	}
	return 0xff
}

// takeByte adds the next byte to c (BYTEIN). After ff a bit is stuffed; ff and more than 8f is a marker,
// after which only ones are read.
func (m *mq) takeByte(c int64) int64 {
	next := int64(m.peek(m.at + 1))
	switch {
	case m.peek(m.at) != 0xff:
		m.at++
		m.left = 8
		return c + next<<8
	case next > 0x8f:
		m.left = 8
		return c + 0xff00
	default:
		m.at++
		m.left = 7
		return c + next<<9
	}
}

// settle moves as much as possible from a and c to slack.
func (m *mq) settle() {
	m.slack = min(m.a-half, m.c)
	m.a -= m.slack
	m.c -= m.slack
}

// decide returns the next symbol of a context.
func (m *mq) decide(i uint8) uint32 {
	x := &m.contexts[i&31]
	slack := m.slack - x.q
	symbol := x.likely
	if slack < 0 {
		symbol, slack = m.exhausted(x, slack)
	}
	m.slack = slack
	return symbol
}

// exhausted finishes a decision that made slack negative, and returns the slack after it. Callers with a
// loop have slack in a local variable, so it is passed and returned.
func (m *mq) exhausted(x *context, slack int64) (uint32, int64) {
	a, c, q := m.a+slack, m.c+slack, x.q
	// The conditions are hard to predict, so there are no branches: a mask is all ones if its condition
	// is true. If c is negative, the codestream is in the lower part, of length q. The more probable
	// symbol has the longer part.
	lower := c >> 63
	unlikely := uint32(lower^(q-1-a)>>63) + 1
	c += q & lower
	a += (q - a) & lower
	symbol := x.likely ^ unlikely
	*x = states[x.next[unlikely&1]&127]
	// A doubling for each bit that a is short of half.
	n := uint(bits.LeadingZeros32(uint32(a)))
	a <<= n & 63
	for n > m.left {
		n -= m.left
		c = m.takeByte(c << (m.left & 63))
	}
	m.left -= n
	c = c << (n & 63) & 0xffffffff
	slack = min(a-half, c)
	m.a, m.c = a-slack, c-slack
	return symbol, slack
}

// rawBits reads passes that are not arithmetically coded, without bits stuffed after ff.
type rawBits struct {
	src  []byte
	at   int // the next byte
	last byte
	left uint // bits of last
}

func (r *rawBits) bit() uint32 {
	if r.left == 0 {
		next := byte(0xff)
		if r.at < len(r.src) {
			next = r.src[r.at]
		}
		switch {
		case r.last == 0xff && next > 0x8f:
			r.left = 8 // a marker: only ones follow
		case r.last == 0xff:
			r.last, r.left = next, 7
			r.at++
		default:
			r.last, r.left = next, 8
			r.at++
		}
	}
	r.left--
	return uint32(r.last>>r.left) & 1
}

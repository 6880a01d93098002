package blosc

// A msgpack takes fields off the front of msgpack bytes. What is not there reads as zeros,
// which no marker is, so that checking markers finds the end too.
type msgpack struct{ src []byte }

var zeros [32]byte

// take returns the next n bytes, at most 32.
func (m *msgpack) take(n int) []byte {
	if n > len(m.src) {
		m.src = nil
		return zeros[:n]
	}
	b := m.src[:n]
	m.src = m.src[n:]
	return b
}

func (m *msgpack) skip(n int) { m.take(n) }

// marker takes a byte and says whether it is this one.
func (m *msgpack) marker(b byte) bool { return m.take(1)[0] == b }

// array takes the head of an array of up to 15 and returns its length, or -1.
func (m *msgpack) array() int {
	b := m.take(1)[0]
	if b&0xf0 != 0x90 {
		return -1
	}
	return int(b & 15)
}

// integer takes a signed integer, or returns -1.
func (m *msgpack) integer() int64 {
	switch b := m.take(1)[0]; {
	case b < 0x80:
		return int64(b)
	case b == 0xd2:
		return int64(int32(be.Uint32(m.take(4))))
	case b == 0xd3:
		return int64(be.Uint64(m.take(8)))
	}
	return -1
}

package blosc

// A msgpack reads msgpack fields one after another. Past the end it reads zeros. No marker is
// zero, so a check of markers also detects the end.
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

// marker reads a byte and reports whether it is b.
func (m *msgpack) marker(b byte) bool { return m.take(1)[0] == b }

// array reads the head of an array of up to 15 elements and returns their number, or -1 if the
// next field is no such array.
func (m *msgpack) array() int {
	b := m.take(1)[0]
	if b&0xf0 != 0x90 {
		return -1
	}
	return int(b & 15)
}

// integer reads a signed integer. It returns -1 if the next field is no integer.
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

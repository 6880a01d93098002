package icechunk

import (
	"crypto/rand"
	"fmt"
	"io"
	"sync"
)

// objectID names a snapshot, a manifest or a chunk.
type objectID [12]byte

// nodeID names an array or a group for as long as it lives, under whatever path.
type nodeID [8]byte

// firstSnapshot is the empty snapshot that every repository begins with: its name is
// 1CECHNKREP0F1RSTCMT0.
var firstSnapshot = objectID{0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34}

func (id objectID) String() string { return base32(id[:]) }

func (id nodeID) String() string { return base32(id[:]) }

// base32 writes bytes in Crockford's base 32 without padding, as ids are in names.
func base32(b []byte) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	out := make([]byte, 0, (len(b)*8+4)/5)
	bits, n := uint32(0), 0
	for _, c := range b {
		bits, n = bits<<8|uint32(c), n+8
		for ; n >= 5; n -= 5 {
			out = append(out, digits[bits>>(n-5)&31])
		}
	}
	if n > 0 {
		out = append(out, digits[bits<<(5-n)&31])
	}
	return string(out)
}

// names makes ids. They are random, as Icechunk's are; only a test gives it a source that is
// not.
type names struct {
	mu     sync.Mutex
	random io.Reader
}

func newNames(random io.Reader) *names {
	if random == nil {
		random = rand.Reader
	}
	return &names{random: random}
}

func (n *names) object() (id objectID, err error) { return id, n.fill(id[:]) }

func (n *names) node() (id nodeID, err error) { return id, n.fill(id[:]) }

func (n *names) fill(b []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := io.ReadFull(n.random, b); err != nil {
		return fmt.Errorf("making an id: %w", err)
	}
	return nil
}

package icechunk

import (
	"crypto/rand"
	"fmt"
	"io"
	"sync"

	"varve/readers/icechunk/file"
)

// objectID names a snapshot, a manifest or a chunk.
type objectID [12]byte

// nodeID names an array or a group for as long as it lives, under whatever path.
type nodeID [8]byte

// firstSnapshot is the empty snapshot that every repository begins with: its name is
// 1CECHNKREP0F1RSTCMT0.
var firstSnapshot = objectID{0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34}

func (id objectID) String() string { return file.Name(id[:]) }

func objectAt(t file.Table, n int) (id objectID) { copy(id[:], t.Struct(n, 12)); return id }

func nodeAt(t file.Table, n int) (id nodeID) { copy(id[:], t.Struct(n, 8)); return id }

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

package icechunk

import (
	"crypto/rand"
	"fmt"
	"io"
	"sync"

	"varve/readers/icechunk/file"
)

// objectID identifies a snapshot, manifest or chunk.
type objectID [12]byte

// nodeID identifies an array or group independently of its path.
type nodeID [8]byte

// firstSnapshot is the id of the empty snapshot with which every repository begins, 1CECHNKREP0F1RSTCMT0.
var firstSnapshot = objectID{0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34}

func (id objectID) String() string { return file.Name(id[:]) }

func objectAt(t file.Table, n int) (id objectID) { copy(id[:], t.Struct(n, 12)); return id }

func nodeAt(t file.Table, n int) (id nodeID) { copy(id[:], t.Struct(n, 8)); return id }

// names creates random ids, as Icechunk does. Tests set a deterministic source.
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
		return fmt.Errorf("create a random id: %w", err)
	}
	return nil
}

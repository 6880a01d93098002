package zarrtree

import (
	"bytes"
	"errors"
	"fmt"
)

// The limits of what the documents of one hierarchy declare. Each declared thing costs some hundred bytes of memory, and
// only a few in a document, so a small file could fill the memory. No real file comes near these numbers.
const (
	// maxRank limits the dimensions of an array. HDF5 and NumPy permit 32 and 64.
	maxRank = 64
	// maxEdges limits the different lengths of chunks of an array that are listed one by one.
	maxEdges = 1 << 18
	// maxListed limits the elements of an attribute.
	maxListed = 1 << 16
	// maxAttributes limits the attributes of a hierarchy, and maxElements all their elements.
	maxAttributes = 1 << 18
	maxElements   = 1 << 20
)

// checkArray returns an error if an array declares too much.
func (d *document) checkArray() error {
	if n := len(d.array.Shape); n > maxRank {
		return fmt.Errorf("has %d dimensions, more than %d: %w", n, maxRank, errors.ErrUnsupported)
	}
	edges := 0
	for _, sizes := range d.array.ChunkGrid.Sizes {
		if edges += len(sizes.Runs()); edges > maxEdges {
			return fmt.Errorf("lists more than %d lengths of chunks: %w", maxEdges, errors.ErrUnsupported)
		}
	}
	return nil
}

// takeAttributes counts the attributes of a node. It returns an error if the hierarchy has too many.
func (b *builder) takeAttributes(d *document) error {
	if b.attributes += d.attributes.Len(); b.attributes > maxAttributes {
		return fmt.Errorf("the file has more than %d attributes: %w", maxAttributes, errors.ErrUnsupported)
	}
	for _, raw := range d.attributes.All() {
		if b.elements += countItems(raw); b.elements > maxElements {
			return fmt.Errorf("the attributes of the file have more than %d elements: %w", maxElements, errors.ErrUnsupported)
		}
	}
	return nil
}

// countItems returns the number of commas in a list or an object, or 0 for any other value. Those in texts count too. A
// value that is too long counts as 0, because it is not read.
func countItems(raw []byte) int {
	if len(raw) == 0 || raw[0] != '[' && raw[0] != '{' || isTooLong(raw) {
		return 0
	}
	return bytes.Count(raw, []byte{','})
}

// isTooLong reports whether a list or an object has too many elements.
func isTooLong(raw []byte) bool {
	return len(raw) > maxListed && (raw[0] == '[' || raw[0] == '{') && bytes.Count(raw, []byte{','}) >= maxListed
}

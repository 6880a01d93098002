package mosaic

import "varve/manifest"

// Kind is the way in which a declared chunk gets its bytes.
type Kind uint8

// The kinds of chunks.
const (
	Missing   Kind = iota // nothing is stored: all elements have the fill value
	Verbatim              // the stored bytes match the schema
	Prefix                // the stored bytes start with the bytes that match the schema
	Reencoded             // everything else: decoded, converted and encoded
)

// AddTo adds a number of chunks of this kind to the counts.
func (k Kind) AddTo(c *manifest.Counts, chunks int64) {
	switch k {
	case Missing:
		c.Missing += chunks
	case Verbatim:
		c.Verbatim += chunks
	case Prefix:
		c.Prefix += chunks
	default:
		c.Reencoded += chunks
	}
}

// String returns the word for the kind in JSON and in messages.
func (k Kind) String() string {
	names := [...]string{"missing", "verbatim", "prefix", "re-encoded"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

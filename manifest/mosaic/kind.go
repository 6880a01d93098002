package mosaic

import "varve/manifest"

// Kind is how a declared chunk gets its bytes.
type Kind uint8

// The kinds.
const (
	Missing   Kind = iota // all fill: nothing is stored
	Verbatim              // the stored bytes are what the schema declares
	Prefix                // the stored bytes begin with what the schema declares
	Reencoded             // everything else: decoded, converted, encoded
)

// AddTo counts so many chunks of the kind.
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

// String is the kind as documents name it.
func (k Kind) String() string {
	names := [...]string{"missing", "verbatim", "prefix", "re-encoded"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

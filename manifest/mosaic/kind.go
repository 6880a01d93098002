package mosaic

// Kind is how a declared chunk gets its bytes.
type Kind uint8

// The kinds.
const (
	Missing  Kind = iota // all fill: nothing is stored
	Verbatim             // the stored bytes are what the face declares
	Prefix               // the stored bytes begin with what the face declares
	Rebuilt              // everything else: decoded, converted, encoded
)

// String is the kind as documents name it.
func (k Kind) String() string {
	names := [...]string{"missing", "verbatim", "prefix", "rebuilt"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

package zarrjson

import (
	"math"
	"strconv"
	"strings"
)

// KeyStyle is the name of a chunk key encoding.
type KeyStyle uint8

// The chunk key encodings of the core specification. Chunk coordinates 1, 2 become
// c/1/2 and 1.2; the chunk of an array without dimensions has the key c and 0.
const (
	DefaultKeys KeyStyle = iota // "default"
	V2Keys                      // "v2"
)

var keyStyles = [...]string{DefaultKeys: "default", V2Keys: "v2"}

// KeyEncoding converts chunk coordinates to the end of a chunk's key in the store. The
// zero value is the default encoding with a slash.
type KeyEncoding struct {
	Style     KeyStyle
	Separator byte // '/' or '.'; 0 means '/' in the style "default", '.' in "v2"
}

// Sep returns the separator, or the default of the style if none is set.
func (k KeyEncoding) Sep() byte {
	switch {
	case k.Separator != 0:
		return k.Separator
	case k.Style == V2Keys:
		return '.'
	}
	return '/'
}

// Append appends the key of a chunk to dst. It allocates only if dst has to grow.
func (k KeyEncoding) Append(dst []byte, coords []int64) []byte {
	sep := k.Sep()
	// Without coordinates, the keys are "c" and "0".
	if k.Style == DefaultKeys {
		dst = append(dst, 'c')
	} else if len(coords) == 0 {
		return append(dst, '0')
	}
	for i, c := range coords {
		if i > 0 || k.Style == DefaultKeys {
			dst = append(dst, sep)
		}
		dst = strconv.AppendInt(dst, c, 10)
	}
	return dst
}

// Parse parses a key to coords, whose length is the array's number of dimensions. It
// accepts only the keys that Append writes, so that no chunk has two keys.
func (k KeyEncoding) Parse(key string, coords []int64) bool {
	rest, sep := key, k.Sep()
	if k.Style == V2Keys && len(coords) == 0 {
		return key == "0"
	}
	if k.Style == DefaultKeys {
		var found bool
		if rest, found = strings.CutPrefix(key, "c"); !found {
			return false
		}
	}
	for i := range coords {
		if i > 0 || k.Style == DefaultKeys {
			if rest == "" || rest[0] != sep {
				return false
			}
			rest = rest[1:]
		}
		var ok bool
		if coords[i], rest, ok = parseCoordinate(rest); !ok {
			return false
		}
	}
	return rest == ""
}

// parseCoordinate parses the integer at the start of s, without sign or leading zeros.
func parseCoordinate(s string) (n int64, rest string, ok bool) {
	i := 0
	for ; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		digit := int64(s[i] - '0')
		// Check before multiplying: n·10+digit may overflow.
		if n > (math.MaxInt64-digit)/10 {
			return 0, "", false
		}
		n = n*10 + digit
	}
	if i == 0 || i > 1 && s[0] == '0' {
		return 0, "", false
	}
	return n, s[i:], true
}

func readKeyEncoding(v value) (KeyEncoding, error) {
	name, config, err := v.readExtension()
	if err != nil {
		return KeyEncoding{}, err
	}
	var k KeyEncoding
	switch name {
	case "default":
	case "v2":
		k.Style = V2Keys
	default:
		return k, unsupportedError(v.path, `%q is not a known chunk key encoding; varve reads "default" and "v2"`, abbreviate(name))
	}
	k.Separator = k.Sep()
	if s, ok := config.take("separator"); ok {
		text, err := s.readText()
		if err != nil || text != "/" && text != "." {
			return KeyEncoding{}, s.refuse(`"/" or "."`)
		}
		k.Separator = text[0]
	}
	return k, config.refuseRest("separator")
}

func (k KeyEncoding) validate() error {
	if int(k.Style) >= len(keyStyles) {
		return corruptError("chunk_key_encoding", "style %d is not DefaultKeys or V2Keys", k.Style)
	}
	if s := k.Sep(); s != '/' && s != '.' {
		return corruptError("chunk_key_encoding.configuration.separator", `%q is not "/" or "."`, s)
	}
	return nil
}

func (k KeyEncoding) write(w *writer) {
	w.begin('{')
	w.name("name")
	w.text(keyStyles[k.Style])
	w.name("configuration")
	w.begin('{')
	w.name("separator")
	w.text(string(k.Sep()))
	w.end('}')
	w.end('}')
}

package zarrjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions below take JSON text that a scanner has accepted, so they check no bounds.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipBare returns the end of the number or literal at i.
func skipBare(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\n', '\t', '\r', ',', ':', '[', ']', '{', '}', '"':
			return i
		}
		i++
	}
	return i
}

// skipString returns the end of the string at i.
func skipString(b []byte, i int) int {
	i++
	// Most strings have no backslash, so their end is the next quote.
	if n := bytes.IndexByte(b[i:], '"'); bytes.IndexByte(b[i:i+n], '\\') < 0 {
		return i + n + 1
	}
	for ; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the end of the value at i.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
	default:
		return skipBare(b, i)
	}
	// Count brackets instead of recursing: the text is known to be balanced.
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if i++; depth == 0 {
			return i
		}
	}
}

// unquote decodes a string. It fails for half of a surrogate pair, which is no character.
// Python accepts it; varve refuses it only when the text is needed.
func unquote(quoted []byte) (string, bool) {
	b := quoted[1 : len(quoted)-1]
	plain := 0
	for plain < len(b) && b[plain] != '\\' {
		plain++
	}
	if plain == len(b) {
		return string(b), true
	}
	out := append(make([]byte, 0, len(b)), b[:plain]...)
	for i := plain; i < len(b); {
		if b[i] != '\\' {
			out = append(out, b[i])
			i++
			continue
		}
		r, n := decodeEscape(b[i:])
		if n == 0 {
			return "", false
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return string(out), true
}

// decodeEscape decodes the escape sequence at the start of b. It returns the sequence's
// length, or 0 for half of a surrogate pair.
func decodeEscape(b []byte) (rune, int) {
	switch b[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return decodeSurrogates(b)
	}
	return rune(b[1]), 2
}

// decodeSurrogates decodes \uXXXX, or a pair of them for a character beyond U+FFFF.
func decodeSurrogates(b []byte) (rune, int) {
	high, _ := unicodeEscape(b)
	if !utf16.IsSurrogate(high) {
		return high, 6
	}
	low, _ := unicodeEscape(b[6:])
	if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
		return r, 12
	}
	return 0, 0
}

// unicodeEscape decodes \uXXXX.
func unicodeEscape(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		digit, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// quote appends a string as Python's json does: in ASCII.
func quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	n := plainPrefix(s)
	dst = append(dst, s[:n]...)
	for _, r := range s[n:] {
		dst = quoteRune(dst, r)
	}
	return append(dst, '"')
}

// plainPrefix returns the number of bytes at the start of s that need no escape.
func plainPrefix(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}

func quoteRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if ' ' <= r && r <= '~' {
		return append(dst, byte(r))
	}
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return escapeUnit(escapeUnit(dst, high), low)
	}
	return escapeUnit(dst, r)
}

func escapeUnit(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

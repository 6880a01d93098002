package kerchunk

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"varve/readers"
)

// decodeText returns the bytes of a string: decoded base64, or the string itself.
func decodeText(text string) ([]byte, error) {
	coded, ok := strings.CutPrefix(text, "base64:")
	if !ok {
		return []byte(text), nil
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(coded)))
	n, err := base64.StdEncoding.Decode(data, []byte(coded))
	if err != nil {
		return nil, readers.Corruptf("inline bytes: %w", err)
	}
	return data[:n], nil
}

// document returns the document in a value: an object, or a string that contains one.
func document(raw []byte) ([]byte, error) {
	if raw[0] == '{' {
		return bytes.Clone(raw), nil
	}
	text, err := unquote(raw)
	if err != nil {
		return nil, readers.Corruptf("want an object, or one in a string: %w", err)
	}
	return decodeText(text)
}

// templates holds the templates for parts of URLs: {{name}}, or {{name(parameter=value)}}.
type templates map[string]template

func parseTemplates(raw []byte) (templates, error) {
	var texts map[string]string
	if err := json.Unmarshal(raw, &texts); err != nil {
		return nil, readers.Corruptf("templates: %w", err)
	}
	t := make(templates, len(texts))
	for name, text := range texts {
		var err error
		if t[name], err = parseTemplate(text); err != nil {
			return nil, fmt.Errorf("template %q: %w", name, err)
		}
	}
	return t, nil
}

// expand replaces the templates in a URL.
func (t templates) expand(url string) (string, error) {
	if len(t) == 0 || !strings.Contains(url, "{{") {
		return url, nil
	}
	parts, err := parseTemplate(url)
	if err != nil {
		return "", err
	}
	text, err := parts.make(scope{templates: t})
	if err != nil {
		return "", fmt.Errorf("URL %.80q: %w", url, err)
	}
	return text, nil
}

// placer sets refs to the positions in values. Refs to the same URL share one readers.Other.
type placer struct {
	reach     reach
	templates templates
	versions  map[string]version
	last      string // URL of other, before expansion
	raw       []byte // the same as JSON
	other     *readers.Other
}

// place sets a ref to the bytes of a value.
func (p *placer) place(r *readers.Ref, raw []byte) error {
	if raw[0] == '"' {
		text, err := unquote(raw)
		if err != nil {
			return readers.Corruptf("value: %w", err)
		}
		data, err := decodeText(text)
		p.inline(r, data)
		return err
	}
	e, ok := parseEntry(raw)
	if !ok {
		return readers.Corruptf("want a string, [url] or [url, offset, length], found %.80q", raw)
	}
	if string(e.url) == "null" {
		return fmt.Errorf("reference has no URL, and there is no default target: %w", errors.ErrUnsupported)
	}
	// Comparing the JSON avoids decoding the URL of every reference.
	if p.other == nil || !bytes.Equal(e.url, p.raw) {
		url, err := unquote(e.url)
		if err != nil {
			return readers.Corruptf("URL: %w", err)
		}
		if err := p.source(r, url); err != nil {
			return err
		}
		p.raw = append(p.raw[:0], e.url...)
	}
	// [url] means the whole file.
	r.Other, r.Offset, r.Size = p.other, 0, readers.WholeSource
	if e.offset == nil {
		return nil
	}
	offset, err := strconv.ParseInt(string(e.offset), 10, 64)
	size, sizeErr := strconv.ParseInt(string(e.size), 10, 64)
	if err = errors.Join(err, sizeErr); err != nil || offset < 0 || size < 0 {
		return readers.Corruptf("offset %.40s and length %.40s are not whole numbers from 0 to 2^63−1", e.offset, e.size)
	}
	r.Offset, r.Size = offset, uint64(size)
	return nil
}

func (p *placer) inline(r *readers.Ref, data []byte) {
	// Inline bytes may be empty, but must not be nil, which means that there are none.
	if data == nil {
		data = []byte{}
	}
	r.Offset, r.Size, r.Other = 0, uint64(len(data)), &readers.Other{Inline: data}
}

func (p *placer) source(r *readers.Ref, url string) error {
	if p.other == nil || url != p.last {
		expanded, err := p.templates.expand(url)
		if err != nil {
			return err
		}
		if expanded == "" {
			return readers.Corruptf("URL is empty")
		}
		v := p.versions[expanded]
		p.last, p.other = url, &readers.Other{Source: p.reach.place(expanded), ETag: v.ETag, Modified: v.Modified, Size: v.Size}
	}
	r.Other = p.other
	return nil
}

// entry holds the parts of [url, offset, length], or [url], as JSON.
type entry struct{ url, offset, size []byte }

func parseEntry(raw []byte) (e entry, ok bool) {
	if raw[0] != '[' || raw[len(raw)-1] != ']' {
		return e, false
	}
	rest := bytes.TrimSpace(raw[1 : len(raw)-1])
	n := urlLength(rest)
	if n == 0 {
		return e, false
	}
	e.url, rest = rest[:n], bytes.TrimSpace(rest[n:])
	if len(rest) == 0 {
		return e, true
	}
	before, rest, _ := bytes.Cut(rest, []byte(","))
	offset, size, ok := bytes.Cut(rest, []byte(","))
	e.offset, e.size = bytes.TrimSpace(offset), bytes.TrimSpace(size)
	return e, ok && len(before) == 0
}

// urlLength returns the length of the string or null at the start of a list, or 0.
func urlLength(list []byte) int {
	if bytes.HasPrefix(list, []byte("null")) {
		return len("null")
	}
	if len(list) == 0 || list[0] != '"' {
		return 0
	}
	for i := 1; i < len(list); i++ {
		switch list[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// rawBytes returns the bytes in the column raw, which may be base64 with a prefix.
func rawBytes(raw []byte) ([]byte, error) {
	if bytes.HasPrefix(raw, []byte("base64:")) {
		return decodeText(string(raw))
	}
	return raw, nil
}

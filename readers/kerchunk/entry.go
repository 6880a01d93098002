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

// decodeText returns what a string stands for: bytes in base64, or itself.
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

// document returns the document that is a value: an object, or a string that holds one.
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

// templates are the names that stand for parts of URLs: {{name}}.
type templates map[string]string

func parseTemplates(raw []byte) (templates, error) {
	var t templates
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, readers.Corruptf("templates: %w", err)
	}
	for name, value := range t {
		if strings.Contains(value, "{{") {
			return nil, fmt.Errorf("template %q is a function: %w", name, errors.ErrUnsupported)
		}
	}
	return t, nil
}

// expand replaces the templates in a URL.
func (t templates) expand(url string) (string, error) {
	if len(t) == 0 || !strings.Contains(url, "{{") {
		return url, nil
	}
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(url, "{{")
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		name, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return "", readers.Corruptf("URL %.80q has {{ and no }}", url)
		}
		value, ok := t[strings.TrimSpace(name)]
		if !ok {
			return "", fmt.Errorf("URL %.80q asks for the template %q, and there is none of that name: %w", url, name, errors.ErrUnsupported)
		}
		out.WriteString(value)
		url = after
	}
}

// placer turns values into the places of refs. Refs to one URL share what is said of it.
type placer struct {
	templates templates
	last      string // the URL of other, as it is written
	other     *readers.Other
}

// place sets where the bytes are that a value stands for.
func (p *placer) place(r *readers.Ref, raw []byte) error {
	if raw[0] == '"' {
		text, err := unquote(raw)
		if err != nil {
			return readers.Corruptf("a value: %w", err)
		}
		data, err := decodeText(text)
		p.inline(r, data)
		return err
	}
	items, err := list(raw)
	if err != nil {
		return err
	}
	if string(items[0]) == "null" {
		return fmt.Errorf("no URL, and no target for those without: %w", errors.ErrUnsupported)
	}
	url, err := unquote(items[0])
	if err != nil {
		return readers.Corruptf("a URL: %w", err)
	}
	if err := p.source(r, url); err != nil {
		return err
	}
	if len(items) == 1 {
		r.Offset, r.Size = 0, readers.WholeSource
		return nil
	}
	r.Offset, err = strconv.ParseInt(string(items[1]), 10, 64)
	size, sizeErr := strconv.ParseInt(string(items[2]), 10, 64)
	if err = errors.Join(err, sizeErr); err != nil || r.Offset < 0 || size < 0 {
		return readers.Corruptf("offset %.40s and length %.40s are not whole numbers from 0 to 2^63−1", items[1], items[2])
	}
	r.Size = uint64(size)
	return nil
}

func (p *placer) inline(r *readers.Ref, data []byte) {
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
			return readers.Corruptf("an empty URL")
		}
		p.last, p.other = url, &readers.Other{Source: expanded}
	}
	r.Other = p.other
	return nil
}

// list takes [url] or [url, offset, length] apart.
func list(raw []byte) ([][]byte, error) {
	bad := readers.Corruptf("want a string, [url] or [url, offset, length], found %.80q", raw)
	if raw[0] != '[' || len(raw) < 3 {
		return nil, bad
	}
	rest := bytes.TrimSpace(raw[1 : len(raw)-1])
	first := len("null")
	if len(rest) > 0 && rest[0] == '"' {
		first = 1
		for first < len(rest) && rest[first] != '"' {
			if rest[first] == '\\' {
				first++
			}
			first++
		}
		first++
	}
	if first > len(rest) {
		return nil, bad
	}
	items := [][]byte{rest[:first]}
	if rest = bytes.TrimSpace(rest[first:]); len(rest) == 0 {
		return items, nil
	}
	numbers := bytes.Split(rest, []byte(","))
	if len(numbers) != 3 || len(numbers[0]) > 0 {
		return nil, bad
	}
	return append(items, bytes.TrimSpace(numbers[1]), bytes.TrimSpace(numbers[2])), nil
}

// rawBytes returns what the column raw stands for, in which base64 is the exception.
func rawBytes(raw []byte) ([]byte, error) {
	if bytes.HasPrefix(raw, []byte("base64:")) {
		return decodeText(string(raw))
	}
	return raw, nil
}

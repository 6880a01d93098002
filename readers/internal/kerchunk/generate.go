package kerchunk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"varve/readers"
)

// generator makes one reference for each combination of the values of its dimensions:
//
//	{"key": "x/{{i}}", "url": "{{u}}_{{i}}", "offset": "{{(i + 1) * 1000}}", "length": "1000",
//	 "dimensions": {"i": {"start": 0, "stop": 5, "step": 1}, "j": [1, 2, 7]}}
//
// For example, i = 2 gives x/2: bytes 3000 to 3999 of the URL that ends with _2.
type generator struct {
	key, url       template
	offset, length template // both empty: whole files
	names          []string // names of the dimensions, the last one varying fastest
	dims           []values
}

// maxGenerated limits the number of references of all generators of a set.
const maxGenerated = 1 << 22

// values holds the values of a dimension: a list, or a range.
type values struct {
	list               []value
	start, step, count int64
}

func (v *values) len() int64 {
	if v.list != nil {
		return int64(len(v.list))
	}
	return v.count
}

func (v *values) at(i int64) value {
	if v.list != nil {
		return v.list[i]
	}
	return value{number: v.start + i*v.step}
}

// parseGenerators decodes the member "gen".
func parseGenerators(raw []byte) ([]generator, error) {
	var list []struct {
		Key, URL       string
		Offset, Length json.RawMessage
		Dimensions     map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, readers.Corruptf("gen: %w", err)
	}
	out := make([]generator, len(list))
	total := int64(0)
	for i, entry := range list {
		g := &out[i]
		if (entry.Offset == nil) != (entry.Length == nil) {
			return nil, readers.Corruptf("gen %d: offset and length must both be present", i)
		}
		err := g.parse(map[*template]string{
			&g.key: entry.Key, &g.url: entry.URL, &g.offset: numberText(entry.Offset), &g.length: numberText(entry.Length),
		})
		if err == nil {
			err = g.addDimensions(entry.Dimensions)
		}
		if err != nil {
			return nil, fmt.Errorf("gen %d: %w", i, err)
		}
		n, err := g.combinations()
		// A few bytes of JSON can describe any number of references.
		if total += n; err != nil || total > maxGenerated {
			return nil, fmt.Errorf("gen %d: more than %d references: %w", i, maxGenerated, errors.ErrUnsupported)
		}
	}
	return out, nil
}

// numberText returns a template that is a string or a number.
func numberText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

func (g *generator) parse(texts map[*template]string) error {
	for t, text := range texts {
		var err error
		if *t, err = parseTemplate(text); err != nil {
			return err
		}
	}
	if len(g.key) == 0 || len(g.url) == 0 {
		return readers.Corruptf("key or URL is empty")
	}
	return nil
}

func (g *generator) addDimensions(dims map[string]json.RawMessage) error {
	g.names = slices.Sorted(maps.Keys(dims))
	for _, name := range g.names {
		v, err := parseValues(dims[name])
		if err != nil {
			return fmt.Errorf("dimension %q: %w", name, err)
		}
		g.dims = append(g.dims, v)
	}
	return nil
}

func parseValues(raw json.RawMessage) (values, error) {
	if bytes.HasPrefix(raw, []byte("[")) {
		return parseList(raw)
	}
	r := struct {
		Start, Step int64
		Stop        *int64
	}{Step: 1}
	if err := json.Unmarshal(raw, &r); err != nil {
		return values{}, readers.Corruptf("want a list or a range: %w", err)
	}
	const limit = 1 << 62
	if r.Stop == nil || r.Step == 0 || max(r.Start, *r.Stop, r.Step) > limit || min(r.Start, *r.Stop, r.Step) < -limit {
		return values{}, readers.Corruptf("range is %s (want stop, and a step other than 0)", raw)
	}
	v := values{start: r.Start, step: r.Step}
	switch {
	case r.Step > 0 && *r.Stop > r.Start:
		v.count = (*r.Stop-r.Start-1)/r.Step + 1
	case r.Step < 0 && *r.Stop < r.Start:
		v.count = (r.Start-*r.Stop-1)/-r.Step + 1
	}
	return v, nil
}

func parseList(raw json.RawMessage) (values, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return values{}, readers.Corruptf("list: %w", err)
	}
	v := values{list: make([]value, len(list))}
	for i, item := range list {
		x := &v.list[i]
		n, err := strconv.ParseInt(string(item), 10, 64)
		if err == nil {
			x.number = n
			continue
		}
		if x.isText = true; json.Unmarshal(item, &x.text) != nil {
			return v, fmt.Errorf("%.20q is neither an integer nor a string: %w", item, errors.ErrUnsupported)
		}
	}
	return v, nil
}

func (g *generator) combinations() (int64, error) {
	n := int64(1)
	for i := range g.dims {
		length := g.dims[i].len()
		if length > maxGenerated {
			return 0, errors.ErrUnsupported
		}
		if n *= length; n > maxGenerated {
			return 0, errors.ErrUnsupported
		}
	}
	return n, nil
}

// mayMake reports whether the generator's keys can start with a prefix.
func (g *generator) mayMake(prefix string) bool {
	text, more := g.key.prefix()
	return strings.HasPrefix(text, prefix) || more && strings.HasPrefix(prefix, text)
}

// generate yields the refs of an array that generators make.
func (l *lookup) generate(gens []generator) error {
	for i := range gens {
		g := &gens[i]
		// Most generators belong to one array, so their keys need not be expanded for others.
		if !g.mayMake(l.prefix) {
			continue
		}
		n, err := g.combinations()
		if err != nil {
			return err
		}
		s := scope{values: map[string]value{}, templates: l.places.templates}
		for number := range n {
			// The check is too slow for every reference.
			if number&1023 == 0 && l.ctx.Err() != nil {
				return l.ctx.Err()
			}
			rest := number
			for d := len(g.dims) - 1; d >= 0; d-- {
				length := g.dims[d].len()
				s.values[g.names[d]] = g.dims[d].at(rest % length)
				rest /= length
			}
			if err := l.generateOne(g, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lookup) generateOne(g *generator, s scope) error {
	name, err := g.key.make(s)
	if err != nil {
		return err
	}
	key, in := strings.CutPrefix(name, l.prefix)
	if !in || !l.a.Chunk(key, l.ref.Index, l.coords) {
		return nil
	}
	url, err := g.url.make(s)
	if err == nil && url == "" {
		err = readers.Corruptf("URL is empty")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if url = l.places.reach.place(url); l.places.other == nil || l.places.other.Source != url {
		l.places.last, l.places.other = "", &readers.Other{Source: url}
		l.places.raw = l.places.raw[:0]
	}
	l.ref.Other, l.ref.Offset, l.ref.Size = l.places.other, 0, readers.WholeSource
	if len(g.offset) > 0 {
		offset, err := g.offset.number(s)
		size, sizeErr := g.length.number(s)
		if err = errors.Join(err, sizeErr); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		l.ref.Offset, l.ref.Size = offset, uint64(size)
	}
	if !l.yield(&l.ref, nil) {
		return errStopped
	}
	return nil
}

// number returns the offset or the length that a template gives.
func (t template) number(s scope) (int64, error) {
	text, err := t.make(s)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return 0, readers.Corruptf("offset or length %.40q is not an integer from 0 to 2^63−1", text)
	}
	return n, nil
}

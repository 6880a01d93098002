package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// config reads the configuration of one codec field by field. It keeps the first error.
// The method check returns it, or an error for the fields that no codec has read.
type config struct {
	codec      string
	allowsClip bool
	depth      int
	fields     map[string]json.RawMessage
	err        error
}

func newConfig(spec Spec) (*config, error) {
	c := &config{codec: spec.Name, allowsClip: spec.Clip, depth: spec.depth}
	if spec.Config == nil {
		return c, nil
	}
	if err := unmarshal(spec.Config, &c.fields); err != nil {
		return nil, fmt.Errorf("codec %q: configuration: %w", spec.Name, err)
	}
	c.dropID()
	return c, nil
}

// dropID removes the id of a numcodecs codec, which zarr-python accepts beside the name
// if they agree.
func (c *config) dropID() {
	id, ok := strings.CutPrefix(c.codec, "numcodecs.")
	if ok && string(c.fields["id"]) == strconv.Quote(id) {
		delete(c.fields, "id")
	}
}

// unmarshal is json.Unmarshal that refuses text after the value.
func unmarshal(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// unmarshalStrict is json.Unmarshal that refuses unknown fields.
func unmarshalStrict(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func (c *config) fail(field, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("codec %q: %s: %s", c.codec, field, fmt.Sprintf(format, args...))
	}
}

// take removes a field and returns its JSON, or nil if it is absent or null.
func (c *config) take(field string) json.RawMessage {
	raw := c.fields[field]
	delete(c.fields, field)
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// refuseNull refuses null for optional fields, where clients refuse it too.
func (c *config) refuseNull(fields ...string) {
	for _, f := range fields {
		if string(c.fields[f]) == "null" {
			c.fail(f, "is null; omit it for the default")
		}
	}
}

// integer reads an integer from lo to hi.
func (c *config) integer(field string, absent, lo, hi int) int {
	raw := c.take(field)
	if raw == nil {
		return absent
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < lo || n > hi {
		c.fail(field, "%s is not an integer from %d to %d", raw, lo, hi)
	}
	return n
}

// integers reads a list of integers that are at least lo.
func (c *config) integers(field string, lo int) []int {
	raw := c.take(field)
	var list []int
	if raw == nil {
		c.fail(field, "missing; want a list of integers")
		return nil
	}
	if err := unmarshal(raw, &list); err != nil || list == nil {
		c.fail(field, "%s is not a list of integers", abbreviate(raw))
		return nil
	}
	for _, n := range list {
		if n < lo {
			c.fail(field, "%d is less than %d", n, lo)
		}
	}
	return list
}

// boolean reads true or false.
func (c *config) boolean(field string, absent bool) bool {
	switch raw := c.take(field); string(raw) {
	case "":
		return absent
	case "true":
		return true
	case "false":
		return false
	default:
		c.fail(field, "%s is neither true nor false", abbreviate(raw))
		return absent
	}
}

// text reads a string.
func (c *config) text(field, absent string) string {
	raw := c.take(field)
	if raw == nil {
		return absent
	}
	var s string
	if err := unmarshal(raw, &s); err != nil {
		c.fail(field, "%s is not a string", abbreviate(raw))
	}
	return s
}

// choice reads one of the allowed strings and returns its index. If absent is below 0 the
// field is required.
func (c *config) choice(field string, absent int, allowed ...string) int {
	raw := c.take(field)
	if raw == nil {
		if absent < 0 {
			c.fail(field, "missing; want one of %s", strings.Join(allowed, ", "))
		}
		return absent
	}
	var s string
	err := unmarshal(raw, &s)
	i := slices.Index(allowed, s)
	if err != nil || i < 0 {
		c.fail(field, "%s is not one of %s", abbreviate(raw), strings.Join(allowed, ", "))
	}
	return i
}

// ignore accepts fields that matter for encoding only.
func (c *config) ignore(fields ...string) {
	for _, f := range fields {
		delete(c.fields, f)
	}
}

// check returns the first error.
func (c *config) check() error {
	if c.err == nil && len(c.fields) > 0 {
		names := slices.Sorted(maps.Keys(c.fields))
		c.fail(strings.Join(names, ", "), "unknown configuration")
	}
	return c.err
}

func abbreviate(raw []byte) string {
	if len(raw) > 60 {
		return string(raw[:57]) + "..."
	}
	return string(raw)
}

// UnmarshalJSON reads a codec as {"name": …, "configuration": {…}}, or as its bare name,
// which Zarr v3.1 allows for a codec without configuration.
func (s *Spec) UnmarshalJSON(raw []byte) error {
	var name string
	if json.Unmarshal(raw, &name) == nil && len(raw) > 0 && raw[0] == '"' {
		*s = Spec{Name: name}
		return s.validate()
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return fmt.Errorf("codec: %s is not an object with a name and a configuration", abbreviate(raw))
	}
	if err := json.Unmarshal(fields["name"], &name); err != nil {
		return fmt.Errorf("codec: name: %s is not a string", abbreviate(fields["name"]))
	}
	*s = Spec{Name: name, Config: fields["configuration"]}
	for field := range fields {
		// must_understand is allowed: varve refuses every codec that it does not know.
		if field != "name" && field != "configuration" && field != "must_understand" {
			return fmt.Errorf("codec %q: %s: unknown field", name, field)
		}
	}
	return s.validate()
}

func (s *Spec) validate() error {
	if s.Name == "" {
		return errors.New("codec: name is empty")
	}
	if s.Config != nil && !bytes.HasPrefix(bytes.TrimSpace(s.Config), []byte("{")) {
		return fmt.Errorf("codec %q: configuration: %s is not an object", s.Name, abbreviate(s.Config))
	}
	return nil
}

// MarshalJSON writes a codec as an object. An empty configuration is written too, since
// clients require it, except for the codecs that have none.
func (s Spec) MarshalJSON() ([]byte, error) {
	out := []byte(`{"name":`)
	name, err := json.Marshal(s.Name)
	if err != nil {
		return nil, err
	}
	out = append(out, name...)
	config := s.Config
	if config == nil && s.Name != "bytes" && s.Name != "crc32c" && s.Name != "scale_offset" {
		config = json.RawMessage("{}")
	}
	if config != nil {
		out = append(append(out, `,"configuration":`...), config...)
	}
	return append(out, '}'), nil
}

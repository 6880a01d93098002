package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"varve/manifest/report"
	"varve/readers/source/yamlkeys"
)

// Curation changes names and attributes of the combined dataset:
//
//	attributes:                    of the root group
//	  title: Sea surface
//	  history: null                drops an attribute
//	dimensions:
//	  y: lat                       a new name
//	variables:                     paths or globs, by the names that they have in the files
//	  t2m:
//	    rename: temperature
//	    units: K
//	    attributes: {standard_name: air_temperature}
//	    coordinates: [lat, lon]
//	  "*_qc": {drop: true}
//	groups:
//	  /model: {attributes: {title: Model}}
//
// It is stored with the options of a snapshot, so it applies to all files that are added later.
type Curation struct {
	Rename []Rename `json:",omitempty"` // like Options.Rename
	Drop   []string `json:",omitempty"` // like Options.Drop
	Edits  []Edit   `json:",omitempty"`
	// IsNew says that the user gives the curation now. Then attributes and variables to drop must exist. Later files may
	// lack them.
	IsNew bool `json:"-"`
}

// Edit changes the attributes of variables or of a group.
type Edit struct {
	Group    string   `json:",omitempty"` // the path of a group
	Variable string   `json:",omitempty"` // a pattern for the paths of arrays, as they are named after renaming
	Set      []Value  `json:",omitempty"`
	Drop     []string `json:",omitempty"` // names of attributes
	// Coordinates are names of variables that are coordinates. They are checked, and set as the attribute coordinates.
	Coordinates []string `json:",omitempty"`
}

// Value is the value of an attribute.
type Value struct {
	Name string
	JSON json.RawMessage
}

// Key returns the name that the user wrote.
func (e *Edit) Key() string {
	if e.Group != "" {
		return e.Group
	}
	return e.Variable
}

// IsEmpty reports whether the curation changes nothing.
func (c *Curation) IsEmpty() bool { return len(c.Rename)+len(c.Drop)+len(c.Edits) == 0 }

// Curated returns the options with the renames and drops of the curation.
func (o *Options) Curated() *Options {
	if o.Curation == nil {
		return o
	}
	out := *o
	out.Rename = slices.Concat(o.Rename, o.Curation.Rename)
	out.Drop = slices.Concat(o.Drop, o.Curation.Drop)
	return &out
}

// fixed are attributes that say how stored numbers become values. Another value would change the data.
var fixed = []string{"scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "calendar"}

// maxCurationBytes limits the size of a curation file.
const maxCurationBytes = 1 << 20

// ParseCuration parses a curation file.
func ParseCuration(text []byte) (*Curation, error) {
	if len(text) > maxCurationBytes {
		return nil, fmt.Errorf("larger than %d bytes, the limit", maxCurationBytes)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	c := &Curation{IsNew: true}
	if doc.Kind == 0 {
		return c, nil
	}
	root := Edit{Group: "/"}
	err := yamlkeys.Each(doc.Content[0], []string{"attributes", "coordinates", "dimensions", "groups", "variables"}, func(key, value *yaml.Node) error {
		switch key.Value {
		case "attributes":
			return root.addAttributes(value)
		case "coordinates":
			return root.addCoordinates(value)
		case "dimensions":
			return yamlkeys.Each(value, nil, func(key, value *yaml.Node) error { return c.addRename(key, value) })
		case "groups":
			return yamlkeys.Each(value, nil, c.addGroup)
		case "variables":
			return yamlkeys.Each(value, nil, c.addVariable)
		}
		return unknownKey(key, "attributes", "coordinates", "dimensions", "groups", "variables")
	})
	c.add(root)
	return c, err
}

// add adds an edit that changes something.
func (c *Curation) add(e Edit) {
	if len(e.Set)+len(e.Drop)+len(e.Coordinates) > 0 {
		c.Edits = append(c.Edits, e)
	}
}

// unknownKey returns the error for a key that is none of the known ones.
func unknownKey(key *yaml.Node, known ...string) error {
	return yamlkeys.Errorf(key, "unknown key %q, want %s.%s", key.Value, strings.Join(known, ", "), DidYouMean(key.Value, known))
}

func (c *Curation) addRename(key, value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" || value.Value == "" {
		return yamlkeys.Errorf(value, "want the new name of %s", key.Value)
	}
	if isGlob(key.Value) {
		return yamlkeys.Errorf(key, "a pattern cannot be renamed")
	}
	c.Rename = append(c.Rename, Rename{Old: key.Value, New: value.Value})
	return nil
}

func isGlob(name string) bool { return strings.ContainsAny(name, `*?[\`) }

func (c *Curation) addGroup(key, value *yaml.Node) error {
	e := Edit{Group: "/" + strings.Trim(key.Value, "/")}
	err := yamlkeys.Each(value, []string{"attributes", "coordinates"}, func(key, value *yaml.Node) error {
		switch key.Value {
		case "attributes":
			return e.addAttributes(value)
		case "coordinates":
			return e.addCoordinates(value)
		}
		return unknownKey(key, "attributes", "coordinates")
	})
	c.add(e)
	return err
}

func (c *Curation) addVariable(name, value *yaml.Node) error {
	if _, err := path.Match(name.Value, ""); err != nil {
		return yamlkeys.Errorf(name, "%q is no glob, such as sst*: %w", name.Value, err)
	}
	e := Edit{Variable: name.Value}
	var units *yaml.Node
	err := yamlkeys.Each(value, []string{"attributes", "coordinates", "drop", "rename", "units"}, func(key, value *yaml.Node) error {
		switch key.Value {
		case "attributes":
			return e.addAttributes(value)
		case "coordinates":
			return e.addCoordinates(value)
		case "units":
			units = value
			return e.addAttribute(key, value)
		case "drop":
			if value.Value != "true" {
				return yamlkeys.Errorf(value, "want true")
			}
			c.Drop = append(c.Drop, name.Value)
			return nil
		case "rename":
			if err := c.addRename(name, value); err != nil {
				return err
			}
			e.Variable = renamed(name.Value, value.Value)
			return nil
		}
		return unknownKey(key, "attributes", "coordinates", "drop", "rename", "units")
	})
	isDropped := slices.Contains(c.Drop, name.Value)
	if err == nil && isDropped && (len(e.Set)+len(e.Drop)+len(e.Coordinates) > 0 || e.Variable != name.Value) {
		return yamlkeys.Errorf(name, "%s is dropped, so nothing else can be said of it", name.Value)
	}
	if err == nil && units != nil && units.Tag == "!!null" {
		return yamlkeys.Errorf(units, "want units, or units: null among the attributes to drop them")
	}
	c.add(e)
	return err
}

// renamed returns the path of a variable after it was renamed, as Options.Rename does.
func renamed(old, to string) string {
	if strings.Contains(to, "/") || !strings.Contains(strings.Trim(old, "/"), "/") && !strings.HasPrefix(old, "/") {
		return to
	}
	return path.Join(path.Dir(old), to)
}

func (e *Edit) addAttributes(node *yaml.Node) error {
	return yamlkeys.Each(node, nil, e.addAttribute)
}

// addAttribute sets an attribute, or drops it if the value is null.
func (e *Edit) addAttribute(key, value *yaml.Node) error {
	name := key.Value
	is := func(v Value) bool { return v.Name == name }
	switch {
	case e.Variable != "" && slices.Contains(fixed, name):
		return yamlkeys.Errorf(key, "%s says how stored numbers become values, so it cannot be changed", name)
	case slices.ContainsFunc(e.Set, is) || slices.Contains(e.Drop, name):
		return yamlkeys.Errorf(key, "%q is given twice", name)
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		e.Drop = append(e.Drop, name)
		return nil
	}
	text, err := jsonOf(value)
	if err != nil {
		return err
	}
	e.Set = append(e.Set, Value{name, text})
	return nil
}

// jsonOf returns a text, a number, true or false, or a list of these as JSON. Dates are texts.
func jsonOf(node *yaml.Node) (json.RawMessage, error) {
	switch {
	case node.Kind == yaml.SequenceNode:
		var list []json.RawMessage
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return nil, yamlkeys.Errorf(item, "want a text or a number")
			}
			text, err := jsonOf(item)
			if err != nil {
				return nil, err
			}
			list = append(list, text)
		}
		if len(list) == 0 {
			return nil, yamlkeys.Errorf(node, "want a list of one value or more")
		}
		return json.Marshal(list)
	case node.Kind != yaml.ScalarNode:
		return nil, yamlkeys.Errorf(node, "want a text, a number or a list of these")
	}
	// Only the spelling of JSON is a number: in YAML, 010 is eight.
	if tag := node.Tag; (tag == "!!int" || tag == "!!float" || tag == "!!bool") && json.Valid([]byte(node.Value)) {
		return json.RawMessage(node.Value), nil
	}
	return json.Marshal(node.Value)
}

func (e *Edit) addCoordinates(node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
		return yamlkeys.Errorf(node, "want a list of names of variables")
	}
	for _, item := range node.Content {
		if item.Kind != yaml.ScalarNode || item.Value == "" || strings.ContainsAny(item.Value, " \t") || slices.Contains(e.Coordinates, item.Value) {
			return yamlkeys.Errorf(item, "want names of variables without spaces, each once")
		}
		e.Coordinates = append(e.Coordinates, item.Value)
	}
	return nil
}

// check returns an error if two parts of a curation contradict each other.
func (c *Curation) check() error {
	if c == nil {
		return nil
	}
	var errs []error
	for _, e := range c.Edits {
		if len(e.Coordinates) > 0 && (slices.Contains(e.Drop, "coordinates") || slices.ContainsFunc(e.Set, func(v Value) bool { return v.Name == "coordinates" })) {
			errs = append(errs, optionError(report.Curation, e.Key(), "coordinates are given twice: as names, and as an attribute"))
		}
	}
	return errors.Join(append(errs, checkGlobs(report.Curation, c.Drop))...)
}

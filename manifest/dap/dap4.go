package dap

import (
	"encoding/xml"
	"fmt"
	"path"
	"strings"

	"varve/manifest/export/netcdf"
)

// namespace is the XML namespace of DAP4.
const namespace = "http://xml.opendap.org/ns/DAP/4.0#"

// DMR returns the description of the variables that a constraint expression selects, or of all for an empty one. The
// expression has no escapes of URLs. The clients of Unidata remove a backslash from texts of attributes before any character: with
// slashed, there are two.
func (d *Dataset) DMR(expression string, slashed bool) (string, error) {
	choices, err := d.parse4(expression)
	if err != nil {
		return "", err
	}
	return d.dmr(choices, slashed), nil
}

// dmr writes a DMR. Dimensions of which only a part is selected have no name in it, and their maps are left out: the shapes
// would differ.
func (d *Dataset) dmr(choices []*choice, slashed bool) string {
	x := &xmlWriter{slashed: slashed}
	x.out.WriteString(xml.Header)
	x.open("Dataset", "xmlns", namespace, "dapVersion", "4.0", "dmrVersion", "1.0", "name", d.name)
	byGroup := map[string][]*choice{}
	chosen := map[*variable]*choice{}
	for _, c := range choices {
		byGroup[path.Dir(c.path)] = append(byGroup[path.Dir(c.path)], c)
		chosen[c.variable] = c
	}
	open := []string{} // the paths of open groups
	for _, g := range d.groups {
		for len(open) > 0 && !strings.HasPrefix(g.path, open[len(open)-1]+"/") {
			open = open[:len(open)-1]
			x.close("Group")
		}
		if g.path != "/" {
			x.open("Group", "name", path.Base(g.path))
			open = append(open, g.path)
		}
		for _, one := range g.dims {
			x.empty("Dimension", "name", one.name, "size", fmt.Sprint(one.length))
		}
		for _, c := range byGroup[g.path] {
			x.variable(c, chosen)
		}
		for _, a := range g.attributes {
			x.attribute(a)
		}
		if g.path == "/" {
			for _, a := range omissions(d.omitted) {
				x.attribute(a)
			}
		}
	}
	for range open {
		x.close("Group")
	}
	x.close("Dataset")
	return x.out.String()
}

// variables4 returns the choices in the order in which the DMR has them: group by group.
func (d *Dataset) variables4(choices []*choice) (out []leaf) {
	for _, g := range d.groups {
		for _, c := range choices {
			if path.Dir(c.path) == g.path {
				out = append(out, leaf{c.variable, c.slabs, nil})
			}
		}
	}
	return out
}

// variable writes a variable. Its maps must be in the answer, too, with the same hyperslab.
func (x *xmlWriter) variable(c *choice, chosen map[*variable]*choice) {
	x.open(c.type4, "name", path.Base(c.path))
	isWhole := func(s slab, one dim) bool { return s == slab{0, 1, one.length - 1} }
	for axis, one := range c.dims {
		if isWhole(c.slabs[axis], one) {
			x.empty("Dim", "name", one.path())
		} else {
			x.empty("Dim", "size", fmt.Sprint(c.slabs[axis].length()))
		}
	}
	for axis, m := range c.variable.maps {
		if m != nil && isWhole(c.slabs[axis], c.dims[axis]) && chosen[m] != nil && isWhole(chosen[m].slabs[0], m.dims[0]) {
			x.empty("Map", "name", m.path)
		}
	}
	for _, a := range c.attributes {
		x.attribute(a)
	}
	x.close(c.type4)
}

// attribute writes an attribute. Its type has the same name as for variables.
func (x *xmlWriter) attribute(a netcdf.Attribute) {
	values := []string{string(a.Data)}
	if x.slashed {
		values[0] = strings.ReplaceAll(values[0], `\`, `\\`)
	}
	if a.Type != netcdf.Char {
		values = numbersOf(a)
	}
	if len(values) == 0 {
		return
	}
	x.open("Attribute", "name", a.Name, "type", types4[a.Type])
	for _, value := range values {
		x.text("Value", value)
	}
	x.close("Attribute")
}

// Error4 returns an error in DAP4's form.
func Error4(status int, err error) []byte {
	x := &xmlWriter{}
	x.out.WriteString(xml.Header)
	x.open("Error", "xmlns", namespace, "httpcode", fmt.Sprint(status))
	x.text("Message", err.Error())
	x.close("Error")
	return []byte(x.out.String())
}

// xmlWriter writes indented XML.
type xmlWriter struct {
	out     strings.Builder
	depth   int
	slashed bool // write backslashes in attributes twice
}

func (x *xmlWriter) tag(name, end string, attributes []string) {
	x.out.WriteString(strings.Repeat("  ", x.depth) + "<" + name)
	for i := 0; i < len(attributes); i += 2 {
		x.out.WriteString(" " + attributes[i] + `="` + escapeXML(attributes[i+1]) + `"`)
	}
	x.out.WriteString(end)
}

func (x *xmlWriter) open(name string, attributes ...string) {
	x.tag(name, ">\n", attributes)
	x.depth++
}

func (x *xmlWriter) empty(name string, attributes ...string) { x.tag(name, "/>\n", attributes) }

func (x *xmlWriter) text(name, text string) {
	x.tag(name, ">"+escapeXML(text)+"</"+name+">\n", nil)
}

func (x *xmlWriter) close(name string) {
	x.depth--
	x.out.WriteString(strings.Repeat("  ", x.depth) + "</" + name + ">\n")
}

// escapeXML escapes a text. Characters that XML cannot have become U+FFFD.
func escapeXML(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a strings.Builder returns no error
	return out.String()
}

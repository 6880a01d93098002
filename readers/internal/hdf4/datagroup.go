package hdf4

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"varve/readers"
)

// float32Code is the number type of datasets without one.
const float32Code = 5

// group is a numeric data group (NDG, or SDG in files before version 3.2).
type group struct {
	key
	shape                         []uint64
	code                          uint16
	scaleCodes                    []uint16
	labels, units, formats, scale uint16 // reference numbers of elements; 0 for none
	data                          uint16
	attributes                    []readers.Attribute
}

// buildOld adds the datasets of data groups, as the library does for files without Vgroups.
func (b *builder) buildOld() error {
	notes, err := b.annotations()
	if err != nil {
		return err
	}
	seen := map[uint16]bool{} // SDGs for version 3.1 that repeat an NDG
	dims := 0
	// NDGs come first, because they name the SDGs that repeat them.
	for _, tag := range []uint16{tagNDG, tagSDG} {
		for _, at := range b.list {
			if at.tag != tag || tag == tagSDG && seen[at.ref] {
				continue
			}
			path := fmt.Sprint("/Data-Set-", at.ref)
			g, err := b.group(at.key, seen)
			if err == nil {
				g.attributes = append(g.attributes, notes[at.key]...)
				err = b.addGroup(g, &dims)
			}
			if err := b.reportIfAboutContent(path, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// group reads a data group, which is a list of elements: tag(2) ref(2) …
func (b *builder) group(at key, seen map[uint16]bool) (*group, error) {
	raw, err := b.element(b.ctx, at.tag, at.ref)
	if err != nil {
		return nil, err
	}
	g := &group{key: at, code: float32Code}
	for ; len(raw) >= 4 && err == nil; raw = raw[4:] {
		err = b.member(g, key{binary.BigEndian.Uint16(raw), binary.BigEndian.Uint16(raw[2:])}, seen)
	}
	if err == nil && g.shape == nil {
		err = b.fail(-1, readers.Corruptf("data group %d/%d has no dimension record", at.tag, at.ref))
	}
	return g, err
}

func (b *builder) member(g *group, m key, seen map[uint16]bool) error {
	switch m.tag {
	case tagSDD:
		return b.dimensionRecord(g, m)
	case tagLabels:
		g.labels = m.ref
	case tagUnits:
		g.units = m.ref
	case tagFormats:
		g.formats = m.ref
	case tagScales:
		g.scale = m.ref
	case tagSD:
		g.data = m.ref
	case tagCoordSys, tagCal, tagRange:
		raw, err := b.element(b.ctx, m.tag, m.ref)
		if err != nil {
			return err
		}
		g.addAttributes(m.tag, raw)
	case tagLinkSDG:
		raw, err := b.element(b.ctx, m.tag, m.ref)
		// The element holds the tag and number of the NDG, then the tag and number of its SDG.
		if err == nil && len(raw) >= 8 && g.tag == tagNDG {
			seen[binary.BigEndian.Uint16(raw[6:])] = true
		}
		return err
	}
	return nil
}

// dimensionRecord reads a dimension record (SDD): rank(2), length(4) … rank times, then tag(2)
// ref(2) of the number types of the values and of the scale of each dimension.
func (b *builder) dimensionRecord(g *group, m key) error {
	raw, err := b.element(b.ctx, m.tag, m.ref)
	if err != nil {
		return err
	}
	d, _ := b.find(m.tag, m.ref)
	c := &cursor{file: b.file, at: d.offset, b: raw}
	rank := c.uint16()
	if c.err == nil && (rank == 0 || rank > maxRank) {
		return c.corrupt("dimension record: %d dimensions (want 1 to %d)", rank, maxRank)
	}
	g.shape, g.scaleCodes = nil, nil
	for range rank {
		n := c.int32()
		if n < 0 {
			return c.corrupt("dimension record: length %d", n)
		}
		g.shape = append(g.shape, uint64(n))
	}
	for i := range int(rank) + 1 {
		at := key{c.uint16(), c.uint16()}
		if c.err != nil {
			return c.err
		}
		raw, err := b.element(b.ctx, at.tag, at.ref)
		if err != nil {
			return err
		}
		code, err := numberType(raw)
		if err != nil {
			return c.fail(err)
		}
		if i == 0 {
			g.code = code
		} else {
			g.scaleCodes = append(g.scaleCodes, code)
		}
	}
	return nil
}

// addAttributes adds the attributes that the library makes from an element.
func (g *group) addAttributes(tag uint16, raw []byte) {
	add := func(name string, code uint16, from, to int) {
		if to <= len(raw) {
			g.attributes = append(g.attributes, numberAttribute(name, code, raw[from:to]))
		}
	}
	switch tag {
	case tagCoordSys:
		if text := cText(raw); text != "" {
			g.attributes = append(g.attributes, textAttribute("coordsys", []byte(text)))
		}
	case tagRange:
		if t, _, err := typeOf(g.code); err == nil {
			add("valid_max", g.code, 0, t.Size)
			add("valid_min", g.code, t.Size, 2*t.Size)
		}
	case tagCal:
		code, width, kind, size := uint16(float32Code), 4, uint16(22), 2
		// Calibrations of libraries before version 3.3 have float32 values; later ones have
		// float64.
		if len(raw) == 36 {
			code, width, kind, size = 6, 8, 24, 4
		}
		for i, name := range []string{"scale_factor", "scale_factor_err", "add_offset", "add_offset_err"} {
			add(name, code, i*width, (i+1)*width)
		}
		add("calibrated_nt", kind, 4*width, 4*width+size)
	}
}

// texts returns the labels, units or formats of a dataset and then of its dimensions:
// NUL-terminated strings.
func (b *builder) texts(tag, ref uint16) ([]string, error) {
	if ref == 0 {
		return nil, nil
	}
	raw, err := b.element(b.ctx, tag, ref)
	if err != nil {
		return nil, err
	}
	var out []string
	for len(raw) > 0 && len(out) <= maxRank {
		text, rest, _ := bytes.Cut(raw, []byte{0})
		out, raw = append(out, string(text)), rest
	}
	return out, nil
}

// withTexts appends long_name, units and format: the texts with the given number.
func withTexts(list []readers.Attribute, texts [3][]string, number int) []readers.Attribute {
	for i, name := range []string{"long_name", "units", "format"} {
		if number < len(texts[i]) && texts[i][number] != "" {
			list = append(list, textAttribute(name, []byte(texts[i][number])))
		}
	}
	return list
}

// addGroup adds the dataset of a data group, and the scales of its dimensions as variables.
func (b *builder) addGroup(g *group, dims *int) error {
	var texts [3][]string
	var err error
	for i, of := range []key{{tagLabels, g.labels}, {tagUnits, g.units}, {tagFormats, g.formats}} {
		if texts[i], err = b.texts(of.tag, of.ref); err != nil {
			return err
		}
	}
	scales, err := b.scales(g)
	if err != nil {
		return err
	}
	d := &dataset{name: fmt.Sprint("Data-Set-", g.ref), code: g.code, ref: g.ref}
	for i, n := range g.shape {
		name := fmt.Sprint("fakeDim", *dims)
		*dims++
		dim := &readers.Dimension{Name: name, Path: "/" + name, Length: n}
		b.out.Root.Dimensions = append(b.out.Root.Dimensions, dim)
		d.dims = append(d.dims, dim)
		about := withTexts(nil, texts, i+1)
		// The library shows a dimension as a variable only if it has a scale or a text.
		if len(about) == 0 && scales[i] == nil {
			continue
		}
		err := b.add(&dataset{name: name, code: g.scaleCodes[i], dims: []*readers.Dimension{dim}, attributes: about, values: scales[i], ref: g.ref})
		if err != nil {
			return err
		}
	}
	if at, ok := b.find(tagSD, g.data); ok && g.data != 0 {
		if d.values, err = b.readStored(b.ctx, at); err != nil {
			return err
		}
	}
	d.attributes = withTexts(g.attributes, texts, 0)
	return b.add(d)
}

// scales returns the positions of the scales of a group's dimensions, and nil for dimensions
// without one. The element has one byte for each dimension, which is not 0 if it has a scale, and
// then the scales.
func (b *builder) scales(g *group) ([]*stored, error) {
	out := make([]*stored, len(g.shape))
	if g.scale == 0 {
		return out, nil
	}
	at, _ := b.find(tagScales, g.scale)
	runs, err := b.runs(b.ctx, at)
	if err != nil {
		return nil, err
	}
	// The scales follow these flags without gaps, in the order of the dimensions that have one.
	flags, err := b.join(b.ctx, cutRuns(runs, 0, int64(len(g.shape))))
	if err == nil && len(flags) < len(g.shape) {
		err = b.fail(at.offset, readers.Corruptf("scales have %d bytes for %d dimensions", len(flags), len(g.shape)))
	}
	if err != nil {
		return nil, err
	}
	from := int64(len(flags))
	for i, has := range flags {
		if has == 0 {
			continue
		}
		t, _, err := typeOf(g.scaleCodes[i])
		if err != nil {
			return nil, b.fail(at.offset, err)
		}
		size, err := sizeOf(t, g.shape[i:i+1])
		if err != nil {
			return nil, b.fail(at.offset, err)
		}
		part := cutRuns(runs, from, from+size)
		out[i] = &stored{descriptor: at, bytes: total(part), runs: part}
		from += size
	}
	return out, nil
}

// annotations returns the labels and remarks of elements as attributes. Their element is tag(2)
// ref(2) text.
func (b *builder) annotations() (map[key][]readers.Attribute, error) {
	out := map[key][]readers.Attribute{}
	for _, kind := range []struct {
		tag  uint16
		name string
	}{{tagRemark, "remarks"}, {tagLabel, "anno_label"}} {
		count := map[key]int{}
		for _, d := range b.list {
			if d.tag != kind.tag {
				continue
			}
			raw, err := b.element(b.ctx, d.tag, d.ref)
			if err == nil && len(raw) < 4 {
				err = b.fail(d.offset, readers.Corruptf("annotation has %d bytes (want at least 4)", len(raw)))
			}
			if err != nil {
				if err = b.reportIfAboutContent("/", err); err != nil {
					return nil, err
				}
				continue
			}
			of := key{binary.BigEndian.Uint16(raw), binary.BigEndian.Uint16(raw[2:])}
			count[of]++
			out[of] = append(out[of], textAttribute(fmt.Sprintf("%s-%d", kind.name, count[of]), []byte(cText(raw[4:]))))
		}
	}
	return out, nil
}

package schema

import (
	"encoding/json"
	"fmt"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// fill decides what cells hold that no file has written: what most unwritten ones of the files
// are, so that their chunks can stay missing; where files leave gaps, what is missing.
func (d *decision) fill() {
	typ := d.schema.DataType.Type()
	if d.opts.Gaps {
		d.schema.Fill = d.gap(typ)
		d.sayGap(typ)
	} else {
		d.schema.Fill = d.ownFill()
	}
	if d.alone() {
		return
	}
	own := func(m *member) []byte {
		if !m.mayBeUnwritten() {
			return d.schema.Fill
		}
		return m.conversion.Fill()
	}
	t := d.count(having{
		key:  func(m *member) string { return string(own(m)) },
		says: func(m *member) string { return number(typ, own(m)) },
	})
	if t.differ() && d.schema.Reading != manifest.Unpacked { // there the packing is told, which makes it differ
		d.finding(report.FillDiffers, report.Reencoded, t, nil)
	}
}

// mayBeUnwritten reports whether the files may lack chunks.
func (m *member) mayBeUnwritten() bool {
	l := m.Variable.Storage.Layout
	return l == manifest.Chunked || l == manifest.Nothing || l == manifest.Parted
}

// ownFill is that of most bytes; what is all written counts only if nothing else is there.
func (d *decision) ownFill() (best []byte) {
	weights, most := map[string]int64{}, int64(-1)
	for i := range d.members {
		m := &d.members[i]
		if m.mayBeUnwritten() {
			weights[string(m.conversion.Fill())] += m.Bytes
		}
	}
	for i := range d.members {
		if own := d.members[i].conversion.Fill(); weights[string(own)] > most {
			most, best = weights[string(own)], own
		}
	}
	return best
}

// gap is one element for cells of which no file knows anything.
func (d *decision) gap(typ codec.Type) []byte {
	switch {
	case len(d.masks) > 0:
		return d.masks[0]
	case typ.Kind == codec.Float:
		return cf.NaN(typ)
	case d.blank() != nil:
		return d.blank()
	case typ.Kind == codec.Complex:
		half := cf.NaN(codec.Type{Kind: codec.Float, Size: typ.Size / 2})
		return append(append([]byte(nil), half...), half...)
	}
	return d.schema.DataType.DefaultFill()
}

// blank is the text by which all members say that there is none, or nil. No client takes a mask of
// texts, but cells that are in no file read as those that files leave empty.
func (d *decision) blank() (text []byte) {
	typ := d.schema.DataType.Type()
	for i := range d.members {
		a := d.members[i].attribute(cf.FillValue)
		if a == nil || len(a.Texts) != 1 || i > 0 && a.Texts[0] != string(text) {
			return nil
		}
		text = []byte(a.Texts[0])
	}
	switch {
	case typ.Kind == codec.String:
		return text
	case typ.Kind == codec.FixedBytes && len(text) <= typ.Size:
		return append(text, make([]byte, typ.Size-len(text))...)
	}
	return nil
}

// sayGap says what cells read as that are in no file, where nothing shows that they are missing.
func (d *decision) sayGap(typ codec.Type) {
	switch typ.Kind {
	case codec.Float, codec.Complex, codec.DateTime, codec.TimeDelta:
		return
	}
	if len(d.masks) > 0 || d.blank() != nil {
		return
	}
	if spelt, err := d.schema.DataType.FillJSON(d.schema.Fill); err == nil {
		d.note(report.FillAmbiguous, report.Noted, report.Args{"value": string(spelt), "type": typ.String()})
	}
}

// codecs decides the chain: that of most bytes, among those that any client decodes, of members
// whose elements stay as they are.
func (d *decision) codecs() {
	chains := d.chains()
	best := d.best(chains)
	if best != nil {
		d.schema.From, d.schema.Codecs, d.schema.Inexact = best.from, best.specs, !best.exact
	} else {
		d.schema.From, d.schema.Codecs = -1, codec.DefaultCodecs(d.schema.DataType.Type())
	}
	for i := range d.members {
		d.schema.Kept[i] = best != nil && chains[i] != nil && chains[i].class == best.class
	}
	d.sayCodecs(chains, best)
}

// chain is one way in which members are stored.
type chain struct {
	specs []codec.Spec
	from  int    // the member that has it with most bytes
	bytes int64  // of members that have exactly this
	class *class // nil: no client knows it
	most  int64
	exact bool // any elements can be stored so
}

// class are chains that decode alike.
type class struct {
	specs []codec.Spec
	bytes int64
}

// chains returns the chain of each member whose elements stay as they are, nil for others.
func (d *decision) chains() []*chain {
	all := make([]*chain, len(d.members))
	known := map[string]*chain{}
	var classes []*class
	for i := range d.members {
		m := &d.members[i]
		if !m.conversion.Identity() || !stored(m.Variable) {
			continue
		}
		key := ""
		if len(d.members) > 1 {
			key = chainKey(m.Variable)
		}
		c := known[key]
		if c == nil {
			c = &chain{specs: m.Variable.Storage.Codecs}
			classes = d.classify(c, m.Variable, classes)
			known[key] = c
		}
		all[i] = c
		c.bytes += m.Bytes
		if m.Bytes > c.most || c.most == 0 {
			c.most, c.from = m.Bytes, i
		}
		if c.class != nil {
			c.class.bytes += m.Bytes
		}
	}
	return all
}

func stored(v *manifest.Variable) bool {
	l := v.Storage.Layout
	return l == manifest.Chunked || l == manifest.Strided || l == manifest.Inline
}

// chainKey is equal for variables whose pipelines are.
func chainKey(v *manifest.Variable) string {
	raw, err := json.Marshal(v.Storage.Codecs)
	if err != nil {
		return v.Path
	}
	return fmt.Sprint(v.Type, chunkShape(v), string(raw))
}

// chunkShape is that of the variable's chunks, of the first if they differ.
func chunkShape(v *manifest.Variable) []int64 {
	switch {
	case v.Storage.Edges != nil:
		shape := make([]int64, len(v.Storage.Edges))
		for axis, runs := range v.Storage.Edges {
			if len(runs) > 0 {
				shape[axis] = runs[0][0]
			}
		}
		return shape
	case v.Storage.Layout == manifest.Chunked:
		return v.Storage.Chunks
	}
	return v.Shape
}

// classify finds the class of a variable's chain, or adds one. There is none for what some
// client cannot decode.
func (d *decision) classify(to *chain, v *manifest.Variable, classes []*class) []*class {
	form := codec.Form{Type: v.Type, Shape: chunkShape(v), Fill: v.Fill.Value}
	p, err := d.common.pipelines.New(v.Storage.Codecs, form)
	if err != nil || p.Clients() != codec.AnyClient {
		return classes
	}
	to.exact = p.CheckExact() == nil
	for _, c := range classes {
		if q, err := d.common.pipelines.New(c.specs, form); err == nil && q.SameDecode(p) {
			to.class = c
			return classes
		}
	}
	to.class = &class{specs: v.Storage.Codecs}
	return append(classes, to.class)
}

// best is the chain of most bytes in the class of most bytes, or the one that was asked for.
// Where chunks have to be re-encoded it is one in which they can be.
func (d *decision) best(chains []*chain) (best *chain) {
	if at := d.opts.CodecFrom - 1; at >= 0 && at < len(chains) {
		if c := chains[at]; c != nil && c.class != nil && (c.exact || !d.opts.Exact) {
			return c
		}
		d.note(report.CodecFromUnusable, report.Reencoded, report.Args{"file": report.File(d.members[at].First)})
	}
	for _, c := range chains {
		if c == nil || c.class == nil || d.opts.Exact && !c.exact {
			continue
		}
		if best == nil || c.class.bytes > best.class.bytes || c.class == best.class && c.bytes > best.bytes {
			best = c
		}
	}
	return best
}

// sayCodecs tells which members' chains are not the schema's. Why members have none is said
// elsewhere.
func (d *decision) sayCodecs(chains []*chain, best *chain) {
	if best != nil && len(chains) == 1 {
		return // it cannot differ
	}
	t := tally{byKey: map[string]*group{}}
	for i, c := range chains {
		if c == nil {
			continue
		}
		text := func(*member) string { return chainText(c.specs) }
		key := text
		if c.class != nil {
			text = func(*member) string { return chainText(c.class.specs) }
			key = func(*member) string { return fmt.Sprintf("%p", c.class) }
		}
		t.add(&d.members[i], having{key, text})
		if c.class != nil && best != nil && c.class == best.class {
			t.declared = t.byKey[key(&d.members[i])]
		}
	}
	d.saySettings(chains, best)
	switch {
	case t.differ():
		d.finding(report.CodecsDiffer, report.Reencoded, t, nil)
	case best == nil && len(t.groups) == 1 && d.opts.Exact:
		d.note(report.CodecsInexact, report.Reencoded, report.Args{"stored": t.groups[0].says(), "declared": chainText(d.schema.Codecs)})
	case best == nil && len(t.groups) == 1:
		d.note(report.CodecsUnsupported, report.Reencoded, report.Args{"stored": t.groups[0].says(), "declared": chainText(d.schema.Codecs)})
	}
}

// saySettings tells which members' codecs are set otherwise, and decode alike.
func (d *decision) saySettings(chains []*chain, best *chain) {
	t := tally{byKey: map[string]*group{}}
	for i, c := range chains {
		if c != nil && best != nil && c.class == best.class {
			text := func(*member) string { return settings(c.specs) }
			t.add(&d.members[i], having{text, text})
		}
	}
	if t.differ() {
		d.finding(report.CodecSettings, report.Verbatim, t, nil)
	}
}

// settings are codecs with all that is said of them, but for how they lay out bytes.
func settings(specs []codec.Spec) string {
	var parts []string
	for _, s := range specs {
		if s.Name != "bytes" {
			parts = append(parts, strings.TrimPrefix(s.Name, "numcodecs.")+string(s.Config))
		}
	}
	return strings.Join(parts, "+")
}

// chainText names codecs for people.
func chainText(specs []codec.Spec) string {
	var names []string
	big := ""
	for _, s := range specs {
		name := s.Name
		for _, prefix := range []string{"numcodecs.", "hdf5.", "hdf4.", "fits."} {
			name = strings.TrimPrefix(name, prefix)
		}
		if s.Name == "bytes" {
			if strings.Contains(string(s.Config), `"big"`) {
				big = ", big-endian"
			}
			continue
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "no compression" + big
	}
	return strings.Join(names, "+") + big
}

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

// fill decides the fill value. For arrays without gaps it is the fill value of most bytes, so that
// most unwritten chunks stay missing. For arrays with gaps it is a missing value.
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
		return m.fill
	}
	t := d.count(having{
		key:  func(m *member) string { return string(own(m)) },
		says: func(m *member) string { return number(typ, own(m)) },
	})
	if t.differ() && d.schema.Reading != manifest.Unpacked && d.schema.Reading != manifest.InUnits { // unpacked values have a finding already
		d.finding(report.FillDiffers, report.Reencoded, t, nil)
	}
}

// mayBeUnwritten reports whether files may lack chunks of the member.
func (m *member) mayBeUnwritten() bool {
	l := m.Variable.Storage.Layout
	return l == manifest.Chunked || l == manifest.Nothing || l == manifest.Parted
}

// ownFill returns the fill value of most bytes among members that may be unwritten, or of any
// member if there is none.
func (d *decision) ownFill() (best []byte) {
	weights, most := map[string]int64{}, int64(-1)
	for i := range d.members {
		m := &d.members[i]
		if m.mayBeUnwritten() {
			weights[string(m.fill)] += m.Bytes
		}
	}
	for i := range d.members {
		// Go through members and not the map, so that equal weights give the same result.
		if own := d.members[i].fill; weights[string(own)] > most {
			most, best = weights[string(own)], own
		}
	}
	return best
}

// gap returns the element for positions that are in no file.
func (d *decision) gap(typ codec.Type) []byte {
	switch {
	case d.opts.Texts:
		return make([]byte, typ.Size)
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

// blank returns the text that all members declare as the missing value, or nil. Clients ignore
// missing values of texts, but at least gaps then read like empty elements of the files.
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

// sayGap reports the value that gaps have, if clients cannot distinguish it from data.
func (d *decision) sayGap(typ codec.Type) {
	switch typ.Kind {
	case codec.Float, codec.Complex, codec.DateTime, codec.TimeDelta:
		return
	}
	if len(d.masks) > 0 || d.blank() != nil || d.opts.Texts {
		return
	}
	if spelt, err := d.schema.DataType.FillJSON(d.schema.Fill); err == nil {
		d.note(report.FillAmbiguous, report.Noted, report.Args{"value": string(spelt), "type": typ.String()})
	}
}

// codecs decides the codec pipeline: the one of most bytes, among pipelines that all clients decode
// and members whose elements need no conversion.
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

// chain is one distinct codec pipeline of members.
type chain struct {
	specs []codec.Spec
	from  int    // the member with this pipeline that has most bytes
	bytes int64  // size of the members with exactly this pipeline
	class *class // nil if some client cannot decode it
	most  int64  // size of the member from
	exact bool   // the pipeline restores all values that it encodes
}

// class holds pipelines that decode in the same way, although their encoder settings may differ.
type class struct {
	specs []codec.Spec
	bytes int64
}

// chains returns the pipeline of each member, or nil if its elements must be converted.
func (d *decision) chains() []*chain {
	all := make([]*chain, len(d.members))
	known := map[string]*chain{}
	var classes []*class
	for i := range d.members {
		m := &d.members[i]
		if !m.isIdentity || !stored(m.Variable) {
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

// chainKey returns a key that is equal for variables with equal pipelines.
func chainKey(v *manifest.Variable) string {
	raw, err := json.Marshal(v.Storage.Codecs)
	if err != nil {
		return v.Path
	}
	return fmt.Sprint(v.Type, chunkShape(v), string(raw))
}

// chunkShape returns the shape of a variable's chunks. If they differ, it returns the shape of the
// first chunk.
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

// classify sets the class of a variable's pipeline, and adds a new class if necessary. A pipeline that
// some client cannot decode has no class.
func (d *decision) classify(to *chain, v *manifest.Variable, classes []*class) []*class {
	form := codec.Form{Type: v.Type, Shape: chunkShape(v), Fill: v.Fill.Value}
	p, err := d.common.pipelines.New(v.Storage.Codecs, form)
	if err != nil || p.Clients() != codec.AnyClient {
		return classes
	}
	to.exact = p.CheckExact() == nil
	// Compression levels differ between years of an archive without any effect on decoding.
	for _, c := range classes {
		if q, err := d.common.pipelines.New(c.specs, form); err == nil && q.SameDecode(p) {
			to.class = c
			return classes
		}
	}
	to.class = &class{specs: v.Storage.Codecs}
	return append(classes, to.class)
}

// best returns the pipeline that the user asked for, or the most frequent one of the most frequent
// class, by bytes. With Options.Exact it must restore all values.
func (d *decision) best(chains []*chain) (best *chain) {
	if at := d.opts.CodecFrom - 1; at >= 0 && at < len(chains) {
		if c := chains[at]; c != nil && c.class != nil && (c.exact || !d.opts.Exact) {
			return c
		}
		// The user named this file, so say why its codecs are not used.
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

// sayCodecs reports members with another pipeline. Members whose elements are converted are
// reported elsewhere.
func (d *decision) sayCodecs(chains []*chain, best *chain) {
	if best != nil && len(chains) == 1 {
		return // a single pipeline cannot differ
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

// saySettings reports members whose encoder settings differ, which has no effect on readers.
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

// settings returns the codecs with their settings, except the byte order.
func settings(specs []codec.Spec) string {
	var parts []string
	for _, s := range specs {
		if _, isOrder := s.ByteOrder(); !isOrder {
			parts = append(parts, s.ShortName()+string(s.Config))
		}
	}
	return strings.Join(parts, "+")
}

// chainText formats codec names for messages.
func chainText(specs []codec.Spec) string {
	var names []string
	big := ""
	for _, s := range specs {
		order, isOrder := s.ByteOrder()
		if order == codec.BigEndian {
			big = ", big-endian"
		}
		if !isOrder {
			names = append(names, s.ShortName())
		}
	}
	if len(names) == 0 {
		return "no compression" + big
	}
	return strings.Join(names, "+") + big
}

package grib

import (
	"slices"
	"strings"
	"sync"
	"time"

	"varve/codec/grib/keys"
	"varve/codec/grib/message"
	"varve/readers"
	"varve/readers/internal/grib/index"
)

// template is a field whose headers are known, with its description by an index file.
type template struct {
	field    *Field
	identity uint32 // see message.Check
	said     index.Description
	// These are true if the headers agree with the description, so that other numbers can be set.
	hasLevel, hasStep, hasMember bool
}

// kinds holds templates. Any number of goroutines may use it.
type kinds struct {
	names  NameScheme // how the variables of the fields are named
	mu     sync.RWMutex
	texts  map[string]*template   // by the text of the index file
	byKind map[string][]*template // by the kind; only templates that were read from messages
}

func newKinds(names NameScheme) *kinds {
	return &kinds{names: names, texts: map[string]*template{}, byKind: map[string][]*template{}}
}

const (
	// maxTexts bounds the texts that are kept. Large archives have some ten thousand.
	maxTexts = 1 << 17
	// maxTried bounds the templates of a kind from which a field is derived: without a bound, n messages of one kind would take time n².
	maxTried = 8
)

// newTemplate makes a template of a field that was read. line is its line in the index file. It returns an error if the line and
// the headers disagree.
func newTemplate(f *Field, format index.Format, line *index.Entry) (*template, error) {
	t := &template{field: f, identity: f.headers().Identity(), said: format.Describe(line.Text)}
	reference, err := f.Reference()
	if err == nil && !reference.Equal(line.Reference) {
		return nil, disagrees("reference time", line.Reference.Format(time.DateTime), reference.Format(time.DateTime))
	}
	for _, check := range []func() error{t.checkLevel, t.checkStep, t.checkMember} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func disagrees(what string, said, is any) error {
	return readers.Corruptf("the line says %s %v, the message has %v: the index file is of another file, or older than the data", what, said, is)
}

// levelKeys has the keys of the two fixed surfaces, without the words before them.
var levelKeys = [2]string{"FirstFixedSurface", "SecondFixedSurface"}

// surfaceOf returns the type and the value of a fixed surface. It returns false if the value is missing.
func (f *Field) surfaceOf(key string) (kind int64, value index.Decimal, ok bool) {
	kind, _ = f.param.Int("typeOf" + key)
	scale, _ := f.param.Int("scaleFactorOf" + key)
	digits, ok := f.param.Int("scaledValueOf" + key)
	missing := f.param.Missing("scaledValueOf"+key) || f.param.Missing("scaleFactorOf"+key)
	return kind, index.Decimal{Digits: digits, Scale: int(scale)}, ok && !missing
}

// noSurface is the type of a fixed surface that is missing.
const noSurface = 255

func (t *template) checkLevel() error {
	l := t.said.Level
	if l == nil || t.field.Edition != 2 {
		return nil
	}
	kind, value, ok := t.field.surfaceOf(levelKeys[0])
	if !ok {
		return nil
	}
	second, bottom, isLayer := t.field.surfaceOf(levelKeys[1])
	isLayer = isLayer && second != noSurface
	switch {
	case int(kind) != l.Surface:
		return disagrees("surface of type", l.Surface, kind)
	case isLayer != l.IsLayer || isLayer && second != kind:
		return nil
	case !value.Equal(l.Top):
		return disagrees("level", l.Top.Float(), value.Float())
	case isLayer && !bottom.Equal(l.Bottom):
		return disagrees("bottom of the layer", l.Bottom.Float(), bottom.Float())
	}
	t.hasLevel = true
	return nil
}

func (t *template) checkStep() error {
	said := t.said.Step
	is, ok := t.field.Step()
	if said == nil || !ok {
		return nil
	}
	isRange := t.field.param.Has("numberOfTimeRanges")
	ranges, _ := t.field.param.Int("numberOfTimeRanges")
	switch {
	case said.End != is.End:
		return disagrees("the end of the step", said.End, is.End)
	case said.HasStart && said.IsRange && said.Start != is.Start:
		return disagrees("the start of the step", said.Start, is.Start)
	}
	// Without the start of a range, no other step can be set.
	t.hasStep = t.field.Edition == 2 && said.IsRange == isRange && (!isRange || ranges == 1)
	return nil
}

func (t *template) checkMember() error {
	n, ok := t.field.param.Int("perturbationNumber")
	if t.said.Member == nil || !ok || t.field.Edition != 2 {
		return nil
	}
	if n != *t.said.Member {
		return disagrees("member", *t.said.Member, n)
	}
	t.hasMember = true
	return nil
}

// reusable reports whether a field with the same text and another reference time has the same headers otherwise: without a known step,
// the step is computed from the reference time.
func (t *template) reusable() bool {
	_, ok := t.field.Step()
	return ok && t.field.Count == 1
}

// add adds a template under the text of its line.
func (k *kinds) add(text string, t *template) {
	if !t.reusable() {
		return
	}
	t.summarize(k.names)
	k.mu.Lock()
	defer k.mu.Unlock()
	text = strings.Clone(text) // a part of a text would keep the whole index file in memory
	if k.texts[text] == nil {
		k.texts[text] = t
	}
	if list := k.byKind[t.said.Kind]; len(list) < maxTried {
		k.byKind[t.said.Kind] = append(list, t)
	}
}

// find returns the template for a text, or nil if there is none and none can be derived.
func (k *kinds) find(format index.Format, text string) *template {
	k.mu.RLock()
	t := k.texts[text]
	n := len(k.byKind)
	k.mu.RUnlock()
	if t != nil || n == 0 {
		return t
	}
	said := format.Describe(text)
	k.mu.RLock()
	list := k.byKind[said.Kind]
	k.mu.RUnlock()
	for _, from := range list {
		if t = from.derive(said, k.names); t != nil {
			break
		}
	}
	if t != nil {
		k.mu.Lock()
		if len(k.texts) < maxTexts {
			k.texts[strings.Clone(text)] = t
		}
		k.mu.Unlock()
	}
	return t
}

// derive returns the template of a field of the same kind with another level, step or member. It returns nil if these cannot be set.
func (t *template) derive(said index.Description, names NameScheme) *template {
	f := *t.field
	if f.Edition == 2 {
		f.product = slices.Clone(f.product)
		f.param = keys.Read(f.productLayout(), f.product, 9)
	}
	out := *t
	out.field, out.said = &f, said
	if !out.setLevel(t.said.Level) || !out.setStep(t.said.Step) || !out.setMember(t.said.Member) {
		return nil
	}
	f.naming, f.summary = nil, nil
	f.pressure = "hPa"
	f.level() // sets f.pressure
	// Read the keys back: none may hold another number than the description.
	for _, check := range []func() error{out.checkLevel, out.checkStep, out.checkMember} {
		if check() != nil {
			return nil
		}
	}
	out.identity = f.headers().Identity()
	out.summarize(names)
	return &out
}

// summarize computes the summary of the field, so that all fields that are derived from the template share it.
func (t *template) summarize(names NameScheme) {
	when, _ := t.field.Reference()
	t.field.summarize(names, when)
}

func (t *template) setLevel(before *index.Level) bool {
	l := t.said.Level
	if l == nil || before == nil {
		return l == before
	}
	if *l == *before {
		return true
	}
	if !t.hasLevel || l.Surface != before.Surface || l.IsLayer != before.IsLayer {
		return false
	}
	set := func(key string, value index.Decimal) bool {
		scale, _ := t.field.param.Int("scaleFactorOf" + key)
		digits, ok := value.At(int(scale))
		return ok && t.field.param.Set("scaledValueOf"+key, 0, digits)
	}
	return set(levelKeys[0], l.Top) && (!l.IsLayer || set(levelKeys[1], l.Bottom))
}

func (t *template) setStep(before *index.Step) bool {
	s := t.said.Step
	if s == nil || before == nil {
		return s == before
	}
	if *s == *before {
		return true
	}
	if !t.hasStep || s.IsRange != before.IsRange {
		return false
	}
	set := func(key, unit string, d time.Duration) bool {
		code, _ := t.field.param.Int(unit)
		of := units2[code]
		return of > 0 && d%of == 0 && t.field.param.Set(key, 0, int64(d/of))
	}
	return set("forecastTime", "indicatorOfUnitForForecastTime", s.Start) &&
		(!s.IsRange || set("lengthOfTimeRange", "indicatorOfUnitForTimeRange", s.End-s.Start))
}

func (t *template) setMember(before *int64) bool {
	n := t.said.Member
	if n == nil || before == nil {
		return n == before
	}
	return *n == *before || t.hasMember && t.field.param.Set("perturbationNumber", 0, *n)
}

// fieldAt returns the field of a message that the index file lists. isOther says that the template is of another file.
func (t *template) fieldAt(e *index.Entry, isOther bool) *Field {
	f := *t.field
	before := f.Offset
	f.Offset, f.Length, f.From, f.To = e.Offset, e.Length, e.Offset, e.Offset+e.Length
	f.reference, f.check = e.Reference, message.Check(t.identity, e.Reference)
	if isOther && f.GridLength > 0 {
		f.GridOffset += e.Offset - before
		f.gridCheck = message.GridCheck(f.definition)
	}
	return &f
}

// headers returns the sections that identify a field.
func (f *Field) headers() *message.Headers {
	return &message.Headers{Edition: f.Edition, Discipline: f.Discipline, Identification: f.identification, Grid: f.definition, Product: f.product}
}

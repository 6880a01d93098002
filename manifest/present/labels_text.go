package present

import (
	"fmt"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest/plan"
)

// textLabels are strings. Ranges compare their bytes.
type textLabels struct {
	texts  []string
	sorted bool
}

func newTextLabels(d *Decoder, elems codec.Elems, n int64) *textLabels {
	l := &textLabels{texts: make([]string, n), sorted: true}
	for i := range l.texts {
		l.texts[i] = string(AppendPlain(nil, d.typ, d.element(elems, int64(i))))
		l.sorted = l.sorted && (i == 0 || l.texts[i-1] <= l.texts[i])
	}
	return l
}

// query treats a text with a colon as a label if such a label exists, and else as a range.
func (l *textLabels) query(text string) query {
	if slices.Contains(l.texts, text) {
		return query{from: text}
	}
	return cutRange(text)
}

func (l *textLabels) matcher(q query) (func(i int64) bool, error) {
	if !q.isRange {
		return func(i int64) bool { return l.texts[i] == q.from }, nil
	}
	if !l.sorted {
		return nil, fmt.Errorf("the labels are not sorted alphabetically, so a range is not possible; select one label")
	}
	for _, end := range []string{q.from, q.to} {
		if end != "" && !slices.Contains(l.texts, end) {
			return nil, l.unknown(end)
		}
	}
	return func(i int64) bool { return l.texts[i] >= q.from && (q.to == "" || l.texts[i] <= q.to) }, nil
}

// unknown returns the error that a text is no label.
func (l *textLabels) unknown(text string) error {
	e := &LabelError{Label: text}
	e.Labels, e.AreNear = l.nearest(text)
	return e
}

// nearest returns the labels that differ from a text only in case, or else those with few other letters, or else the
// first labels.
func (l *textLabels) nearest(text string) (near []string, areNear bool) {
	const most = 5
	for _, t := range l.texts {
		if len(near) < most && strings.EqualFold(t, text) {
			near = append(near, t)
		}
	}
	if len(near) == 0 {
		near = plan.Nearest(text, l.texts)
	}
	if len(near) > 0 {
		return near[:min(len(near), most)], true
	}
	return l.texts[:min(len(l.texts), most)], false
}

package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
)

// Values answers requests for values that a scan did not keep.
type Values interface {
	// Get returns the requested values, in the order of the requests. A plan makes few calls with many
	// requests, so that each file is opened once.
	Get(ctx context.Context, requests []Request) ([]*manifest.Values, error)
}

// Request names values of a variable that a plan requires.
type Request struct {
	File     int // index into the files given to New
	Variable int // index into the variables of the file's header
	Extent   Extent
}

// Extent says in which form the values of a request are required.
type Extent uint8

// The forms in which values can be required.
const (
	All           Extent = iota // all elements
	Sum                         // only an identity to compare files by: manifest.Values.Sum is enough
	Summarized                  // a summary by a Gauge, because there are too many elements to keep
	ForComparison               // all elements, of any size, for one comparison; they are not kept

	nothing // the variable has no elements
)

// want is a request that may be answered already.
type want struct {
	Request
	elements int64              // for all elements: their number
	means    *manifest.Variable // for a summary: the variable that states the units, such as the time of time bounds
}

// errRefused ends planning when values would have to be read although the files are refused already.
var errRefused = errors.New("the files are refused")

// question is a decision that depends on values. It returns the wants whose values it lacks; without
// any, it is settled.
type question func() (missing []want, err error)

// settle settles questions. It reads what all of them lack at once, because reading may take minutes. It
// returns errRefused instead of reading for files that are refused.
func (p *env) settle(questions ...question) error {
	for {
		var wants []want
		var open []question
		for _, q := range questions {
			missing, err := q()
			if err != nil {
				return err
			}
			if len(missing) > 0 {
				if len(open) == 0 && len(p.report.Refused()) > 0 {
					return errRefused
				}
				wants, open = append(wants, missing...), append(open, q)
			}
		}
		if len(open) == 0 {
			return nil
		}
		if err := p.get(wants); err != nil {
			return err
		}
		questions = open
	}
}

// get reads the values of wants and keeps them.
func (p *env) get(wants []want) error {
	if len(p.report.Refused()) > 0 {
		return errRefused
	}
	seen := map[Request]bool{}
	var requests []Request
	for _, w := range wants {
		if !seen[w.Request] {
			seen[w.Request] = true
			requests = append(requests, w.Request)
		}
	}
	if p.source == nil {
		return fmt.Errorf("%d values are required, and nothing provides them", len(requests))
	}
	values, err := p.source.Get(p.ctx, requests)
	if err != nil {
		return err
	}
	if len(values) != len(requests) {
		return fmt.Errorf("%d values for %d requests", len(values), len(requests))
	}
	for i, r := range requests {
		p.keep(r, values[i])
	}
	for _, w := range wants {
		if _, ok, err := p.values(w); err != nil {
			return err
		} else if !ok {
			return fmt.Errorf("%s: %w: no usable values of %s", p.files[w.File].URL, codec.ErrCorrupt, p.files[w.File].Header.Base().Variables[w.Variable].Path)
		}
	}
	return nil
}

// keep stores values in the file, so that the manifest has them, too.
func (p *env) keep(r Request, values *manifest.Values) {
	for _, f := range []*manifest.File{p.given[r.File], p.files[r.File]} {
		if lack := r.Variable + 1 - len(f.Values); lack > 0 {
			f.Values = append(slices.Clip(f.Values), make([]*manifest.Values, lack)...)
		}
		f.Values[r.Variable] = values
	}
}

// values returns the values of a want, and false if they are not known. The error says that they do
// not fit their variable.
func (p *env) values(w want) (*manifest.Values, bool, error) {
	if w.Extent == nothing {
		return coord.None, true, nil
	}
	values := p.valuesIn(int32(w.File), w.Variable)
	switch {
	case values == nil:
		return nil, false, nil
	case w.Extent == Sum:
		return values, true, nil
	case w.Extent == Summarized:
		return values, coord.Summaries(values.Summary, w.means), nil
	case values.Summed:
		return nil, false, nil
	case w.Extent == All:
		f := p.files[w.File]
		v := f.Header.Base().Variables[w.Variable] // its attributes do not matter here
		// Values may come from a scan part that someone else wrote.
		if have := lengthOf(v, values); have != w.elements {
			return nil, false, fmt.Errorf("%s: %s: %w: %d values for %d elements", f.URL, v.Path, codec.ErrCorrupt, have, w.elements)
		}
	}
	return values, true, nil
}

// all wants all elements of a variable.
func (p *env) all(file int32, at int, elements int64) want {
	if elements == 0 {
		return want{Request: Request{int(file), at, nothing}}
	}
	return want{Request: Request{int(file), at, All}, elements: elements}
}

// course wants the values of a one-dimensional variable, or their summary if they are too many.
func (p *env) course(file int32, c *class, at int, elements int64) want {
	known, v := p.valuesIn(file, at), c.header.Variables[at]
	// Summaries exist only for numbers and times that state their own units.
	if known != nil && !known.Summed || !p.isLarge(v) || coord.NatureOf(v) == coord.Text || c.meaning(at) != v {
		return p.all(file, at, elements)
	}
	return summary(file, at, v)
}

// summary wants the summary of a variable of numbers or times.
func summary(file int32, at int, means *manifest.Variable) want {
	return want{Request: Request{int(file), at, Summarized}, means: means}
}

// digest wants at least a digest of a variable.
func digest(file int32, at int) want { return want{Request: Request{int(file), at, Sum}} }

// isLarge reports whether a variable has more bytes than Options.ValueBytes, so that only a summary
// of its values is read.
func (p *env) isLarge(v *manifest.Variable) bool {
	return coord.ElementsOf(v) > cmp.Or(p.opts.ValueBytes, manifest.DefaultValueBytes)/int64(max(v.Type.Size, 1))
}

// valuesIn returns the known values of a variable, or nil.
func (p *env) valuesIn(file int32, at int) *manifest.Values {
	if known := p.files[file].Values; at < len(known) {
		return known[at]
	}
	return nil
}

// lengthOf counts the elements of values.
func lengthOf(v *manifest.Variable, values *manifest.Values) int64 {
	if v.Type.Varies() {
		return int64(len(values.Texts))
	}
	return int64(len(values.Data)) / int64(max(v.Type.Size, 1))
}

// Gauge summarizes numbers or times that are too many to keep. The caller adds them in blocks.
type Gauge = coord.Gauge

// NewGauge returns a Gauge for a variable of a header.
func NewGauge(h *manifest.Header, variable int) (*Gauge, error) { return coord.GaugeOf(h, variable) }

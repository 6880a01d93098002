// Package plan decides how files become arrays. It looks at headers and at the values of
// coordinates, and does no input or output: what else it has to see it asks for.
//
//	files ── headers ── variables          what is there
//	   │                                   along which dimensions do files follow one another?
//	placement: tile, tile, tile, …         where does each file begin, in the order of coordinates?
//	   │                                   what do the files disagree on, and who is the odd one out?
//	array: schema, edges, tiles              what is declared so that most bytes stay as they are?
//
// docs/explanation/planning.md says what is decided and how. A plan is a function of its input: the same
// files in another order make the same plan.
//
// What is known at a time has a type, which embeds that of the time before, so that no step looks at
// what is not decided yet:
//
//	inquiry      the files and options; what is needed, and what is reported
//	survey       headers: classes of files, and their variables
//	directions   dimensions, and along which of them files follow one another
//	layout       variables of all files, and where these lie; statics compares what has to be equal
//	planner      schemas, placements and groups: the plan
package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"varve/manifest"
	"varve/manifest/convert"
	"varve/manifest/plan/internal/schema"
	"varve/manifest/report"
)

// Plan is what becomes of files.
type Plan struct {
	Arrays     []manifest.Array
	Placements []manifest.Placement
	Groups     []manifest.GroupSchema
	Values     []*manifest.Values // those that pieces of arrays name
	Report     *report.Report
	State      json.RawMessage // what Extend has to know
	// Conversions are those of the variables of files into the arrays' schemas, as far as they
	// had to be made.
	Conversions convert.Known
	// Compared are values that were only asked for to be compared: their sums are enough from now on.
	Compared []Need
	// Inexact are the paths of arrays declared in codecs that do not encode, or do not give
	// back all that they encode. If any of their chunks has to be re-encoded, New has to be called
	// again with them among Options.Exact.
	Inexact []string
}

// Need names values that a plan cannot be made without: they go into the file's Values.
type Need struct {
	File     int // among the files given to New
	Variable int // among those of the file's header
	Extent   Extent
}

// Extent is how much of values has to be known.
type Extent uint8

// What has to be known.
const (
	All        Extent = iota // the elements
	Sum                      // they only have to be told from others: manifest.Values.Sum will do
	Summarized               // they are many: what a Gauge makes of them will do
	Compared                 // the elements, be they many: they are not kept
)

// New plans. If it returns needs, it has to be called again with these values in place; a
// plan is returned only when there are none left. An *Error says that the files cannot be
// combined as asked. The files of tiles are places in files.
func New(files []*manifest.File, opts *Options) (*Plan, []Need, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := opts.Check(); err != nil {
		return nil, nil, err
	}
	p := newPlanner(files, opts)
	for _, step := range []func() error{p.headers, p.dimensions, p.variables, p.statics, p.schemas, p.finish} {
		err := step()
		if err = cmp.Or(p.fault, err); err != nil {
			return nil, nil, err
		}
		if len(p.needs) > 0 {
			if len(p.report.Refused()) > 0 {
				break // reading more would not help
			}
			return nil, p.needs, nil
		}
	}
	p.addChunkLengths()
	p.report.Findings, p.report.Sources = report.Join(p.report.Findings), p.names
	if refused := p.report.Refused(); len(refused) > 0 {
		return nil, nil, &Error{Findings: refused}
	}
	p.out.Report, p.out.Compared = p.report, slices.Collect(maps.Keys(p.compared))
	return p.out, nil, nil
}

// inquiry is what is asked, and what is said to that.
type inquiry struct {
	files  []*manifest.File
	opts   *Options
	report *report.Report
	needs  []Need
	needed map[Need]bool
	fault  error           // of values that do not fit their variable
	sorted sync.Once       // makes names and places when a finding first needs them
	names  *report.Sources // of the files in their natural order
	places []int32         // of each file among the names
	named  map[*manifest.Variable]lensed
}

// survey is what the headers say.
type survey struct {
	inquiry
	classes []*class
	classOf []int32       // of each file; -1 for those that are left out
	hidden  map[int]int32 // classes of files that are parts

	numbered map[string]bool // dimensions without a name, by what they are called all the same
	torn     map[string]bool // those of them that files have several names for
	guesses  []guess         // at those that no file has a name for
	beside   map[string]bool // dimensions along which options say where files without values of their own lie
	spared   bool            // coordinates were taken along whose dimension only other files have a name for
}

// directions are the dimensions, and along which of them files follow one another.
type directions struct {
	survey
	dims     map[string]*dim
	dimOrder []string
	made     []*dim // by options
}

// layout is which arrays there are, and where their files lie.
type layout struct {
	directions
	arrays []*array
	flows  []*dim  // those along which files follow one another
	rank   []int32 // the place of each file among all

	placings    map[string]*placing
	placeOrder  []*placing
	territories map[string]*territory // by dimensions
	unordered   []*array
	doubtful    []doubt
	targets     map[string]*array // what arrays point into that have to point into the same in all files
	compared    map[Need]bool     // values that were asked for only to be compared
	held        int64             // their size
}

// planner is all of a plan in the making.
type planner struct {
	layout
	common     schema.Common    // of all arrays
	ids        map[string]int64 // of placements: the last number behind each
	calibrated bool             // some files are of HDF4
	out        *Plan
}

func newPlanner(files []*manifest.File, opts *Options) *planner {
	p := &planner{ids: map[string]int64{}, out: &Plan{}}
	p.files, p.opts, p.report, p.needed = files, opts, &report.Report{}, map[Need]bool{}
	p.hidden, p.placings, p.territories, p.compared = map[int]int32{}, map[string]*placing{}, map[string]*territory{}, map[Need]bool{}
	return p
}

func (p *inquiry) need(file int32, variable int, extent Extent) {
	n := Need{int(file), variable, extent}
	if !p.needed[n] {
		p.needed[n] = true
		p.needs = append(p.needs, n)
	}
}

// inFile says which file an error is about.
func (p *inquiry) inFile(file int32, err error) error {
	return fmt.Errorf("%s: %w", p.files[file].URL, err)
}

// total counts the files that arrays are made of.
func (p *survey) total() (n int64) {
	for _, c := range p.classOf {
		if c >= 0 {
			n++
		}
	}
	return n
}

// headers looks at what there is.
func (p *survey) headers() error {
	if p.given() == 0 {
		return errors.New("no files to plan")
	}
	if err := p.classify(); err != nil {
		return err
	}
	p.matchUnnamed()
	if err := p.checkOptions(); err != nil {
		return err
	}
	p.leaveOutEmpty()
	if len(p.classes) == 0 || p.total() == 0 {
		return p.nothingLeft()
	}
	p.foreign()
	return nil
}

// isFile reports whether a user means a file by a name.
func isFile(f *manifest.File, name string) bool {
	return f.URL == name || report.Base(f.URL) == report.Base(name)
}

// leaveOutEmpty forgets files of which the options leave nothing.
func (p *survey) leaveOutEmpty() {
	var empty []int32
	for _, c := range p.classes {
		if len(c.vars) > 0 || len(c.header.Variables) == 0 {
			continue
		}
		empty = append(empty, c.files...)
		c.files = nil
	}
	for _, f := range empty {
		p.classOf[f] = -1
	}
	if len(empty) > 0 && p.total() > 0 {
		p.find(p.odd(report.Finding{Code: report.NoVariables, Effect: report.Dropped}, empty, int64(p.given())))
	}
}

// dimensions finds out along which dimensions files follow one another.
func (p *directions) dimensions() error {
	if err := p.stepsBeside(); err != nil || len(p.needs) > 0 {
		return err
	}
	p.collectDims()
	p.takeScalars()
	if err := p.checkConcat(); err != nil {
		return err
	}
	for _, at := range p.dimOrder {
		if err := p.readCoords(p.dims[at]); err != nil {
			return err
		}
	}
	if len(p.needs) > 0 {
		return nil
	}
	p.byDomains()
	if err := p.settleAll(func(d *dim) bool { return !d.guessed() }); err != nil {
		return err
	}
	if err := p.makeDims(); err != nil || len(p.needs) > 0 {
		return err
	}
	return p.settleAll((*dim).guessed)
}

func (p *directions) settleAll(which func(d *dim) bool) error {
	for _, at := range p.dimOrder {
		d := p.dims[at]
		if !which(d) {
			continue
		}
		p.needless(d)
		if err := p.settle(d); err != nil {
			return err
		}
	}
	return nil
}

// variables finds arrays, and where their files lie.
func (p *layout) variables() error {
	p.rankFiles()
	p.collectArrays()
	if err := p.checkBroadcast(); err != nil {
		return err
	}
	p.placeArrays()
	p.refusePointers()
	p.settleGuesses()
	p.settleAbsent()
	p.noteAxes()
	return nil
}

// rankFiles puts files in the order in which they lie: along the first dimension, then the
// next, at last by their names.
func (p *layout) rankFiles() {
	for _, at := range p.dimOrder {
		if d := p.dims[at]; d.role == flowing {
			p.flows = append(p.flows, d)
		}
	}
	order := make([]int32, 0, len(p.files))
	for f := range p.files {
		order = append(order, int32(f))
	}
	slices.SortFunc(order, func(a, b int32) int {
		for _, d := range p.flows {
			x, _, _ := d.starts(a)
			y, _, _ := d.starts(b)
			if x != y {
				return int(min(max(x-y, -1), 1))
			}
		}
		return p.byName(a, b)
	})
	p.rank = make([]int32, len(p.files))
	for i, f := range order {
		p.rank[f] = int32(i)
	}
}

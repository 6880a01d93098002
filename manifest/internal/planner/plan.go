// Package planner decides how files are combined into arrays, by the options of package plan. It
// reads headers and coordinate values that the caller has in memory. It does no input or output: New
// returns the values that it still needs.
//
//	files ── headers ── variables          classes: one for each distinct header
//	   │                                   along which dimensions are files concatenated?
//	placement: tile, tile, tile, …         where does each file start, in coordinate order?
//	   │                                   which files disagree, and about what?
//	array: schema, edges, tiles            which schema keeps most chunks verbatim?
//
// docs/explanation/planning.md explains the rules. A plan depends only on the set of files and on
// the options: the order in which files are given does not change it.
//
// Planning has five stages. Each stage has a type that embeds the type of the stage before, so a
// stage cannot read results of a later stage:
//
//	inquiry      inputs: files and options; outputs: needed values and findings
//	survey       classes of files with equal headers, and their variables
//	directions   dimensions, and along which of them files are concatenated
//	layout       arrays, and the placement of their files; statics compares values that must be equal
//	planner      schemas, placements and groups of the finished plan
package planner

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"varve/manifest"
	"varve/manifest/internal/convert"
	"varve/manifest/internal/planner/internal/schema"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// Plan describes the combined dataset.
type Plan struct {
	Arrays     []manifest.Array
	Placements []manifest.Placement
	Groups     []manifest.GroupSchema
	Values     []*manifest.Values // the values that the arrays' pieces name by ID
	Report     *report.Report
	State      json.RawMessage // the input of Extend
	// Conversions caches the conversions from source variables to array schemas that planning made,
	// so that a build does not make them again.
	Conversions convert.Known
	// Compared lists values that were read only to compare files. From now on, the caller may keep
	// their digests instead.
	Compared []Need
	// Repacked lists the variables whose values are packed again, to measure how much that changes them.
	Repacked []Repacked
	// Inexact lists the paths of arrays whose codecs cannot encode, or do not restore all values
	// that they encode. If a chunk of these arrays has to be re-encoded, call New again with their
	// paths in Options.Exact.
	Inexact []string
}

// Need names values that New requires. The caller stores them in File.Values.
type Need struct {
	File     int // index into the files given to New
	Variable int // index into the variables of the file's header
	Extent   Extent
}

// Extent says in which form the values of a Need are required.
type Extent uint8

// The forms in which values can be required.
const (
	All        Extent = iota // all elements
	Sum                      // only an identity to compare files by: manifest.Values.Sum is enough
	Summarized               // a summary by a Gauge, because there are too many elements to keep
	Compared                 // all elements, of any size, for one comparison; they are not kept
)

// New makes a plan. If it returns needs, add these values to the files and call New again; it
// returns a plan only when no needs are left. The error is an *Error if the files cannot be
// combined with these options. Tile.File is an index into files.
func New(files []*manifest.File, opts *plan.Options) (*Plan, []Need, error) {
	if opts == nil {
		opts = &plan.Options{}
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
		// Reading values may take minutes, so New asks for all values of a stage at once.
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
		return nil, nil, &plan.Error{Findings: refused}
	}
	p.out.Report, p.out.Compared = p.report, slices.Collect(maps.Keys(p.compared))
	return p.out, nil, nil
}

// inquiry holds the inputs of a plan, and the needs and findings so far.
type inquiry struct {
	files  []*manifest.File
	opts   *plan.Options
	report *report.Report
	needs  []Need
	needed map[Need]bool
	fault  error                          // the first error about values that do not fit their variable
	sorted sync.Once                      // guards names and places, which are computed when a finding first needs them
	names  *report.Sources                // the files in natural order of their names
	places []int32                        // the index of each file in names
	named  map[*manifest.Variable]planVar // caches variables with the names and dimensions of the plan
}

// survey holds the classes of files with equal headers.
type survey struct {
	inquiry
	classes []*class
	classOf []int32       // index into classes, for each file; -1 if the file is left out
	hidden  map[int]int32 // the class of each hidden file, which is part of another file

	numbered      map[string]bool // paths of the generated names of unnamed dimensions
	conflicting   map[string]bool // the generated names for which other files have conflicting names
	guesses       []guess         // candidates for unnamed dimensions that no file names
	beside        map[string]bool // dimensions along which an option gives the position of files without coordinate values
	includedSpare bool            // a coordinate was included only because another file names its dimension
}

// directions holds the dimensions, and decides along which of them files are concatenated.
type directions struct {
	survey
	dims     map[string]*dim
	dimOrder []string
	made     []*dim // dimensions that options add
}

// layout holds the arrays and the placement of their files.
type layout struct {
	directions
	arrays []*array
	flows  []*dim  // the dimensions along which files are concatenated
	rank   []int32 // the position of each file when all are sorted by placement

	placings      map[string]*placing
	placeOrder    []*placing
	territories   map[string]*territory // by the paths of their dimensions
	unordered     []*array
	doubtful      []doubt
	targets       map[string]*array // arrays that others hold indices into, so they must be equal in all files
	compared      map[Need]bool     // values that were requested only to compare files
	comparedBytes int64             // the size of compared, in bytes
	complements   struct{ known, is bool }
	equal         map[string]bool // arrays of optional broadcasts that are equal in all files
}

// planner holds a plan while its schemas are decided.
type planner struct {
	layout
	common     schema.Common    // shared by all arrays, so that equal parts are stored once
	ids        map[string]int64 // the last number in use for each placement name
	calibrated bool             // some files are HDF4 files, whose add_offset differs from CF packing
	out        *Plan
}

func newPlanner(files []*manifest.File, opts *plan.Options) *planner {
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

// inFile adds the name of the file to an error.
func (p *inquiry) inFile(file int32, err error) error {
	return fmt.Errorf("%s: %w", p.files[file].URL, err)
}

// total counts the files that contribute to the plan.
func (p *survey) total() (n int64) {
	for _, c := range p.classOf {
		if c >= 0 {
			n++
		}
	}
	return n
}

// headers groups the files by header and applies the options to their variables.
func (p *survey) headers() error {
	if p.namedFiles() == 0 {
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
	p.refuseForeign()
	return nil
}

// isFile reports whether name, as a user writes it, means the file f.
func isFile(f *manifest.File, name string) bool {
	return f.URL == name || report.Base(f.URL) == report.Base(name)
}

// leaveOutEmpty excludes files in which the options select no variable.
func (p *survey) leaveOutEmpty() {
	var empty []int32
	for _, c := range p.classes {
		if len(c.vars) > 0 || len(c.header.Variables) == 0 {
			continue
		}
		empty = append(empty, c.files...)
		// The class stays in the list, because other classes are known by their index.
		c.files = nil
	}
	for _, f := range empty {
		p.classOf[f] = -1
	}
	if len(empty) > 0 && p.total() > 0 {
		p.find(p.odd(report.Finding{Code: report.NoVariables, Effect: report.Dropped}, empty, int64(p.namedFiles())))
	}
}

// dimensions decides along which dimensions files are concatenated. It returns early if it needs
// values.
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
	// A dimension whose coordinate has its own name is decided first, and new dimensions next.
	// Times with another name are only a guess: new dimensions can make that guess unnecessary, so
	// these dimensions come last.
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
		p.dropGuess(d)
		if err := p.settle(d); err != nil {
			return err
		}
	}
	return nil
}

// variables collects the arrays and places their files.
func (p *layout) variables() error {
	p.rankFiles()
	p.collectArrays()
	if err := cmp.Or(p.checkBroadcast(), p.compareOptional()); err != nil || len(p.needs) > 0 {
		return err
	}
	p.placeArrays()
	p.refusePointers()
	p.settleGuesses()
	p.settleAbsent()
	p.noteAxes()
	return nil
}

// rankFiles sorts the files by their position along the first concatenated dimension, then along
// the next one, and finally by name.
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
		// Files with equal positions still need an order that does not depend on the input.
		return p.byName(a, b)
	})
	p.rank = make([]int32, len(p.files))
	for i, f := range order {
		p.rank[f] = int32(i)
	}
}

package planner

import (
	"cmp"
	"errors"
	"slices"
)

// arrangement holds the arrays and the placement of their files.
type arrangement struct {
	env       *env
	survey    *survey
	alignment *alignment
	arrays    []*array
	flows     []*dim  // the dimensions along which files are concatenated
	rank      []int32 // the position of each file when all are sorted by placement

	placings      map[string]*placing
	placeOrder    []*placing
	territories   map[string]*territory // by the paths of their dimensions
	unordered     []*array
	doubtful      []doubt
	targets       map[string]*array // arrays that others hold indices into, so they must be equal in all files
	compared      map[Request]bool  // values that were requested only to compare files
	comparedBytes int64             // the size of compared, in bytes
	complements   struct{ known, is bool }
	equal         map[string]bool // arrays of optional broadcasts that are equal in all files
}

// arrange collects the arrays and places their files. Parts of files may add classes, so the arrangement
// has its own survey.
func arrange(env *env, alignment *alignment) (*arrangement, error) {
	p := &arrangement{env: env, survey: alignment.survey.clone(), alignment: alignment,
		placings: map[string]*placing{}, territories: map[string]*territory{}, compared: map[Request]bool{}}
	p.rankFiles()
	p.collectArrays()
	if err := cmp.Or(p.checkBroadcast(), p.compareOptional()); err != nil {
		return nil, err
	}
	err := p.placeArrays()
	if err != nil && !errors.Is(err, errRefused) {
		return nil, err
	}
	p.refusePointers()
	p.settleGuesses()
	p.settleAbsent()
	p.alignment.noteAxes()
	return p, err
}

// rankFiles sorts the files by their position along the first concatenated dimension, then along
// the next one, and finally by name.
func (p *arrangement) rankFiles() {
	for _, at := range p.alignment.dimOrder {
		if d := p.alignment.dims[at]; d.role == flowing {
			p.flows = append(p.flows, d)
		}
	}
	order := make([]int32, 0, len(p.env.files))
	for f := range p.env.files {
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
		return p.env.byName(a, b)
	})
	p.rank = make([]int32, len(p.env.files))
	for i, f := range order {
		p.rank[f] = int32(i)
	}
}

package planner

import (
	"cmp"
	"errors"
	"maps"
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

	placings    map[string]*placing
	placeOrder  []*placing
	territories map[string]*territory // by the paths of their dimensions
	targets     map[string]*array     // arrays that others hold indices into, so they must be equal in all files
	equal       map[string]bool       // arrays of optional broadcasts that are equal in all files
	// complementary says that each file has a data variable that no other file has. Such files probably have
	// different variables of one grid, so variables that they share are compared, and not concatenated.
	complementary bool
}

// clone returns a copy with copies of its arrays and placings, for a phase that decides more about them.
func (p *arrangement) clone() *arrangement {
	own := *p
	own.survey, own.arrays, own.placeOrder, own.placings = p.survey.clone(), slices.Clone(p.arrays), slices.Clone(p.placeOrder), maps.Clone(p.placings)
	copies := map[*placing]*placing{}
	for i, w := range own.placeOrder {
		copies[w] = new(*w)
		own.placeOrder[i] = copies[w]
	}
	for key, w := range own.placings {
		own.placings[key] = copies[w]
	}
	for i, a := range own.arrays {
		own.arrays[i] = new(*a)
		if a.where != nil {
			own.arrays[i].where = copies[a.where]
		}
	}
	return &own
}

// arrange collects the arrays and places their files. Parts of files may add classes, so the arrangement
// has its own survey.
func arrange(alignment *alignment) (*arrangement, error) {
	p := &arrangement{env: alignment.env, survey: alignment.survey.clone(), alignment: alignment,
		placings: map[string]*placing{}, territories: map[string]*territory{}}
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
	p.complementary = p.isComplementary()
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

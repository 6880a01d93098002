package planner

import (
	"varve/manifest/internal/planner/internal/newdim"
	"varve/manifest/plan"
)

// alignment holds the dimensions, and along which of them files are concatenated.
type alignment struct {
	env      *env
	survey   *survey
	dims     map[string]*dim
	dimOrder []string
	made     []*dim                    // dimensions that options add
	flipped  map[string]plan.Direction // of dimensions that the user flips, by path
	stepKind newdim.Kind               // the kind of the values that texts give to the last of made
}

// align decides along which dimensions files are concatenated. Files that are one position along a
// dimension of others get a virtual axis, so the alignment has its own survey.
func align(survey *survey) (*alignment, error) {
	survey = survey.clone()
	p := &alignment{env: survey.env, survey: survey}
	if err := p.stepsBeside(); err != nil {
		return nil, err
	}
	p.collectDims()
	p.takeScalars()
	if err := p.checkConcat(); err != nil {
		return nil, err
	}
	if err := p.readAllCoords(); err != nil {
		return nil, err
	}
	if err := p.reorder(); err != nil {
		return nil, err
	}
	// A dimension whose coordinate has its own name is decided first, and new dimensions next.
	// Times with another name are only a guess: new dimensions can make that guess unnecessary, so
	// these dimensions come last.
	p.byDomains()
	if err := p.settleAll(func(d *dim) bool { return !d.guessed() }); err != nil {
		return nil, err
	}
	if err := p.makeDims(); err != nil {
		return nil, err
	}
	if err := p.settleAll((*dim).guessed); err != nil {
		return nil, err
	}
	p.cutReordered()
	return p, p.placeBehind()
}

func (p *alignment) settleAll(which func(d *dim) bool) error {
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

// readAllCoords collects the distinct coordinates of all dimensions.
func (p *alignment) readAllCoords() error {
	var questions []question
	for _, at := range p.dimOrder {
		questions = append(questions, func() ([]want, error) { return p.readCoords(p.dims[at]) })
	}
	return p.env.settle(questions...)
}

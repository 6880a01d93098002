package scan

import (
	"errors"
	"fmt"
	"strings"

	"varve/manifest"
	"varve/readers"
)

// Choice says what is asked for of sources. What is damaged, and not asked for, is described as what no
// array can hold, and does not make a source one that cannot be used:
//
//	a variable               unless it is wanted, or lies along a dimension of one that is, and may say where
//	an attribute of a group  if it is dropped
//	what is not known to be  if it is dropped: what is lost with it may be wanted
//
// Paths are those in the source; that of an attribute is /group/@name.
type Choice interface {
	Wanted(path string) bool  // a variable is asked for by itself
	Dropped(path string) bool // it is left out, whatever else needs it
}

// damage is what is damaged of a source, and asked for.
type damage struct {
	errs  []error
	paths []string        // what could be dropped
	known map[string]bool // what was noted
	whole bool            // no choice would do without all of it
}

// isDamage reports whether bytes are to blame for an error, and no network or user.
func isDamage(err error) bool { return errors.Is(err, readers.ErrCorrupt) && !isReason(err) }

// note takes the error of what is at a path of the dataset: v, or nil for what is no variable that is known.
func (r *reading) note(at string, v *readers.Variable, err error) error {
	switch {
	case !isReason(err) && !isDamage(err):
		return err
	case isReason(err):
	case r.spares(at, v):
		r.found.spared = true
	default:
		if !strings.Contains(err.Error(), at) {
			err = fmt.Errorf("%s: %w", at, err)
		}
		r.damaged(at, v != nil || !r.surrounds(at, func(string) bool { return true }), err)
	}
	r.problem(at, err)
	return nil
}

// damaged notes damage of what is asked for. Whoever drops it may do without.
func (r *reading) damaged(at string, may bool, err error) {
	d := &r.damage
	if d.known[at] {
		return
	}
	if d.known == nil {
		d.known = map[string]bool{}
	}
	d.known[at] = true
	d.errs, d.paths = append(d.errs, err), append(d.paths, at)
	d.whole = d.whole || !may
}

// damageErr is the error of a source of which something is damaged that is asked for.
func (r *reading) damageErr() error {
	d := &r.damage
	if len(d.errs) == 0 {
		return nil
	}
	err := errors.Join(d.errs...)
	if d.whole || r.Choice == nil {
		return err
	}
	return &partial{err, d.paths}
}

// partial is the error of a source that can be used without what is damaged of it.
type partial struct {
	error
	paths []string
}

func (e *partial) Unwrap() error { return e.error }

// spares reports whether damage of what is at a path is none of what is asked for.
func (r *reading) spares(at string, v *readers.Variable) bool {
	if r.Choice == nil || v == nil && r.surrounds(at, func(below string) bool { return !r.Choice.Dropped(below) }) {
		return false
	}
	return r.Choice.Dropped(at) || v != nil && !r.Choice.Wanted(at) && (len(v.Dims) != 1 || !r.uses(v.Dims[0]))
}

// surrounds reports whether variables are below a path of which something is so; that of the root is around all.
func (r *reading) surrounds(at string, is func(path string) bool) (found bool) {
	if at == "/" {
		return true
	}
	r.data.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			found = found || strings.HasPrefix(v.Path, at+"/") && is(v.Path)
		}
		return !found
	})
	return found
}

// uses reports whether something that is wanted lies along a dimension, or may: what links lead to is not
// looked at for that.
func (r *reading) uses(d *readers.Dimension) bool {
	if r.used == nil {
		r.used = map[*readers.Dimension]bool{}
		r.data.Root.Walk(func(g *readers.Group) bool {
			for _, v := range g.Variables {
				wanted := r.Choice.Wanted(v.Path)
				for _, d := range v.Dims {
					r.used[d] = r.used[d] || wanted
				}
			}
			return true
		})
	}
	used, own := r.used[d]
	return used || !own || len(r.data.Links) > 0
}

// noteAttributes notes those of a group that cannot be read.
func (r *reading) noteAttributes(g *readers.Group) error {
	for i := range g.Attributes {
		err := damagedAttribute(g.Attributes[i : i+1])
		if err == nil {
			continue
		}
		if err = fmt.Errorf("%s: %w", g.Path, err); !isDamage(err) {
			return err
		}
		at := manifest.AttributePath(g.Path, g.Attributes[i].Name)
		if r.Choice == nil || !r.Choice.Dropped(at) {
			r.damaged(at, true, err)
			continue
		}
		r.found.spared = true
	}
	return nil
}

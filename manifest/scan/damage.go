package scan

import (
	"errors"
	"fmt"
	"strings"

	"varve/manifest"
	"varve/readers"
)

// Choice selects the variables and attributes that are needed. The following damage does not make a source
// unusable; the damaged objects are described as unreadable:
//
//	a variable               unless it is wanted, or may be a coordinate of a wanted variable
//	an attribute of a group  if it is dropped
//	an unknown object        if it is dropped; otherwise a wanted variable may be lost with it
//
// Paths are as in the source; the path of an attribute is /group/@name.
type Choice interface {
	Wanted(path string) bool  // whether the variable itself is needed
	Dropped(path string) bool // whether the variable is omitted, even if other variables need it
}

// damage is the damage of needed parts of a source.
type damage struct {
	errs  []error
	paths []string        // paths of the damaged objects
	known map[string]bool // paths, as a set
	whole bool            // the source is unusable even without these objects
}

// isDamage reports whether an error is due to damaged bytes, not to the network or the user.
func isDamage(err error) bool { return errors.Is(err, readers.ErrCorrupt) && !isReason(err) }

// note records the error of the object at a path. v is its variable, or nil if the path is not a known
// variable. It returns an error if the scan of the source must end.
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

// damaged records damage of a needed object. may says that the source is usable without the object.
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

// damageErr returns the error of a source with damaged needed objects, or nil.
func (r *reading) damageErr() error {
	d := &r.damage
	if len(d.errs) == 0 {
		return nil
	}
	err := damages(d.errs)
	if d.whole || r.Choice == nil {
		return err
	}
	return &partial{err, d.paths}
}

// damages are the errors of several objects of a source, in one line.
type damages []error

// Error joins the texts of all errors.
func (d damages) Error() string {
	texts := make([]string, len(d))
	for i, err := range d {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (d damages) Unwrap() []error { return d }

// partial is the error of a source that is usable without its damaged objects.
type partial struct {
	error
	paths []string
}

func (e *partial) Unwrap() error { return e.error }

// spares reports whether damage of the object at a path affects nothing that is needed.
func (r *reading) spares(at string, v *readers.Variable) bool {
	if r.Choice == nil || v == nil && r.surrounds(at, func(below string) bool { return !r.Choice.Dropped(below) }) {
		return false
	}
	return r.Choice.Dropped(at) || v != nil && !r.Choice.Wanted(at) && (len(v.Dims) != 1 || !r.uses(v.Dims[0]))
}

// surrounds reports whether is returns true for a variable below the path. For the root it returns true.
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

// uses reports whether a wanted variable has, or may have, a dimension. It does not examine the targets of
// links, so if there is any link it returns true.
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

// noteAttributes records the damaged attributes of a group.
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

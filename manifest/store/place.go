package store

import (
	"varve/codec"
	"varve/grid"
)

// isPlain reports whether decoded elements are the schema's, in the array's order.
func (j *job) isPlain() bool {
	if j.patch != nil {
		return true
	}
	_, straight := j.Fit.Order()
	return straight && j.Fit.Conversion.Identity()
}

// place converts the part of a decoded chunk and copies it into its target. The chunk's
// elements stay as they are.
func (a *Array) place(j *job, chunk codec.Elems) error {
	t := j.pipe.Form().Type
	from := newWindow(chunk, grid.Whole(j.Codec), t)
	if j.isPlain() {
		from.region = j.inArray(j.Codec)
		return j.into.copyFrom(&from, j.Box)
	}
	if _, contiguous := from.slice(j.Within); !contiguous {
		part, room := a.room(j, codec.Form{Type: t, Shape: j.Within.Shape})
		defer room.release()
		packed := newWindow(part, j.Within, t)
		if err := packed.copyFrom(&from, j.Within); err != nil {
			return err
		}
		from = packed
	}
	e, _ := from.slice(j.Within)
	return a.convert(j, e)
}

// inArray is the region of a stored chunk of a shape in the array. It is only asked for
// where the axes are in the array's order.
func (j *job) inArray(shape []int64) grid.Region {
	r := grid.MakeRegion(len(j.Box.Origin))
	next := 0
	for k := range r.Origin {
		r.Origin[k], r.Shape[k] = j.Box.Origin[k], 1
		if j.patch != nil || j.Fit.HasAxis(k) {
			r.Origin[k] -= j.Within.Origin[next]
			r.Shape[k] = shape[next]
			next++
		}
	}
	return r
}

// convert turns the elements of a part, in the variable's axes, into those of the target.
func (a *Array) convert(j *job, e codec.Elems) error {
	order, straight := j.Fit.Order()
	if !straight {
		turned, room := a.room(j, codec.Form{Type: j.Fit.Variable.Type, Shape: j.Within.Shape})
		defer room.release()
		if err := transpose(turned, e, j, order); err != nil {
			return err
		}
		e = turned
	}
	into, contiguous := j.into.slice(j.Box)
	if !contiguous {
		form := j.into.form
		form.Shape = j.Box.Shape
		var room *buffer
		into, room = a.room(j, form)
		defer room.release()
	}
	if err := j.Fit.Conversion.Apply(into, e); err != nil || contiguous {
		return err
	}
	from := newWindow(into, j.Box, j.into.form.Type)
	return j.into.copyFrom(&from, j.Box)
}

// done says that the part is in its place.
func (j *job) done() error {
	if j.again != nil {
		if err := j.repeat(); err != nil {
			return err
		}
	}
	return j.into.done(1)
}

// repeat puts the part, which is in its place, to all others where it is the same, twice as much
// each time.
func (j *job) repeat() error {
	box := j.Box.Clone()
	for k, n := range j.again {
		for box.Shape[k] < n {
			from, to := j.into.window, box.Clone()
			from.region = from.region.Clone()
			from.region.Origin[k] += box.Shape[k]
			to.Origin[k] += box.Shape[k]
			to.Shape[k] = min(box.Shape[k], n-box.Shape[k])
			if err := j.into.copyFrom(&from, to); err != nil {
				return err
			}
			box.Shape[k] += to.Shape[k]
		}
	}
	return nil
}

func transpose(dst, src codec.Elems, j *job, order []int) error {
	if src.Var != nil {
		return grid.Transpose(dst.Var, src.Var, j.Within.Shape, order, 1)
	}
	return grid.Transpose(dst.Fixed, src.Fixed, j.Within.Shape, order, int64(j.Fit.Variable.Type.Size))
}

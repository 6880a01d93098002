package store

import (
	"varve/codec"
	"varve/grid"
)

// isPlain reports whether decoded elements need no conversion and have the order of the array.
func (j *job) isPlain() bool {
	if j.patch != nil {
		return true
	}
	_, straight := j.Fit.Order()
	return straight && j.Reversed == nil && j.Fit.Conversion.Identity()
}

// copyPart converts the job's part of a decoded chunk and copies it to the target. It does not change the
// chunk, which may be in the cache.
func (a *Array) copyPart(j *job, chunk codec.Elems) error {
	t := j.pipe.Form().Type
	from := newWindow(chunk, grid.Whole(j.Codec), t)
	if j.isPlain() {
		from.region = j.inArray(j.Codec)
		return j.into.copyFrom(&from, j.Box)
	}
	// Conversions work on contiguous elements.
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

// inArray returns the region of the array that a stored chunk of this shape covers. It is called only if the
// axes have the order of the array.
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

// convert converts the elements of a part, which have the variable's order, and copies them to the target.
func (a *Array) convert(j *job, e codec.Elems) error {
	order, straight := j.Fit.Order()
	if !straight || j.Reversed != nil {
		turned, room := a.room(j, codec.Form{Type: j.Fit.Variable.Type, Shape: j.Within.Shape})
		defer room.release()
		if err := transpose(turned, e, j, order); err != nil {
			return err
		}
		for _, axis := range j.Reversed {
			grid.Reverse(turned.Fixed, j.Box.Shape, axis, int64(j.Fit.Variable.Type.Size))
			grid.Reverse(turned.Var, j.Box.Shape, axis, 1)
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

// done tells the target that the part is complete.
func (j *job) done() error {
	if j.repeatShape != nil {
		if err := j.repeat(); err != nil {
			return err
		}
	}
	return j.into.done(1)
}

// repeat copies the part, which is complete, along the axes that its variable lacks. Each step doubles
// the copied length.
func (j *job) repeat() error {
	box := j.Box.Clone()
	for k, n := range j.repeatShape {
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

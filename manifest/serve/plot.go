package serve

import (
	"bytes"
	"context"
	"net/http"
	"path"
	"strconv"

	"varve/grid"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/plot"
)

// serveLayout answers with the chunk layout of an array as JSON.
func (s *site) serveLayout(w http.ResponseWriter, r *http.Request, a array) {
	layout, err := a.Schema().ChunkLayout()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	data, err := layout.MarshalJSON()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	serveBytes(w, r, body{data, tagOf("layout", data)})
}

// servePlot answers with a drawing of a slice.
func (s *site) servePlot(w http.ResponseWriter, r *http.Request, a array, form string) {
	sl, err := s.slice(r.Context(), a, r.URL.Query())
	if err == nil && form != "svg" && form != "png" {
		err = badSlice("as=%.20q is none of svg, png, layout, csv, json, npy and nc", form)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	etag := tagOf("plot", []byte(s.data.Snapshot().ID), []byte(a.Path()), []byte(r.URL.RawQuery))
	if answerConditional(w, r, etag) {
		return
	}
	data, done, err := s.draw(r.Context(), sl, form)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer done()
	media := "image/svg+xml"
	if form == "png" {
		media = "image/png"
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:")
	serveBytes(w, r, body{data, etag})
}

// draw creates a plot under the same limits as reencode creates a chunk.
func (s *site) draw(ctx context.Context, sl *slice, form string) (data []byte, done func(), err error) {
	made, ok := s.create(ctx, sl.bytes())
	if !ok {
		return nil, nil, errBusy
	}
	defer made()
	p, err := s.plot(ctx, sl)
	if err != nil {
		return nil, nil, err
	}
	var b bytes.Buffer
	draw := p.SVG
	if form == "png" {
		draw = p.PNG
	}
	if err := draw(&b); err != nil {
		return nil, nil, err
	}
	if done, ok = s.answers.take(ctx, int64(b.Len())); !ok {
		return nil, nil, errSlow
	}
	return b.Bytes(), done, nil
}

// plot reads the elements of the slice and its coordinates.
func (s *site) plot(ctx context.Context, sl *slice) (*plot.Plot, error) {
	values, err := s.readNumbers(ctx, sl.array, sl.region)
	if err != nil {
		return nil, err
	}
	p := &plot.Plot{Values: values, Unit: label(sl.array, path.Base(sl.array.Path()))}
	if p.X, err = s.axis(ctx, sl, sl.x); err != nil {
		return nil, err
	}
	if sl.y >= 0 {
		y, err := s.axis(ctx, sl, sl.y)
		if err != nil {
			return nil, err
		}
		p.Y = &y
		if sl.y > sl.x { // elements are in C order of the array, so x varies slowest
			p.Values = make([]float64, len(values))
			if err := grid.Transpose(p.Values, values, []int64{int64(p.X.Len), int64(y.Len)}, []int{1, 0}, 1); err != nil {
				return nil, err
			}
		}
	}
	p.Title, err = s.title(ctx, sl)
	return p, err
}

// label returns the name or long name of an array with its units.
func label(a array, name string) string {
	return cf.Label(a.Schema().Attributes, name, momentNames(a) != nil)
}

func (s *site) axis(ctx context.Context, sl *slice, axis int) (plot.Axis, error) {
	from, n := sl.region.Origin[axis], sl.region.Shape[axis]
	out := plot.Axis{Label: sl.names[axis], Len: int(n)}
	c := s.coordinate(sl.array, sl.names[axis])
	if c == nil {
		if from > 0 {
			out.At = make([]float64, n)
			for i := range out.At {
				out.At[i] = float64(from + int64(i))
			}
		}
		return out, nil
	}
	at, err := s.readNumbers(ctx, c, grid.Region{Origin: []int64{from}, Shape: []int64{n}})
	if err != nil {
		return out, err
	}
	out.Label, out.At, out.Name = label(c, sl.names[axis]), at, momentNames(c)
	return out, nil
}

// title names the array and the position of the slice on the other axes.
func (s *site) title(ctx context.Context, sl *slice) (string, error) {
	title := path.Base(sl.array.Path())
	for axis, name := range sl.names {
		if axis == sl.x || axis == sl.y {
			continue
		}
		a, err := s.axis(ctx, sl, axis)
		if err != nil {
			return "", err
		}
		where := strconv.FormatInt(sl.region.Origin[axis], 10)
		if a.At != nil {
			where = strconv.FormatFloat(a.At[0], 'g', 8, 64)
		}
		if a.Name != nil {
			where = a.Name(a.At[0])
		}
		title += ", " + name + " = " + where
	}
	return title, nil
}

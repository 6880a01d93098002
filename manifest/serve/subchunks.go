package serve

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest/internal/regular"
	"varve/manifest/store"
)

// SubChunks says which arrays are served with sub-chunks: chunks that are smaller than the stored ones. A sub-chunk is
// re-encoded. If the stored chunk has access points, only the spans with the elements of the sub-chunk are decompressed.
// So a client that needs a few elements transfers and decodes little, and one that needs all elements more than before.
type SubChunks struct {
	// Shapes are the shapes of the sub-chunks by the path of the array. A manifest need not have all of the arrays.
	Shapes map[string][]int64
	// Auto selects sub-chunks for all other arrays whose large chunks have access points.
	Auto bool
}

// String returns a text that is different for each choice of sub-chunks, and empty if there are none.
func (s SubChunks) String() string {
	if len(s.Shapes) == 0 && !s.Auto {
		return ""
	}
	return fmt.Sprint(s.Shapes, s.Auto) // keys of maps are printed in order
}

// subChunkBytes is about the size of the elements of an automatic sub-chunk. Smaller ones would not be faster: a read
// decompresses from an access point on, which is 512 KiB before the elements on average.
const subChunkBytes = 256 << 10

// apply returns the arrays of a dataset, with sub-chunks where s says so.
func (s SubChunks) apply(ctx context.Context, data dataset, log *slog.Logger) ([]array, error) {
	members := data.Members()
	for i, a := range members {
		shape, isNamed := s.shapeOf(a.Path())
		if !isNamed && !s.Auto {
			continue
		}
		hasPoints := false
		if stored, ok := a.(*store.Array); ok { // only arrays of a store have access points
			var err error
			if hasPoints, err = stored.HasPoints(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", a.Path(), err)
			}
		}
		switch {
		case !isNamed && !hasPoints:
			continue
		case !isNamed:
			shape = autoShape(a.Grid(), int64(a.Schema().Form(nil).Type.Size))
		case !hasPoints:
			log.Warn("the stored chunks have no access points, so each sub-chunk decodes a whole chunk", "array", a.Path())
		}
		cut, err := regular.NewChunks(a, shape, codec.ExactCodecs)
		if err != nil {
			return nil, fmt.Errorf("%s: sub-chunks: %w", a.Path(), err)
		}
		members[i] = &regridded{a, cut, data.Once}
	}
	return members, nil
}

// shapeOf returns the shape of the sub-chunks of an array that is named.
func (s SubChunks) shapeOf(name string) (shape []int64, ok bool) {
	for key, shape := range s.Shapes {
		if relative(key) == relative(name) {
			return shape, true
		}
	}
	return nil, false
}

// checkNames returns an error for an array that no manifest has.
func (s SubChunks) checkNames(places []*mount) error {
	for _, name := range slices.Sorted(maps.Keys(s.Shapes)) {
		isKnown := slices.ContainsFunc(places, func(p *mount) bool {
			at := p.current(inFull)
			if at == nil {
				return true
			}
			defer at.leave(slog.New(slog.DiscardHandler))
			n, ok := at.node(relative(name))
			return ok && n.array != nil
		})
		if !isKnown {
			return fmt.Errorf("sub-chunks of %s: %w", path.Join("/", name), store.ErrNoArray)
		}
	}
	return nil
}

// autoShape returns the shape of sub-chunks that are contiguous in the stored chunk, and so in few spans. It divides
// the chunk along its first axes only.
func autoShape(g *grid.Grid, size int64) []int64 {
	shape := make([]int64, g.Rank())
	left := max(subChunkBytes/max(size, 1), 1) // elements that fit
	for axis := len(shape) - 1; axis >= 0; axis-- {
		edge := regular.CommonEdge(g.Dim(axis))
		shape[axis] = divisor(edge, left)
		if shape[axis] < edge {
			left = 1 // axes before it do not continue the range of bytes
		}
		left /= shape[axis]
	}
	return shape
}

// divisor returns the largest divisor of n that is at most most, so that sub-chunks do not extend beyond stored chunks.
// If that would be much less than most, it returns most.
func divisor(n, most int64) int64 {
	if most = max(most, 1); n <= most {
		return n
	}
	for d := most; d > most/4; d-- {
		if n%d == 0 {
			return d
		}
	}
	return most
}

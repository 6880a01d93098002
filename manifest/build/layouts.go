package build

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/manifest/convert"
	"varve/manifest/mosaic"
	"varve/manifest/picture"
	"varve/manifest/plan"
	"varve/manifest/table"
)

// laidOut is a plan whose chunks can be looked at, by the tables that were written for it. It is
// to be closed.
type laidOut struct {
	*table.Reader
	layouts map[string]*mosaic.Layout // by the ids of placements
	files   files
	refs    mosaic.RefReader
	known   convert.Known
}

const refCache = 64 << 20

// layOut lays out a plan of all files.
func (j *job) layOut(tables []manifest.Table, made *plan.Plan, all []*manifest.File) (*laidOut, error) {
	return j.layOutFiles(tables, made.Placements, files{all, 0}, made.Conversions)
}

func (j *job) layOutFiles(tables []manifest.Table, placements []manifest.Placement, of files, known convert.Known) (*laidOut, error) {
	l := &laidOut{layouts: make(map[string]*mosaic.Layout, len(placements)), files: of, known: known}
	for i := range placements {
		p := &placements[i]
		var err error
		if l.layouts[p.ID], err = mosaic.Arrange(p); err != nil {
			return nil, err
		}
	}
	reader, err := table.Open(tables, table.InRepository(j.repo), table.NewCache(refCache))
	if err != nil {
		return nil, err
	}
	l.Reader, l.refs = reader, j.tables.known(reader)
	return l, nil
}

// mosaic is an array on its layout; nil if it has none, since its values are in the manifest.
func (l *laidOut) mosaic(a *manifest.Array) (*mosaic.Mosaic, error) {
	layout := l.layouts[a.Placement]
	if layout == nil {
		return nil, nil
	}
	m, err := mosaic.New(a, layout, l.files)
	if err != nil {
		return nil, err
	}
	m.Know(l.known)
	return m, nil
}

// count counts how the chunks of an array are served.
func (l *laidOut) count(ctx context.Context, a *manifest.Array) error {
	m, err := l.mosaic(a)
	if err != nil {
		return err
	}
	if m == nil {
		g, err := a.Schema.Grid()
		if err == nil {
			a.Chunks = manifest.Counts{Verbatim: g.Chunks()}
		}
		return err
	}
	a.Chunks, err = m.Count(ctx, l.refs)
	return err
}

// countedAtOnce is how many arrays a goroutine counts, since most take a few microseconds.
const countedAtOnce = 64

// countChunks counts how the chunks of arrays are served.
func (j *job) countChunks(ctx context.Context, snap *manifest.Snapshot, made *plan.Plan, all []*manifest.File) error {
	l, err := j.layOut(snap.Tables, made, all)
	if err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(j.opts.Workers, runtime.GOMAXPROCS(0)))
	for stretch := range slices.Chunk(snap.Arrays, countedAtOnce) {
		group.Go(func() error {
			for i := range stretch {
				if err := l.count(within, &stretch[i]); err != nil {
					return fmt.Errorf("%s: %w", stretch[i].Path, err)
				}
			}
			return nil
		})
	}
	return closing(l, group.Wait())
}

// draw draws the arrays that are made of files, by their paths.
func (j *job) draw(ctx context.Context, snap *manifest.Snapshot, made *plan.Plan, all []*manifest.File) (map[string]*picture.Picture, error) {
	l, err := j.layOut(snap.Tables, made, all)
	if err != nil {
		return nil, err
	}
	drawn := map[string]*picture.Picture{}
	for i := range snap.Arrays {
		a := &snap.Arrays[i]
		m, err := l.mosaic(a)
		if err == nil && m == nil {
			continue
		}
		if err == nil {
			at := slices.IndexFunc(made.Placements, func(p manifest.Placement) bool { return p.ID == a.Placement })
			drawn[a.Path], err = picture.Draw(ctx, a, &made.Placements[at], m, l.Reader)
		}
		if err != nil {
			return nil, closing(l, err)
		}
	}
	return drawn, closing(l, nil)
}

// files gives a mosaic those whose rows begin at first.
type files struct {
	list  []*manifest.File
	first int64
}

func (f files) Header(_ context.Context, row int64) (*manifest.Header, error) {
	return f.list[row-f.first].Header, nil
}

func (f files) Row(row int64) int64 { return f.list[row-f.first].Row }

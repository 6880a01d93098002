package ingest

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/manifest/internal/convert"
	"varve/manifest/internal/mosaic"
	"varve/manifest/internal/picture"
	"varve/manifest/internal/planner"
	"varve/manifest/internal/table"
)

// planChunks gives access to the chunks of a plan, by means of the tables that were written for it.
// Close it after use.
type planChunks struct {
	*table.Reader
	layouts map[string]*mosaic.Layout // by placement ID
	files   files
	refs    mosaic.RefReader
	known   convert.Known
}

const refCache = 64 << 20

// chunksOf returns the chunks of a plan of all files.
func (j *job) chunksOf(tables []manifest.Table, made *planner.Plan, all []*manifest.File) (*planChunks, error) {
	return j.chunksOfFiles(tables, made.Placements, files{all, 0}, made.Conversions)
}

func (j *job) chunksOfFiles(tables []manifest.Table, placements []manifest.Placement, of files, known convert.Known) (*planChunks, error) {
	l := &planChunks{layouts: make(map[string]*mosaic.Layout, len(placements)), files: of, known: known}
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

// mosaic returns the chunks of an array, or nil if its values are in the manifest.
func (l *planChunks) mosaic(a *manifest.Array) (*mosaic.Mosaic, error) {
	layout := l.layouts[a.Placement]
	if layout == nil {
		return nil, nil
	}
	m, err := mosaic.New(a, layout, l.files)
	if err != nil {
		return nil, err
	}
	m.ReuseConversions(l.known)
	return m, nil
}

// count counts the verbatim, re-encoded and missing chunks of an array.
func (l *planChunks) count(ctx context.Context, a *manifest.Array) error {
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

// countedAtOnce is the number of arrays that a goroutine counts. Most take a few microseconds, less
// than it takes to start a goroutine.
const countedAtOnce = 64

// countChunks counts the chunks of all arrays.
func (j *job) countChunks(ctx context.Context, snap *manifest.Snapshot, made *planner.Plan, all []*manifest.File) error {
	l, err := j.chunksOf(snap.Tables, made, all)
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

// draw draws the arrays that read files, by path.
func (j *job) draw(ctx context.Context, snap *manifest.Snapshot, made *planner.Plan, all []*manifest.File) (map[string]template.HTML, error) {
	l, err := j.chunksOf(snap.Tables, made, all)
	if err != nil {
		return nil, err
	}
	drawn := map[string]template.HTML{}
	for i := range snap.Arrays {
		a := &snap.Arrays[i]
		m, err := l.mosaic(a)
		// Values in the manifest come from no file, so there is nothing to draw.
		if err == nil && m == nil {
			continue
		}
		if err == nil {
			at := slices.IndexFunc(made.Placements, func(p manifest.Placement) bool { return p.ID == a.Placement })
			var pic *picture.Picture
			if pic, err = picture.Draw(ctx, a, &made.Placements[at], m, l.Reader); err == nil {
				drawn[a.Path] = template.HTML(pic.SVG()) // every name in it is escaped
			}
		}
		if err != nil {
			return nil, closing(l, err)
		}
	}
	return drawn, closing(l, nil)
}

// files gives a mosaic access to files whose rows begin at first.
type files struct {
	list  []*manifest.File
	first int64
}

func (f files) Header(_ context.Context, row int64) (*manifest.FileHeader, error) {
	return f.list[row-f.first].Header, nil
}

func (f files) Row(row int64) int64 { return f.list[row-f.first].Row }

// url returns the name of a file.
func (f files) url(row int64) string { return f.list[row-f.first].URL }

package ingest

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/convert"
	"varve/manifest/internal/mosaic"
	"varve/manifest/internal/picture"
	"varve/manifest/internal/planner"
	"varve/manifest/internal/table"
	"varve/manifest/report"
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

// count counts the verbatim, re-encoded and missing chunks of an array. It returns the files with chunks that are re-encoded only
// because a filter was not applied to them.
func (l *planChunks) count(ctx context.Context, a *manifest.Array) (masked []int64, err error) {
	m, err := l.mosaic(a)
	if err != nil {
		return nil, err
	}
	if m == nil {
		g, err := a.Schema.Grid()
		if err == nil {
			a.Chunks = manifest.Counts{Verbatim: g.Chunks()}
		}
		return nil, err
	}
	a.Chunks, masked, err = l.countIn(ctx, m, grid.Whole(m.Grid().Counts()))
	return masked, err
}

func (l *planChunks) countIn(ctx context.Context, m *mosaic.Mosaic, chunks grid.Region) (counts manifest.Counts, masked []int64, err error) {
	counts, err = m.CountIn(ctx, l.refs, chunks, func(file int64) {
		if !slices.Contains(masked[max(0, len(masked)-1):], file) {
			masked = append(masked, file)
		}
	})
	slices.Sort(masked)
	return counts, slices.Compact(masked), err
}

// addMasked adds a finding about the files with chunks of an array to which a filter was not applied.
func (l *planChunks) addMasked(r *report.Report, a *manifest.Array, masked []int64, of int64) {
	if len(masked) > 0 {
		r.Add(report.Finding{Code: report.FiltersSkipped, Effect: report.Reencoded, Array: a.Path, Files: report.Named(l.urls(masked)...), Count: int64(len(masked)), Of: of})
	}
}

// countedAtOnce is the number of arrays that a goroutine counts. Most take a few microseconds, less
// than it takes to start a goroutine.
const countedAtOnce = 64

// countChunks counts the chunks of all arrays, and reports chunks to which a filter was not applied.
func (j *job) countChunks(ctx context.Context, snap *manifest.Snapshot, made *planner.Plan, all []*manifest.File) error {
	l, err := j.chunksOf(snap.Tables, made, all)
	if err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(j.opts.Workers, runtime.GOMAXPROCS(0)))
	masked := make([][]int64, len(snap.Arrays))
	for from := 0; from < len(snap.Arrays); from += countedAtOnce {
		group.Go(func() (err error) {
			for i := from; i < min(from+countedAtOnce, len(snap.Arrays)); i++ {
				if masked[i], err = l.count(within, &snap.Arrays[i]); err != nil {
					return fmt.Errorf("%s: %w", snap.Arrays[i].Path, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return closing(l, err)
	}
	for i := range snap.Arrays {
		l.addMasked(made.Report, &snap.Arrays[i], masked[i], int64(len(all)))
	}
	return l.Close()
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

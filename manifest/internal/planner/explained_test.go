package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve/manifest"
	located "varve/manifest/internal/mosaic"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// allStored are the files of a case, whose chunks are all stored.
type allStored []*manifest.File

func (f allStored) Header(_ context.Context, row int64) (*manifest.FileHeader, error) {
	return f[row].Header, nil
}

func (f allStored) Row(row int64) int64 { return row << 32 }

func (f allStored) ReadColumns(_ context.Context, _ int64, n int, dst *manifest.RefColumns) error {
	*dst = manifest.RefColumns{Offsets: slices.Repeat([]int64{8}, n), Sizes: slices.Repeat([]int64{1 << 50}, n)}
	return nil
}

// mostExplained is the number of chunks of an array that are examined.
const mostExplained = 3000

// unexplained returns a line for each array with a chunk that is re-encoded without a finding that names one of its
// files.
func unexplained(ctx context.Context, files []*manifest.File, p *Plan) (lines []string, err error) {
	placements := map[string]*manifest.Placement{}
	for i := range p.Placements {
		placements[p.Placements[i].ID] = &p.Placements[i]
	}
	for i := range p.Arrays {
		a := &p.Arrays[i]
		if a.Placement == "" {
			continue
		}
		layout, err := located.Arrange(placements[a.Placement])
		if err != nil {
			return nil, err
		}
		m, err := located.New(a, layout, allStored(files))
		if err != nil {
			return nil, err
		}
		g := m.Grid()
		isSaid, counted := false, manifest.Counts{}
		for n := range min(g.Chunks(), mostExplained) {
			coords := make([]int64, g.Rank())
			g.Coords(n, coords)
			reasons, err := m.Why(ctx, allStored(files), coords)
			if err != nil {
				return nil, err
			}
			at, err := m.Find(ctx, allStored(files), coords)
			if err != nil {
				return nil, err
			}
			if at.Kind == manifest.Reencoded {
				counted.Reencoded++
			}
			if (at.Kind == manifest.Reencoded) != (len(reasons) > 0) {
				lines = append(lines, fmt.Sprintf("%s %v is %v for %v", a.Path, coords, at.Kind, reasons))
			}
			if len(reasons) == 0 || isSaid {
				continue
			}
			chunk, _ := g.Chunk(coords)
			var of []string
			for part, err := range m.Parts(ctx, chunk.Region) {
				if err != nil {
					return nil, err
				}
				if url := files[m.File(part.Tile)].URL; !slices.Contains(of, url) {
					of = append(of, url)
				}
			}
			if len(of) > 0 && !reporttest.Explains(p.Report.Findings, a, of) {
				lines = append(lines, fmt.Sprintf("%s %v of %v: %v", a.Path, coords, of, reasons))
				isSaid = true
			}
		}
		for _, f := range p.Report.Findings {
			if f.Code == report.NotOneRange && (f.Array == a.Path || slices.Contains(f.Arrays, a.Path)) && counted.Reencoded == 0 && g.Chunks() <= mostExplained {
				lines = append(lines, fmt.Sprintf("%s: %s, and no chunk is re-encoded", a.Path, f.Code))
			}
		}
		if counts, err := m.Count(ctx, allStored(files)); err != nil || g.Chunks() <= mostExplained && counts.Reencoded != counted.Reencoded {
			lines = append(lines, fmt.Sprintf("%s: %d chunks are re-encoded, and %d were counted (%v)", a.Path, counted.Reencoded, counts.Reencoded, err))
		}
	}
	return lines, nil
}

// TestReencodedChunksExplained: in all cases, a finding explains each chunk that is re-encoded, and names one of its
// files.
func TestReencodedChunksExplained(t *testing.T) {
	for name, c := range allCases(t) {
		p, _, err := c.plan()
		if err != nil {
			continue
		}
		lines, err := unexplained(t.Context(), c.Files, p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if len(lines) > 0 {
			t.Errorf("%s: not explained:\n%s", name, strings.Join(lines, "\n"))
		}
	}
}

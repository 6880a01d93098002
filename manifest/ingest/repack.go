package ingest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/semaphore"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/scan"
	"varve/readers/source"
)

// repackTolerance is the share of half a scale_factor that rounding of float64 may add to it.
const repackTolerance = 1e-6

// measureRepacked reads the variables that are packed again, and adds findings with the largest change of
// each array. It returns a *plan.Error if a change is more than rounding explains and not allowed. Files
// that an earlier build measured are not read again.
func (j *job) measureRepacked(ctx context.Context, made *planner.Plan, all []*manifest.File) error {
	byFile := map[int][]planner.Repacked{}
	for _, r := range made.Repacked {
		if r.File >= len(j.before) || j.opts.Replan {
			byFile[r.File] = append(byFile[r.File], r)
		}
	}
	m := &measuring{memory: semaphore.NewWeighted(manifest.MostSummed), arrays: map[string]*measured{}}
	group, within := source.NewGroup(ctx, j.opts.Workers)
	for file, some := range byFile {
		group.Go(all[file].URL, func() error { return m.file(within, all[file], j.reading(all, file).later(), some) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	refused := &plan.Error{}
	for i := range made.Arrays {
		a := m.arrays[made.Arrays[i].Path]
		if a == nil {
			continue
		}
		f := a.finding(made.Arrays[i].Path, int64(len(all)))
		if f.Effect == report.Refused {
			refused.Findings = append(refused.Findings, f)
			continue
		}
		made.Report.Add(f)
	}
	if len(refused.Findings) > 0 {
		return refused
	}
	return nil
}

// measuring measures the variables of files.
type measuring struct {
	memory *semaphore.Weighted
	mu     sync.Mutex
	arrays map[string]*measured
}

// measured is what repacking changes in one array.
type measured struct {
	largest, half float64
	lossy, large  bool
	files, odd    []string // all files, and those with a change above half
}

func (m *measuring) file(ctx context.Context, file *manifest.File, opts *scan.Options, some []planner.Repacked) (err error) {
	later, err := scan.Reopen(ctx, file, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, later.Close()) }()
	for _, r := range some {
		v := file.Header.Variable(r.Variable)
		// A variable that is too large is allowed without a measurement only if any change is.
		need := scan.BlockMemory(v)
		large := need > manifest.MostSummed
		largest := 0.0
		if !large && v.Storage.Layout != manifest.Nothing {
			if err := m.memory.Acquire(ctx, need); err != nil {
				return err
			}
			err := later.Blocks(r.Variable, func(elements []byte) error {
				largest = max(largest, r.Convert.Change(codec.Elems{Fixed: elements}))
				return ctx.Err()
			})
			m.memory.Release(need)
			if err != nil {
				return err
			}
		}
		m.add(file, &r, largest, large)
	}
	return nil
}

func (m *measuring) add(file *manifest.File, r *planner.Repacked, largest float64, large bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.arrays[r.Array]
	if a == nil {
		a = &measured{half: r.Convert.Half(), lossy: r.Lossy}
		m.arrays[r.Array] = a
	}
	a.largest, a.large = max(a.largest, largest), a.large || large
	a.files = append(a.files, file.URL)
	if large || largest > a.half*(1+repackTolerance) {
		a.odd = append(a.odd, file.URL)
	}
}

// finding returns the finding about an array.
func (a *measured) finding(path string, of int64) report.Finding {
	f := report.Finding{Code: report.Repacked, Effect: report.Noted, Array: path, By: report.Setting{Option: report.Repack, Value: path[1:] + "=" + number(2*a.half)},
		Args: report.Args{"scale": number(2 * a.half), "largest": number(a.largest)}, Of: of}
	names := a.files
	if len(a.odd) > 0 && !a.lossy {
		names = a.odd
		f.Code, f.Effect, f.By = report.RepackChanges, report.Refused, report.Setting{}
		f.Remedies = []report.Remedy{report.Do(report.RepackLoss, path[1:], report.LosesRange)}
	}
	if a.large {
		delete(f.Args, "largest")
	}
	slices.Sort(names)
	f.Files, f.Count = report.Named(names...), int64(len(names))
	return f
}

// number formats a number for a finding.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 7, 64) }

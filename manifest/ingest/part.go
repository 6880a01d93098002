package ingest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner"
	"varve/manifest/internal/table"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/scan"
	"varve/manifest/store"
	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

// Scan writes the results of a scan to a scan part: a file or object that Build, Check and Append
// accept as a source. Parts among the sources are merged: their contents are copied, in the order of
// their names, before the other sources. Of Plan, only Drop is used, and only for damaged variables: a part holds
// everything else. An existing part is replaced when the new one is complete; an incomplete part is
// removed.
func Scan(ctx context.Context, name string, opts *Options) (*Result, error) {
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	if err := checkPartName(name); err != nil {
		return nil, err
	}
	names, err := opts.expand(ctx)
	if err != nil {
		return nil, err
	}
	if names = opts.Sources.withoutOutput(names, name); len(names) == 0 {
		return nil, ErrNoFiles
	}
	var outcome *Result
	err = writePart(ctx, name, func(file *os.File) error {
		outcome, err = scanTo(ctx, file, names, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return outcome, nil
}

// withoutOutput removes the output of an earlier run from the names, unless the user named it.
func (s *Sources) withoutOutput(names []string, output string) []string {
	same := func(name string) bool { return absoluteName(name) == absoluteName(output) }
	if slices.ContainsFunc(s.Names, same) {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), same)
}

// absoluteName returns the absolute path of a local file, or the unchanged URL.
func absoluteName(name string) string {
	if path, err := filepath.Abs(name); err == nil && !source.IsURL(name) {
		return path
	}
	return name
}

// writePart writes a part, which appears when it is complete.
func writePart(ctx context.Context, name string, write func(*os.File) error) error {
	if source.IsObject(name) {
		return storePart(ctx, name, write)
	}
	return atomicfile.Write(name, atomicfile.Durable, write)
}

func removed(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// scanTo writes a part of the sources and of the parts among the names.
func scanTo(ctx context.Context, file *os.File, names []string, opts *Options) (*Result, error) {
	buffer := bufio.NewWriterSize(file, bufferBytes)
	part := table.NewPart(buffer)
	j := newJob(nil, opts)
	names, parts, err := j.splitParts(ctx, names)
	if err != nil {
		return nil, err
	}
	if err := j.merge(ctx, parts, part); err != nil {
		return nil, err
	}
	if len(names) > 0 {
		o := j.opts.scan(part)
		o.FirstFile, o.FirstRow = len(j.files), part.NextRef()
		o.Choice = planner.Choice{Options: &plan.Options{Drop: opts.Plan.Drop, Curation: opts.Plan.Curation}}
		found, err := scan.Scan(ctx, names, o)
		if err != nil {
			err = opts.Sources.matchOthers(err, names)
			return j.refused(err), err
		}
		j.files, j.broken = append(j.files, found.Files...), append(j.broken, found.Broken...)
	}
	if len(parts) > 0 {
		if err := refuseTwice(nil, j.files); err != nil {
			return refusedPlan(err, shown(j.files)), err
		}
	}
	out := &Result{Report: &report.Report{}, Files: shown(j.files), Broken: j.leftOut()}
	if err := j.noteQueries(ctx, out.Report); err != nil {
		return refusedPlan(err, shown(j.files)), err
	}
	addBroken(out.Report, out.Broken, report.Dropped)
	part.Generation = j.generation
	// Without a key there is no seal, which the build from the part reports.
	part.Seal, _ = j.newSeal(nil)
	return out, errors.Join(part.Close(j.files, skippedOf(out.Broken)), buffer.Flush())
}

// merge adds the contents of parts. A source that several parts hold is an error that names the parts.
func (j *job) merge(ctx context.Context, parts []string, sink partSink) error {
	holder := map[string]string{}
	for _, name := range parts {
		from := len(j.files)
		if err := j.takeNamed(ctx, name, sink); err != nil {
			return fmt.Errorf("%s: %w", source.Shown(name), err)
		}
		var repeated []string
		for _, f := range j.files[from:] {
			if other, ok := holder[f.URL]; ok && !f.Hidden {
				repeated = append(repeated, f.URL+" is also in "+source.Shown(other))
			} else if !f.Hidden {
				holder[f.URL] = name
			}
		}
		if n := len(repeated); n > 0 {
			return fmt.Errorf("%s: parts repeat sources, %d of this one: %s: %w", source.Shown(name), n, repeated[0], fs.ErrExist)
		}
	}
	return nil
}

// splitParts separates scan parts from other sources, by their content.
func (j *job) splitParts(ctx context.Context, names []string) (sources, parts []string, err error) {
	are := make([]bool, len(names))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(max(partsAtATime, runtime.GOMAXPROCS(0)))
	const stretch = 256 // local names per goroutine; each takes at most ten microseconds
	for from := 0; from < len(names); from += stretch {
		to := min(from+stretch, len(names))
		for i := from; i < to; i++ {
			if isElsewhere(names[i]) {
				group.Go(func() (err error) {
					are[i], err = j.isFarPart(within, names[i])
					return err
				})
			}
		}
		group.Go(func() (err error) {
			for i := from; i < to && err == nil; i++ {
				if source.IsURL(names[i]) {
					continue
				}
				if are[i], err = isPart(names[i]); err != nil {
					return fmt.Errorf("%s: %w", names[i], err)
				}
				err = within.Err()
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for i, name := range names {
		if are[i] {
			parts = append(parts, name)
		} else {
			sources = append(sources, name)
		}
	}
	return sources, parts, nil
}

// isPart reports whether a local file is a scan part. Files that cannot be read count as sources,
// so that the scan reports all of them together.
func isPart(name string) (bool, error) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() { // opening a named pipe would block
		return false, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return false, nil
	}
	defer file.Close()
	return table.IsPart(file, info.Size())
}

// partFile is a local scan part.
type partFile struct {
	*os.File
	size int64
}

func (f partFile) Size() int64 { return f.size }

func openPartFile(name string) (table.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, closing(file, err)
	}
	return partFile{file, info.Size()}, nil
}

// takePart adds the contents of a part, as if its sources had been scanned now.
func (j *job) takePart(ctx context.Context, name string, sink partSink) error {
	return j.withPart(ctx, name, func(part *table.Part, files []*manifest.File) error {
		return j.takeAll(ctx, part, files, sink)
	})
}

func (j *job) takeAll(ctx context.Context, part *table.Part, files []*manifest.File, sink partSink) error {
	skipped, err := part.Skipped(ctx)
	switch {
	case err != nil:
		return err
	case len(files) == 0 && len(skipped) == 0:
		return errors.New("the part holds no sources")
	}
	for _, s := range skipped {
		j.broken = append(j.broken, scan.Broken{URL: s.URL, Err: errors.New(s.Why)})
	}
	return j.copyPart(ctx, part, files, slices.Repeat([]bool{true}, len(files)), sink)
}

// takeNamed is takePart for a part that the user named. Whoever wrote it chose its sources. So they are read only with
// permission, or with the seal of the user's own scan.
func (j *job) takeNamed(ctx context.Context, name string, sink partSink) error {
	j.foreign = append(j.foreign, make([]bool, len(j.files)-len(j.foreign))...)
	return j.withPart(ctx, name, func(part *table.Part, files []*manifest.File) error {
		err := j.permit(part.Seal)
		if err == nil {
			err = j.takeAll(ctx, part, files, sink)
		}
		j.foreign = append(j.foreign, slices.Repeat([]bool{true}, len(j.files)-len(j.foreign))...)
		return err
	})
}

// permit adds the seal of a part to what the job may read.
func (j *job) permit(seal *manifest.Seal) error {
	if j.access == nil {
		var err error
		if j.access, err = store.NewAccess(nil, "", j.opts.Allow); err != nil {
			return err
		}
	}
	places, err := j.access.AddSeal(seal)
	j.sealed = append(j.sealed, places...)
	j.guarded = newReadOptions(j.opts.within(j.access))
	return err
}

// partSink takes the refs and inline bytes of parts.
type partSink interface {
	scan.RefSink
	NextRef() int64    // the row of the next ref
	NextInline() int64 // the row of the next inline bytes
}

// withPart opens a part, and calls do with it.
func (j *job) withPart(ctx context.Context, name string, do func(*table.Part, []*manifest.File) error) error {
	open := openPartFile
	if isElsewhere(name) {
		open = func(name string) (table.File, error) { return j.openFarPart(ctx, name) }
	}
	file, err := open(name)
	if err != nil {
		return err
	}
	part, err := table.OpenPart(source.Shown(name), file, table.NewCache(refCache))
	if err != nil {
		return closing(file, err)
	}
	files, err := part.Files(ctx, j.shared)
	if err == nil {
		j.generation = min(j.generation, part.Generation)
		err = do(part, files)
	}
	return closing(part, err)
}

// copyPart appends the rows and files of a part with new numbers. keep selects the files. It must
// be true for all files if some refer to others.
func (j *job) copyPart(ctx context.Context, part *table.Part, files []*manifest.File, keep []bool, sink partSink) error {
	if !slices.Contains(keep, true) {
		return nil
	}
	firstFile, firstInline := int32(len(j.files)), sink.NextInline()
	if j.old != nil {
		firstFile += int32(j.old.Rows(manifest.Sources))
	}
	// Inline chunks of all files are copied, because their rows are shared.
	for row := range part.Rows(manifest.Blobs) {
		data, err := part.Inline(ctx, row)
		if err != nil {
			return err
		}
		if _, err := sink.Inline(data); err != nil {
			return err
		}
	}
	copyRefs := func(row, end int64) error {
		if row > end {
			return fmt.Errorf("%w: the rows of references begin at %d and end at %d", codec.ErrCorrupt, row, end)
		}
		for batch, err := range part.ScanRefs(ctx, row, end-row) {
			if err != nil {
				return err
			}
			moveRefs(batch, firstFile, firstInline)
			if err := sink.Append(&batch.RefColumns); err != nil {
				return err
			}
		}
		return nil
	}
	// Files with adjacent rows are copied together, which is one range of rows for most parts.
	for from := 0; from < len(files); {
		to := from + 1
		for to < len(files) && keep[to] == keep[from] {
			to++
		}
		if keep[from] {
			row, end := int64(0), part.Rows(manifest.Refs)
			if from > 0 {
				row = files[from].Row
			}
			if to < len(files) {
				end = files[to].Row
			}
			moved := sink.NextRef() - row
			if err := copyRefs(row, end); err != nil {
				return err
			}
			if err := copyFilePoints(ctx, part.Reader, files[from:to], moved, sink); err != nil {
				return err
			}
			j.addFiles(files[from:to], moved, firstFile)
		}
		from = to
	}
	return nil
}

// addFiles adds files of a part, after adding offsets to their row and file numbers.
func (j *job) addFiles(files []*manifest.File, rows int64, firstFile int32) {
	for _, f := range files {
		f.Row += rows
		for _, parts := range f.Parts {
			for i := range parts {
				parts[i].File += int(firstFile)
			}
		}
	}
	j.files = append(j.files, files...)
}

func moveRefs(b *table.RefBatch, firstFile int32, firstInline int64) {
	for i, at := range b.Offsets {
		if row, ok := (manifest.Ref{Offset: at}).Inline(); ok {
			b.Offsets[i] = manifest.InlineRow(row + firstInline)
		}
	}
	if firstFile == 0 {
		return
	}
	for i, other := range b.Others {
		if other > 0 {
			b.Others[i] = other + firstFile
		}
	}
}

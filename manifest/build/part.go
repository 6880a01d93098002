package build

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/scan"
	"varve/manifest/table"
	"varve/readers/source"
)

// Scan writes what a scan of sources finds into a part, a file or an object that Build, Check and Append
// take for a source. Of what Plan says only Drop counts, and for damage only: the part is of all that is not
// damaged. What has the name is replaced when the part is whole; of one that is only half written nothing is left.
func Scan(ctx context.Context, name string, opts *Options) (*Outcome, error) {
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	if err := checkPartName(name); err != nil {
		return nil, err
	}
	names, err := opts.Sources.Expand(ctx)
	if err != nil {
		return nil, err
	}
	var outcome *Outcome
	err = writePart(ctx, name, func(file *os.File) error {
		outcome, err = scanTo(ctx, file, names, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return outcome, nil
}

// writePart writes a part, which has its name when it is whole.
func writePart(ctx context.Context, name string, write func(*os.File) error) error {
	if source.IsObject(name) {
		return storePart(ctx, name, write)
	}
	base := filepath.Base(name)
	draft := filepath.Join(filepath.Dir(name), "."+base[:min(len(base), longestBase)]+"-"+rand.Text())
	file, err := os.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if err = closing(file, err); err == nil {
		err = os.Rename(draft, name)
	}
	if err != nil {
		return errors.Join(err, removed(draft))
	}
	return nil
}

// longestBase is how much of a part's name its draft's begins with, as names have limits.
const longestBase = 200

func removed(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func scanTo(ctx context.Context, file *os.File, names []string, opts *Options) (*Outcome, error) {
	buffer := bufio.NewWriterSize(file, bufferBytes)
	part := table.NewPart(buffer)
	j := &job{opts: opts}
	o := opts.scan(part)
	o.Choice = &plan.Options{Drop: opts.Plan.Drop}
	found, err := scan.Scan(ctx, names, o)
	if err != nil {
		return j.refused(err), err
	}
	out := &Outcome{Report: &report.Report{}, Files: shown(found.Files), Broken: found.Broken}
	addBroken(out.Report, found.Broken, report.Dropped)
	return out, errors.Join(part.Close(found.Files), buffer.Flush())
}

// splitParts tells parts from other sources, by their content.
func (j *job) splitParts(ctx context.Context, names []string) (sources, parts []string, err error) {
	are := make([]bool, len(names))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(max(partsAtATime, runtime.GOMAXPROCS(0)))
	const stretch = 256 // local names a goroutine, since one costs no more than ten microseconds
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
				if are[i], err = isPart(names[i]); err == nil {
					err = within.Err()
				}
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

// isPart leaves what cannot be read to the scan, which names all of it.
func isPart(name string) (bool, error) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() { // opening a pipe would wait for somebody to write
		return false, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return false, nil
	}
	defer file.Close()
	return table.IsPart(file, info.Size())
}

// partFile is a part on disk.
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

// takePart adds what a part holds, as if it had been scanned now.
func (j *job) takePart(ctx context.Context, name string, sink *refSink) error {
	return j.withPart(ctx, name, func(part *table.Part, files []*manifest.File) error {
		return j.copyPart(ctx, part, files, slices.Repeat([]bool{true}, len(files)), sink)
	})
}

// withPart opens a part.
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
	if err == nil && len(files) == 0 {
		err = errors.New("the part holds no sources")
	}
	if err == nil {
		j.generation = min(j.generation, part.Generation)
		err = do(part, files)
	}
	return closing(part, err)
}

// copyPart numbers rows and files of a part anew, behind those that are there: of the files that are to
// be kept, which are all if some lead to others.
func (j *job) copyPart(ctx context.Context, part *table.Part, files []*manifest.File, keep []bool, sink *refSink) error {
	if !slices.Contains(keep, true) {
		return nil
	}
	firstFile, firstInline := int32(len(j.files)), sink.first+sink.inline.Rows()
	if j.old != nil {
		firstFile += int32(j.old.Rows(manifest.Sources))
	}
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
			return fmt.Errorf("%w: rows of refs end at %d that begin at %d", codec.ErrCorrupt, end, row)
		}
		for batch, err := range part.ScanRefs(ctx, row, end-row) {
			if err != nil {
				return err
			}
			moveRefs(batch, firstFile, firstInline)
			if err := sink.Append(batch.Offsets, batch.Sizes, batch.Masks, batch.Others); err != nil {
				return err
			}
		}
		return nil
	}
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
			moved := j.tables.refRows() - row
			if err := copyRefs(row, end); err != nil {
				return err
			}
			j.addFiles(files[from:to], moved, firstFile)
		}
		from = to
	}
	return nil
}

// addFiles adds files of a part whose rows and files have other numbers now.
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

package scan

import (
	"context"
	"errors"

	"varve/manifest"
	"varve/readers/source"
)

// found is the result of scanning one source. Rows and files are numbered from 0 within it; the collector
// adds the numbers of earlier sources.
type found struct {
	url    string
	err    error // if set, all other fields are empty
	file   *manifest.File
	refs   *refs
	inline [][]byte          // the bytes of inline refs
	others []manifest.Source // the sources of refs.Others, whose numbers start at 1
	hidden []*found          // the files of the file's Parts
	points *source.Points    // of a source that is a compressed file
	spared bool              // damage was ignored because Choice excludes it
}

// collector combines the results of workers in the order of the sources.
type collector struct {
	*scanner
	result   *Result
	progress Progress
	first    int64          // row of the current file
	others   map[string]int // files of sources to which refs point, by URL
}

func newCollector(s *scanner, sources int) *collector {
	return &collector{
		scanner:  s,
		result:   &Result{},
		progress: Progress{Sources: sources},
		others:   map[string]int{},
	}
}

// begin is called before the rows of each source.
func (c *collector) begin() { c.first = c.result.Rows }

// more passes on rows of the current source.
func (c *collector) more(b *batch) error {
	return c.append(&found{refs: b.refs, inline: b.inline})
}

// take adds the result of a source.
func (c *collector) take(f *found) error {
	c.progress.Done++
	if f.err != nil {
		// Rows of this source are already in the sink and cannot be removed, so the scan must restart.
		if errors.Is(f.err, errHanded) || c.SkipBroken && c.result.Rows > c.first {
			return errHanded
		}
		c.progress.Broken++
		broken := Broken{URL: f.url, Err: f.err}
		if p := (*partial)(nil); errors.As(f.err, &p) {
			broken.Drop = p.paths
		}
		c.result.Broken = append(c.result.Broken, broken)
		c.result.Rows = c.first
	} else if err := c.add(f, c.first); err != nil {
		return err
	}
	if c.Progress != nil {
		c.Progress(c.progress)
	}
	return nil
}

// add adds a file, whose rows begin at first, and its hidden files.
func (c *collector) add(f *found, first int64) error {
	c.result.Files = append(c.result.Files, f.file)
	c.result.Spared = c.result.Spared || f.spared
	f.file.Row = c.FirstRow + first
	c.progress.Bytes += f.file.Bytes
	if err := c.append(f); err != nil {
		return err
	}
	// Nothing reads bytes of a source without refs.
	if f.points != nil && c.Sink != nil && c.result.Rows > first {
		// The windows are in memory, so there is nothing to cancel.
		if err := c.Sink.FilePoints(context.Background(), f.file.Row, &f.file.Source, f.points); err != nil {
			return err
		}
	}
	base := len(c.result.Files)
	for _, h := range f.hidden {
		if err := c.add(h, c.result.Rows); err != nil {
			return err
		}
	}
	for _, parts := range f.file.Parts {
		for i := range parts {
			parts[i].File += c.FirstFile + base
		}
	}
	return nil
}

// append passes on refs and their inline bytes.
func (c *collector) append(f *found) error {
	n := f.refs.len()
	c.progress.Refs += int64(n)
	c.result.Rows += int64(n)
	if c.Sink == nil {
		return nil
	}
	if err := c.number(f); err != nil {
		return err
	}
	if n > 0 {
		if err := c.Sink.Append(&f.refs.RefColumns); err != nil {
			return err
		}
	}
	f.refs.free()
	return nil
}

// number replaces the numbers of files and inline bytes within a source by their numbers in the whole result.
func (c *collector) number(f *found) error {
	inline := make([]int64, len(f.inline))
	for i, b := range f.inline {
		row, err := c.Sink.Inline(b)
		if err != nil {
			return err
		}
		inline[i] = row
	}
	if len(inline) > 0 {
		for i, at := range f.refs.Offsets {
			if row, ok := (manifest.Ref{Offset: at}).Inline(); ok {
				f.refs.Offsets[i] = manifest.InlineRow(inline[row])
			}
		}
	}
	if len(f.others) == 0 {
		return nil
	}
	isUsed := make([]bool, len(f.others)+1)
	for _, k := range f.refs.Others {
		isUsed[k] = true
	}
	others := make([]int32, len(f.others)+1)
	for i, o := range f.others {
		if !isUsed[i+1] {
			// No ref says who named it, so each source that did has its own behind it.
			c.addOther(o)
			continue
		}
		others[i+1] = int32(c.other(o) + 1)
	}
	for i, k := range f.refs.Others {
		f.refs.Others[i] = others[k]
	}
	return nil
}

// other returns the file number of a source to which refs point.
func (c *collector) other(o manifest.Source) int {
	row, ok := c.others[o.URL]
	if !ok {
		row = c.addOther(o)
		c.others[o.URL] = row
	}
	return row
}

// addOther adds a hidden file without a header, and returns its number.
func (c *collector) addOther(o manifest.Source) int {
	c.result.Files = append(c.result.Files, &manifest.File{
		Source: o,
		Header: c.shared.header(&manifest.Header{}),
		Groups: c.shared.groups(nil),
		Row:    c.FirstRow + c.result.Rows,
		Hidden: true,
	})
	return c.FirstFile + len(c.result.Files) - 1
}

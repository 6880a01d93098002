package scan

import (
	"varve/manifest"
)

// found is what a worker found in one source. Numbers of rows and files count from 0 within
// it: only the collector knows what came before.
type found struct {
	url    string
	err    error // nothing else is set
	file   *manifest.File
	refs   *refs
	inline [][]byte          // what refs to inline bytes point at
	others []manifest.Source // what the refs' others, less 1, point at
	hidden []*found          // what the file's Parts point at
}

// collector puts together what workers found, in order.
type collector struct {
	*scanner
	result   *Result
	progress Progress
	others   map[string]int // rows of sources that refs point at, by URL
	masks    []uint32
	numbers  []int32
}

func newCollector(s *scanner, sources int) *collector {
	return &collector{
		scanner:  s,
		result:   &Result{},
		progress: Progress{Sources: sources},
		others:   map[string]int{},
		masks:    make([]uint32, appended),
		numbers:  make([]int32, appended),
	}
}

// appended is how many rows are handed on at a time.
const appended = 1 << 14

// take adds a source.
func (c *collector) take(f *found) error {
	c.progress.Done++
	if f.err != nil {
		c.progress.Broken++
		c.result.Broken = append(c.result.Broken, Broken{URL: f.url, Err: f.err})
	} else if err := c.add(f); err != nil {
		return err
	}
	if c.Progress != nil {
		c.Progress(c.progress)
	}
	return nil
}

// add adds a file and the hidden ones that belong to it.
func (c *collector) add(f *found) error {
	c.result.Files = append(c.result.Files, f.file)
	f.file.Row = c.FirstRow + c.result.Rows
	if err := c.append(f); err != nil {
		return err
	}
	base := len(c.result.Files)
	for _, h := range f.hidden {
		if err := c.add(h); err != nil {
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

// append hands a file's refs on, with what they point at.
func (c *collector) append(f *found) error {
	c.progress.Bytes += f.file.Bytes
	n := f.refs.len()
	c.progress.Refs += int64(n)
	c.result.Rows += int64(n)
	if c.Sink == nil {
		return nil
	}
	if err := c.number(f); err != nil {
		return err
	}
	for from := 0; from < n; from += appended {
		to := min(from+appended, n)
		masks, others := c.masks[:to-from], c.numbers[:to-from]
		if f.refs.masks != nil {
			masks = f.refs.masks[from:to]
		}
		if f.refs.others != nil {
			others = f.refs.others[from:to]
		}
		if err := c.Sink.Append(f.refs.offsets[from:to], f.refs.sizes[from:to], masks, others); err != nil {
			return err
		}
	}
	f.refs.free()
	return nil
}

// number turns the numbers within a file into those of the whole.
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
		for i, at := range f.refs.offsets {
			if row, ok := (manifest.Ref{Offset: at}).Inline(); ok {
				f.refs.offsets[i] = manifest.InlineRow(inline[row])
			}
		}
	}
	if len(f.others) == 0 {
		return nil
	}
	others := make([]int32, len(f.others)+1)
	for i, o := range f.others {
		others[i+1] = int32(c.other(o) + 1)
	}
	for i, k := range f.refs.others {
		f.refs.others[i] = others[k]
	}
	return nil
}

// other returns the row of a source that refs point at.
func (c *collector) other(o manifest.Source) int {
	row, ok := c.others[o.URL]
	if !ok {
		row = c.FirstFile + len(c.result.Files)
		c.others[o.URL] = row
		c.result.Files = append(c.result.Files, &manifest.File{
			Source: o,
			Header: c.shared.header(&manifest.Header{}),
			Groups: c.shared.groups(&manifest.GroupAttributes{}),
			Row:    c.FirstRow + c.result.Rows,
			Hidden: true,
		})
	}
	return row
}

package kerchunk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"

	"varve/manifest/export/internal/names"
	"varve/manifest/internal/home"
	"varve/readers/parquet"
)

// metadataName is the file of documents in a Parquet set.
const metadataName = ".zmetadata"

// refColumns are the columns of refs.N.parq, in the order that fsspec expects.
var refColumns = []parquet.Column{
	{Name: "path", Type: parquet.Text, Optional: true},
	{Name: "offset", Type: parquet.Int},
	{Name: "size", Type: parquet.Int},
	{Name: "raw", Type: parquet.Bytes, Optional: true},
}

// writeParquet writes a folder next to the destination and renames it when it is complete.
func (e *export) writeParquet(ctx context.Context) (err error) {
	d, ctx, err := home.StageFolder(ctx, e.dest)
	if err != nil {
		return err
	}
	defer func() { err = d.Discard(err) }()
	if err := e.checkDest(ctx); err != nil { // another process may have created it
		return err
	}
	e.patches.temp = d.Path(patchesName)
	defer func() { err = errors.Join(err, e.patches.release()) }()
	if err := e.fillFolder(ctx, d.Path()); err != nil {
		return errors.Join(err, e.patches.giveUp())
	}
	return d.Publish(ctx, metadataName, e.opts.Force)
}

// fillFolder writes the files of a set.
func (e *export) fillFolder(ctx context.Context, dir string) error {
	from, err := e.carryOn()
	if err == nil && from != nil {
		err = e.patches.carry(e.patchesFile())
	}
	if err != nil {
		return err
	}
	if err := names.Check(dir, e.keys()); err != nil {
		return err
	}
	if err := e.writeRecords(ctx, dir, from); err != nil {
		return err
	}
	return errors.Join(e.finish(), e.writeMetadata(dir))
}

// keys returns the paths of all files and folders.
func (e *export) keys() []string {
	keys := []string{metadataName, patchesName}
	for _, a := range e.arrays {
		keys = append(keys, arrayKey(a))
	}
	return keys
}

// writeMetadata writes the documents. fsspec expects JSON objects here, not text.
func (e *export) writeMetadata(dir string) error {
	var b bytes.Buffer
	b.WriteString(`{"metadata":{`)
	for i, d := range e.docs.list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(append(appendString(nil, d.key), ':'))
		b.Write(d.json)
	}
	origin, err := json.Marshal(e.mark())
	if err != nil {
		return err
	}
	fmt.Fprintf(&b, `},"record_size":%d,"varve":%s}`, e.opts.RecordSize, origin)
	return os.WriteFile(filepath.Join(dir, metadataName), b.Bytes(), 0o666)
}

// writeRecords fills the records of all arrays in turn, while other goroutines compress the full ones.
func (e *export) writeRecords(ctx context.Context, dir string, from *carried) error {
	work, ctx := errgroup.WithContext(ctx)
	full, empty := make(chan *record), make(chan *record, e.opts.Workers+1)
	for range cap(empty) {
		empty <- &record{}
	}
	for range e.opts.Workers {
		work.Go(func() error {
			w := parquet.NewWriter(nil, refColumns, parquet.Options{Portable: true})
			for r := range full {
				if err := r.write(w); err != nil {
					return err
				}
				empty <- r
			}
			return nil
		})
	}
	work.Go(func() error {
		defer close(full)
		p := &parquetSink{export: e, dir: dir, from: from, full: full, empty: empty}
		for n, a := range e.arrays {
			if err := p.array(ctx, n, a); err != nil {
				return err
			}
		}
		return nil
	})
	return work.Wait()
}

// parquetSink collects the refs of an array into records.
type parquetSink struct {
	*export
	dir         string
	from        *carried // nil if there is no old set
	full, empty chan *record
	*record     // the current record
	folder      string
	number      int64 // number of the next record
}

func (p *parquetSink) array(ctx context.Context, n int, a array) error {
	p.folder, p.number = filepath.Join(p.dir, filepath.FromSlash(arrayKey(a))), 0
	if err := os.MkdirAll(p.folder, 0o777); err != nil {
		return err
	}
	if p.record == nil {
		p.record = <-p.empty
	}
	p.record.reset()
	kept, err := p.keep(ctx, a)
	if err != nil {
		return err
	}
	if err := p.stream(ctx, n, kept, p); err != nil {
		return err
	}
	if len(p.offset.Ints) == 0 {
		return nil
	}
	return p.hand(ctx)
}

// hand passes the full record on for writing and takes an empty one.
func (p *parquetSink) hand(ctx context.Context) error {
	p.record.file = filepath.Join(p.folder, "refs."+strconv.FormatInt(p.number, 10)+".parq")
	p.number++
	select {
	case p.full <- p.record:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case p.record = <-p.empty:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.record.reset()
	return nil
}

// put implements sink.
func (p *parquetSink) put(ctx context.Context, r *ref) error {
	if r.source != p.last {
		if err := p.setSource(ctx, r.source); err != nil {
			return err
		}
	}
	p.record.add(r)
	if int64(len(p.offset.Ints)) == p.opts.RecordSize {
		return p.hand(ctx)
	}
	return nil
}

// putRanges implements sink.
func (p *parquetSink) putRanges(ctx context.Context, source int64, offsets, sizes []int64) error {
	for len(offsets) > 0 {
		if source != p.last {
			if err := p.setSource(ctx, source); err != nil {
				return err
			}
		}
		n := min(len(offsets), int(p.opts.RecordSize)-len(p.offset.Ints))
		p.record.addRanges(offsets[:n], sizes[:n])
		offsets, sizes = offsets[n:], sizes[n:]
		if int64(len(p.offset.Ints)) == p.opts.RecordSize {
			if err := p.hand(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// setSource sets the source of the next rows. Rows without a source have an empty path, because fsspec fails
// on some nulls.
func (p *parquetSink) setSource(ctx context.Context, source int64) error {
	var text []byte
	switch source {
	case inRefs, nowhere:
		source = inRefs
	case inPatches:
		text = p.patches.path
	default:
		var err error
		if text, err = p.paths.of(ctx, source); err != nil {
			return err
		}
	}
	index, ok := p.known[source]
	if !ok {
		index = int32(len(p.path.Bytes))
		p.path.Bytes = append(p.path.Bytes, text)
		p.known[source] = index
	}
	p.last, p.index = source, index
	return nil
}

// maxRaw bounds the bytes of chunks in a record.
const maxRaw = 32 << 20

// record is the content of one Parquet file.
type record struct {
	file                    string
	path, offset, size, raw parquet.Values

	known map[int64]int32 // index of each source in path.Bytes
	last  int64           // source of the last row
	index int32           // its index in path.Bytes

	raws  map[*byte]int32 // index of each chunk in raw.Bytes
	bytes int
}

func (r *record) reset() {
	r.path = parquet.Values{Index: r.path.Index[:0], Bytes: r.path.Bytes[:0]}
	r.offset.Ints, r.size.Ints = r.offset.Ints[:0], r.size.Ints[:0]
	r.raw = parquet.Values{}
	r.known, r.last = map[int64]int32{}, noSource
	r.raws, r.bytes = map[*byte]int32{}, 0
}

// noSource is the source before the first row.
const noSource = -9

func (r *record) add(c *ref) {
	r.path.Index = append(r.path.Index, r.index)
	r.offset.Ints = append(r.offset.Ints, c.offset)
	r.size.Ints = append(r.size.Ints, c.size)
	if c.source == inRefs {
		r.addRaw(c.raw)
	} else if r.raw.Index != nil {
		r.raw.Index = append(r.raw.Index, -1)
	}
}

// addRanges adds ranges of the current source.
func (r *record) addRanges(offsets, sizes []int64) {
	r.offset.Ints, r.size.Ints = append(r.offset.Ints, offsets...), append(r.size.Ints, sizes...)
	for range offsets {
		r.path.Index = append(r.path.Index, r.index)
	}
	if r.raw.Index != nil {
		for range offsets {
			r.raw.Index = append(r.raw.Index, -1)
		}
	}
}

// addRaw sets the bytes of the last row.
func (r *record) addRaw(raw []byte) {
	// The column raw starts empty; earlier rows get nulls when the first chunk with bytes arrives.
	for len(r.raw.Index) < len(r.offset.Ints)-1 {
		r.raw.Index = append(r.raw.Index, -1)
	}
	index, ok := int32(0), false
	if len(raw) > 0 {
		// Chunks of fill values share their memory, so the address finds duplicates.
		index, ok = r.raws[&raw[0]]
	}
	if !ok {
		index = int32(len(r.raw.Bytes))
		r.raw.Bytes = append(r.raw.Bytes, guarded(raw))
		r.bytes += len(raw)
		if len(raw) > 0 {
			r.raws[&raw[0]] = index
		}
	}
	r.raw.Index = append(r.raw.Index, index)
}

// guarded encodes bytes in base64 if they begin with "base64:", because fsspec would decode them.
func guarded(raw []byte) []byte {
	const mark = "base64:"
	if !bytes.HasPrefix(raw, []byte(mark)) {
		return raw
	}
	return base64.StdEncoding.AppendEncode([]byte(mark), raw)
}

// fits implements sink.
func (p *parquetSink) fits(raw []byte) bool {
	if len(raw) > 0 {
		if _, ok := p.raws[&raw[0]]; ok {
			return true
		}
	}
	// Without a reachable file of patches, the references are the only place for re-encoded chunks.
	limit := maxRaw
	if p.patches.unreachable {
		limit *= 8
	}
	return p.bytes+len(raw) <= limit
}

// write writes the file.
func (r *record) write(w *parquet.Writer) error {
	f, err := os.OpenFile(r.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<16)
	w.Reset(out)
	err = w.RowGroup(len(r.offset.Ints), nil, []parquet.Values{r.path, r.offset, r.size, r.raw})
	return errors.Join(err, w.Close(), out.Flush(), f.Close())
}

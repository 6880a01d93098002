package kerchunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve/readers"
	"varve/readers/internal/kerchunk/internal/parq"
	"varve/readers/internal/zarrtree"
	"varve/readers/source"
	"varve/zarrjson"
)

func isCorrupt(err error) bool { return errors.Is(err, readers.ErrCorrupt) }

const metadataKey = ".zmetadata"

// detectParquet reports whether a folder has a .zmetadata with a record_size.
func detectParquet(ctx context.Context, src *source.Source) (bool, error) {
	doc, err := src.ReadMember(ctx, metadataKey, maxDocuments)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	fields, err := zarrjson.ParseAttributes(doc)
	if err != nil {
		return false, nil
	}
	_, ok := fields.Get("record_size")
	return ok, nil
}

func openParquet(ctx context.Context, src *source.Source, where reach, keepShards bool) (*readers.Dataset, error) {
	doc, err := src.ReadMember(ctx, metadataKey, maxDocuments)
	if err != nil {
		return nil, err
	}
	nodes, raw, err := zarrtree.V2Consolidated(doc)
	if err != nil {
		return nil, openError(src, "%s: %w", metadataKey, err)
	}
	rows, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || rows < 1 {
		return nil, openError(src, "%s: %w", metadataKey, readers.Corruptf("record_size is %.40q (want at least 1 row)", raw))
	}
	set := &parquetSet{src: src, rows: rows, reach: where}
	t := &zarrtree.Tree{Source: src, Format: "kerchunk Parquet", Index: "references", Chunks: set, KeepShards: keepShards}
	return t.Dataset(withoutStubs(nodes)), ctx.Err()
}

// withoutStubs removes the .zarray that accompanies a zarr.json only so that fsspec can count
// chunks. If a set has a document of format 3, only documents of format 3 count.
func withoutStubs(nodes []zarrtree.Node) []zarrtree.Node {
	v3 := slices.ContainsFunc(nodes, func(n zarrtree.Node) bool { return n.Zarr != nil })
	return slices.DeleteFunc(nodes, func(n zarrtree.Node) bool {
		// fsspec reads the stub only to count chunks.
		return v3 && n.Zarr == nil && (n.Path == "zarr.json" || strings.HasSuffix(n.Path, "/zarr.json") || n.Array != nil && isStub(n.Array))
	})
}

// isStub reports whether a .zarray has no data type.
func isStub(doc []byte) bool {
	fields, err := zarrjson.ParseAttributes(doc)
	if err != nil {
		return false
	}
	_, typed := fields.Get("dtype")
	return !typed
}

// parquetSet is a set of references in Parquet files.
type parquetSet struct {
	src  *source.Source
	rows int64 // rows of a file
	reach
}

// Refs reads the Parquet files of an array in order.
func (s *parquetSet) Refs(ctx context.Context, a *zarrtree.Array) iter.Seq2[*readers.Ref, error] {
	return func(yield func(*readers.Ref, error) bool) {
		records, err := s.records(ctx, a)
		if err != nil {
			yield(nil, err)
			return
		}
		l := rowReader{parquetSet: s, a: a, places: placer{reach: s.reach}, yield: yield, coords: make([]int64, a.Grid.Rank())}
		l.ref.Index = make([]uint64, a.Grid.Rank())
		for _, n := range records {
			key := join(a.Path, recordName(n))
			if err := l.file(ctx, key, n*s.rows); err != nil {
				if !errors.Is(err, errStopped) {
					yield(nil, &readers.Error{Source: s.src.MemberName(key), Offset: -1, Err: err})
				}
				return
			}
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

func recordName(n int64) string { return "refs." + strconv.FormatInt(n, 10) + ".parq" }

// records returns the numbers of an array's existing files, in order. The chunks of missing files
// are missing.
func (s *parquetSet) records(ctx context.Context, a *zarrtree.Array) ([]int64, error) {
	last := (a.Grid.Chunks() - 1) / s.rows
	var records []int64
	for e, err := range s.src.List(ctx, a.Path) {
		if err != nil {
			return nil, err
		}
		text, _ := strings.CutPrefix(e.Name, "refs.")
		text, _ = strings.CutSuffix(text, ".parq")
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && n >= 0 && n <= last && recordName(n) == e.Name && a.Grid.Chunks() > 0 {
			if e.Err != nil {
				return nil, e.Err
			}
			records = append(records, n)
		}
	}
	slices.Sort(records)
	return records, nil
}

// rowReader converts rows to refs.
type rowReader struct {
	*parquetSet
	a      *zarrtree.Array
	places placer
	coords []int64
	ref    readers.Ref
	yield  func(*readers.Ref, error) bool
}

// file reads the rows of a file. The first row is for chunk number first.
func (l *rowReader) file(ctx context.Context, key string, first int64) (err error) {
	src, err := l.src.Member(ctx, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	number, end := first, min(l.a.Grid.Chunks(), first+min(l.rows, math.MaxInt64-first))
	for row, err := range parq.Rows(ctx, src) {
		if err != nil {
			return err
		}
		// Writers fill the last file up to record_size rows.
		if number == end {
			return nil // the remaining rows are padding
		}
		if err := l.row(row, number); err != nil {
			return err
		}
		number++
	}
	if number < end {
		return readers.Corruptf("file has %d rows (want %d, one for each chunk)", number-first, end-first)
	}
	return nil
}

// row yields the ref of a row, unless the chunk is missing. If several columns have a value, raw
// precedes path, as in fsspec.
func (l *rowReader) row(row *parq.Row, number int64) error {
	switch {
	case row.Raw != nil:
		data, err := rawBytes(row.Raw)
		if err != nil {
			return err
		}
		l.places.inline(&l.ref, data)
	case !row.HasPath:
		return nil
	default:
		if err := l.places.source(&l.ref, row.Path); err != nil {
			return fmt.Errorf("row of chunk %d: %w", number, err)
		}
		if row.Offset < 0 || row.Size < 0 {
			return readers.Corruptf("row of chunk %d: %d bytes at offset %d are out of range", number, row.Size, row.Offset)
		}
		l.ref.Offset, l.ref.Size = row.Offset, uint64(row.Size)
		// fsspec writes zeros for a whole file.
		if row.Offset == 0 && row.Size == 0 {
			l.ref.Size = readers.WholeSource
		}
	}
	l.a.Grid.Coords(number, l.coords)
	for k, n := range l.coords {
		l.ref.Index[k] = uint64(n)
	}
	if !l.yield(&l.ref, nil) {
		return errStopped
	}
	return nil
}

package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	parquetgo "github.com/parquet-go/parquet-go"

	"varve/fixtures/system"
	"varve/manifest"
)

// cells are the values of a file by column, as texts. null is "NULL".
type cells map[string][]string

const null = "NULL"

// arrowCells reads a file with Apache Arrow's library for Go.
func arrowCells(t *testing.T, data []byte) cells {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := cells{}
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		for c := range r.MetaData().Schema.NumColumns() {
			column, err := group.Column(c)
			if err != nil {
				t.Fatal(err)
			}
			name := r.MetaData().Schema.Column(c).Name()
			out[name] = append(out[name], arrowColumn(t, column, group.NumRows())...)
		}
	}
	return out
}

func arrowColumn(t *testing.T, column file.ColumnChunkReader, rows int64) (out []string) {
	t.Helper()
	levels := make([]int16, rows)
	var values []string
	var total int64
	var err error
	switch r := column.(type) {
	case *file.Int64ColumnChunkReader:
		ints := make([]int64, rows)
		total, _, err = r.ReadBatch(rows, ints, levels, nil)
		for _, n := range ints {
			values = append(values, fmt.Sprint(n))
		}
	case *file.ByteArrayColumnChunkReader:
		texts := make([]parquet.ByteArray, rows)
		total, _, err = r.ReadBatch(rows, texts, levels, nil)
		for _, b := range texts {
			values = append(values, string(b))
		}
	default:
		t.Fatalf("%T", column)
	}
	if err != nil || total != rows {
		t.Fatalf("%s: %d of %d rows: %v", column.Descriptor().Name(), total, rows, err)
	}
	for i, at := 0, 0; i < int(rows); i++ {
		if levels[i] < column.Descriptor().MaxDefinitionLevel() {
			out = append(out, null)
			continue
		}
		out = append(out, values[at])
		at++
	}
	return out
}

// parquetGoCells reads a file with parquet-go.
func parquetGoCells(t *testing.T, data []byte) cells {
	t.Helper()
	f, err := parquetgo.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	out := cells{}
	for _, group := range f.RowGroups() {
		for i, column := range group.ColumnChunks() {
			name := f.Schema().Columns()[i][0]
			out[name] = append(out[name], parquetGoColumn(t, column)...)
		}
	}
	return out
}

func parquetGoColumn(t *testing.T, column parquetgo.ColumnChunk) (out []string) {
	t.Helper()
	pages := column.Pages()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		values := make([]parquetgo.Value, page.NumValues())
		if n, err := page.Values().ReadValues(values); n != len(values) || err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%d of %d values: %v", n, len(values), err)
		}
		for _, v := range values {
			switch {
			case v.IsNull():
				out = append(out, null)
			case v.Kind() == parquetgo.Int64:
				out = append(out, fmt.Sprint(v.Int64()))
			default:
				out = append(out, string(v.ByteArray()))
			}
		}
	}
	if err := pages.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// refCells returns the expected columns of refs.
func refCells(refs []manifest.Ref) cells {
	out := cells{}
	for i, r := range refs {
		length := fmt.Sprint(r.Size)
		if i+1 < len(refs) && (i+1)%4096 != 0 && refs[i+1].Offset == r.Offset+r.Size {
			length = null
		}
		out["offset"] = append(out["offset"], fmt.Sprint(r.Offset))
		out["length"] = append(out["length"], length)
		out["mask"] = append(out["mask"], fmt.Sprint(r.Mask))
		out["other"] = append(out["other"], fmt.Sprint(r.Other))
	}
	return out
}

func (want cells) check(t *testing.T, got cells) {
	t.Helper()
	for name := range want {
		if len(got[name]) != len(want[name]) {
			t.Errorf("column %s has %d rows, want %d", name, len(got[name]), len(want[name]))
			continue
		}
		for i, w := range want[name] {
			if got[name][i] != w {
				t.Errorf("column %s, row %d: got %q, want %q", name, i, got[name][i], w)
				break
			}
		}
	}
}

// TestOthersRead checks that other Parquet libraries read the same values.
func TestOthersRead(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	for reader, read := range map[string]func(*testing.T, []byte) cells{"arrow": arrowCells, "parquet-go": parquetGoCells} {
		t.Run(reader, func(t *testing.T) {
			for _, n := range []int{0, 1, 5000, 300_000} {
				refs := randomRefs(rng, n)
				refCells(refs).check(t, read(t, writeRefs(t, rng, refs)))
			}
			one := make([]manifest.Ref, 10_000) // every column has one value
			refCells(one).check(t, read(t, writeRefs(t, rng, one)))
			for kind, data := range everyKind(t) {
				for name, column := range read(t, data) {
					if len(column) != int(rowsOf(t, kind, data)) {
						t.Errorf("%s: column %s has %d rows, want %d", kind, name, len(column), rowsOf(t, kind, data))
					}
				}
			}
			checkSourceCells(t, read)
			checkPartCells(t, read)
		})
	}
}

func checkSourceCells(t *testing.T, read func(*testing.T, []byte) cells) {
	t.Helper()
	rng := rand.New(rand.NewPCG(12, 12))
	var rows []*SourceRow
	want := cells{}
	for i := range 1000 {
		s := randomSource(rng, i)
		rows = append(rows, s)
		modified, nanoseconds := null, null
		if !s.Modified.IsZero() {
			modified, nanoseconds = fmt.Sprint(s.Modified.Unix()), fmt.Sprint(s.Modified.Nanosecond())
		}
		want["modified"], want["modified_ns"] = append(want["modified"], modified), append(want["modified_ns"], nanoseconds)
		want["size"], want["format"] = append(want["size"], fmt.Sprint(s.Size)), append(want["format"], s.Format)
		header := s.Header
		if header == "" {
			header = null
		}
		want["header"] = append(want["header"], header)
	}
	want.check(t, read(t, write(t, start(NewSources), rows...)))
}

// checkPartCells checks that the column table distinguishes the rows of a part.
func checkPartCells(t *testing.T, read func(*testing.T, []byte) cells) {
	t.Helper()
	rng := rand.New(rand.NewPCG(13, 13))
	files, refs := testFiles(rng, 30)
	got := read(t, writePart(t, files, refs, [][]byte{[]byte("x"), []byte("y")}))
	counts := map[string]int{}
	of := cells{}
	for i, table := range got["table"] {
		counts[table]++
		if table == string(manifest.Refs) {
			for _, name := range []string{"offset", "length", "mask", "other"} {
				of[name] = append(of[name], got[name][i])
			}
		}
	}
	refCells(refs).check(t, of)
	if counts["sources"] != 30 || counts["inline"] != 2 || counts["headers"] != 3 || counts["groups"] != 4 || counts["values"] != 1 {
		t.Errorf("rows by table: %v", counts)
	}
}

// BenchmarkParquetGoWritesRefs shows why refs are not written by parquet-go.
func BenchmarkParquetGoWritesRefs(b *testing.B) {
	type ref struct {
		Offset int64  `parquet:"offset,delta"`
		Length int64  `parquet:"length,delta"`
		Mask   uint32 `parquet:"mask,delta"`
		Other  int32  `parquet:"other,delta"`
	}
	const n = 1 << 18
	offsets, sizes := make([]int64, n), make([]int64, n)
	newSynthetic(inFileOrder).fill(offsets, sizes)
	rows := make([]ref, n)
	for i := range rows {
		rows[i] = ref{Offset: offsets[i], Length: sizes[i]}
	}
	var c counter
	w := parquetgo.NewGenericWriter[ref](&c, parquetgo.Compression(&parquetgo.Zstd), parquetgo.PageBufferSize(64<<10))
	b.ReportAllocs()
	start := system.UserTime(b)
	b.ResetTimer()
	for range b.N {
		if _, err := w.Write(rows); err != nil {
			b.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(c.n)/float64(b.N*n), "B/ref")
	reportRate(b, int64(b.N)*n, start)
}

// BenchmarkParquetGoLooksUp is a lookup by parquet-go in a table of ours.
func BenchmarkParquetGoLooksUp(b *testing.B) {
	const n = 1 << 18
	var out bytes.Buffer
	newSynthetic(inFileOrder).write(b, &out, n)
	f, err := parquetgo.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		b.Fatal(err)
	}
	rows := f.RowGroups()[0].Rows()
	rng := rand.New(rand.NewPCG(1, 1))
	row := make([]parquetgo.Row, 1)
	b.ReportAllocs()
	start := system.UserTime(b)
	b.ResetTimer()
	for range b.N {
		if err := rows.SeekToRow(rng.Int64N(n)); err != nil {
			b.Fatal(err)
		}
		if _, err := rows.ReadRows(row); err != nil {
			b.Fatal(err)
		}
	}
	reportRate(b, int64(b.N), start)
}

package parquet

import (
	"bytes"
	"fmt"
	"testing"

	arrow "github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// arrowRefs writes rows of kerchunk references with Apache Arrow's library for Go.
func arrowRefs(tb testing.TB, paths []arrow.ByteArray, offsets, sizes []int64) []byte {
	tb.Helper()
	root, err := schema.NewGroupNode("schema", arrow.Repetitions.Required, schema.FieldList{
		schema.NewByteArrayNode("path", arrow.Repetitions.Optional, -1),
		schema.NewInt64Node("offset", arrow.Repetitions.Required, -1),
		schema.NewInt64Node("size", arrow.Repetitions.Required, -1),
		schema.NewByteArrayNode("raw", arrow.Repetitions.Optional, -1),
	}, -1)
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root, file.WithWriterProps(arrow.NewWriterProperties(
		arrow.WithCompression(compress.Codecs.Zstd), arrow.WithCompressionLevel(1), arrow.WithStats(false),
		arrow.WithDictionaryFor("offset", false), arrow.WithDictionaryFor("size", false))))
	g := w.AppendRowGroup()
	present, null := make([]int16, len(paths)), make([]int16, len(paths))
	for i := range present {
		present[i] = 1
	}
	for _, write := range []func(file.ColumnChunkWriter) error{
		func(c file.ColumnChunkWriter) error {
			_, err := c.(*file.ByteArrayColumnChunkWriter).WriteBatch(paths, present, nil)
			return err
		},
		func(c file.ColumnChunkWriter) error {
			_, err := c.(*file.Int64ColumnChunkWriter).WriteBatch(offsets, nil, nil)
			return err
		},
		func(c file.ColumnChunkWriter) error {
			_, err := c.(*file.Int64ColumnChunkWriter).WriteBatch(sizes, nil, nil)
			return err
		},
		func(c file.ColumnChunkWriter) error {
			_, err := c.(*file.ByteArrayColumnChunkWriter).WriteBatch(nil, null, nil)
			return err
		},
	} {
		c, err := g.NextColumn()
		if err == nil {
			err = write(c)
		}
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := g.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// TestScanArrow reads what Apache Arrow wrote.
func TestScanArrow(t *testing.T) {
	var paths []arrow.ByteArray
	var offsets, sizes []int64
	for i := range 5000 {
		paths = append(paths, fmt.Append(nil, "file-", i/700))
		offsets, sizes = append(offsets, int64(i)<<30), append(sizes, int64(i))
	}
	data := arrowRefs(t, paths, offsets, sizes)
	f, err := OpenForeign(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var got [4]Values
	for i := range got {
		s, err := f.Scan(0, i)
		if err == nil {
			err = s.Read(&got[i], len(paths))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range paths {
		if !bytes.Equal(got[0].Bytes[i], paths[i]) || got[1].Ints[i] != offsets[i] || got[2].Ints[i] != sizes[i] || !got[3].Null(i) {
			t.Fatalf("row %d is %q, %d, %d, %q", i, got[0].Bytes[i], got[1].Ints[i], got[2].Ints[i], got[3].Bytes[i])
		}
	}
}

func textOfRows(v Values) []arrow.ByteArray {
	texts := make([]arrow.ByteArray, len(v.Index))
	for i, n := range v.Index {
		texts[i] = v.Bytes[n]
	}
	return texts
}

// BenchmarkArrowRefs writes what BenchmarkPortableRefs writes.
func BenchmarkArrowRefs(b *testing.B) {
	path, offset, size := manyRefs()
	paths := textOfRows(path)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = len(arrowRefs(b, paths, offset.Ints, size.Ints))
	}
	b.ReportMetric(float64(len(paths)*b.N)/b.Elapsed().Seconds()/1e6, "Mrefs/s")
	b.ReportMetric(float64(n)/float64(len(paths)), "B/ref")
}

// BenchmarkArrowLooksUp reads one row of a file in the middle. It opens the file only once.
func BenchmarkArrowLooksUp(b *testing.B) {
	path, offset, size := manyRefs()
	paths := textOfRows(path)
	data := arrowRefs(b, paths, offset.Ints, size.Ints)
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	one := make([]int64, 1)
	for b.Loop() {
		for column := 1; column < 3; column++ {
			c, err := r.RowGroup(0).Column(column)
			if err != nil {
				b.Fatal(err)
			}
			ints := c.(*file.Int64ColumnChunkReader)
			if _, err := ints.Skip(int64(len(paths) / 2)); err != nil {
				b.Fatal(err)
			}
			if n, _, err := ints.ReadBatch(1, one, nil, nil); n != 1 || err != nil {
				b.Fatal(n, err)
			}
		}
	}
}

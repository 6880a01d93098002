package table

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	arrays "github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"varve/manifest/store"
)

// word is the type of texts that repeat: indexes into a dictionary that all records share.
var word = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}

// schema is the schema of the records.
var schema = arrow.NewSchema([]arrow.Field{
	{Name: "array", Type: word},
	{Name: "coords", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int64)},
	{Name: "kind", Type: word},
	{Name: "source", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "offset", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "length", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "codecs", Type: word},
	{Name: "sources", Type: arrow.ListOfNonNullable(arrow.BinaryTypes.String)},
}, nil)

// Records calls do with the chunks of all arrays, many per record. To keep a record after do returns, retain it.
func Records(ctx context.Context, s *store.Store, do func(arrow.Record) error) error {
	_, err := listingOf(s).records(ctx, do)
	return err
}

// Load returns the chunks of all arrays as an Arrow table in memory.
func Load(ctx context.Context, s *store.Store) (arrow.Table, error) { return listingOf(s).load(ctx) }

func (l *listing) load(ctx context.Context) (arrow.Table, error) {
	var all []arrow.Record
	defer func() {
		for _, r := range all {
			r.Release()
		}
	}()
	_, err := l.records(ctx, func(r arrow.Record) error {
		r.Retain()
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return arrays.NewTableFromRecords(schema, all), nil
}

// arrowStream writes records one after the other, for readers that cannot seek.
func (l *listing) arrowStream(ctx context.Context, out io.Writer) (*Result, error) {
	return l.arrow(ctx, ipc.NewWriter(out, ipc.WithSchema(schema)))
}

// arrowFile writes records with an index of them at the end. pandas, Polars and DuckDB take a file by that.
func (l *listing) arrowFile(ctx context.Context, out io.Writer) (*Result, error) {
	w, err := ipc.NewFileWriter(&counted{Writer: out}, ipc.WithSchema(schema))
	if err != nil {
		return nil, err
	}
	return l.arrow(ctx, w)
}

// counted is a writer that knows its position. The writer of Arrow files asks for it, and seeks nowhere.
type counted struct {
	io.Writer
	at int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.at += int64(n)
	return n, err
}

// Seek implements io.Seeker for the current position only.
func (c *counted) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.ErrUnsupported
	}
	return c.at, nil
}

// recordWriter writes a stream or a file.
type recordWriter interface {
	Write(r arrow.Record) error
	Close() error
}

func (l *listing) arrow(ctx context.Context, w recordWriter) (*Result, error) {
	n, err := l.records(ctx, w.Write)
	if err != nil {
		return nil, err
	}
	return &Result{Rows: n, Arrays: len(l.arrays)}, w.Close()
}

// records makes a record of each batch.
func (l *listing) records(ctx context.Context, do func(arrow.Record) error) (int64, error) {
	paths, codecs, err := l.names()
	if err != nil {
		return 0, err
	}
	words := dictionaries{path: texts(paths), kind: textsOf(kinds), codecs: texts(codecs)}
	defer words.release()
	return l.batches(ctx, func(b *batch) error {
		r := words.record(b)
		defer r.Release()
		return do(r)
	})
}

// dictionaries are the words of the columns that are numbers in them.
type dictionaries struct{ path, kind, codecs arrow.Array }

func (d *dictionaries) release() {
	d.path.Release()
	d.kind.Release()
	d.codecs.Release()
}

func (d *dictionaries) record(b *batch) arrow.Record {
	columns := []arrow.Array{
		numbered(d.path, b.array), b.arrowCoords(), numbered(d.kind, b.kind), b.arrowSources(),
		nullable(b.offset, b.hasOffset), nullable(b.length, b.hasLength), numbered(d.codecs, b.array),
		b.arrowOrigins(),
	}
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	return arrays.NewRecord(schema, columns, int64(len(b.array)))
}

func texts(list [][]byte) arrow.Array {
	all := make([]string, len(list))
	for i, text := range list {
		all[i] = string(text)
	}
	return textsOf(all)
}

func textsOf(list []string) arrow.Array {
	b := arrays.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(list, nil)
	return b.NewArray()
}

// numbered is a column of words.
func numbered(words arrow.Array, index []int32) arrow.Array {
	b := arrays.NewInt32Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(index, nil)
	numbers := b.NewArray()
	defer numbers.Release()
	return arrays.NewDictionaryArray(word, numbers, words)
}

// nullable is a column of numbers and nulls.
func nullable(values []int64, present []uint8) arrow.Array {
	b := arrays.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(len(values))
	for i, v := range values {
		if present[i] == 0 {
			b.AppendNull()
		} else {
			b.Append(v)
		}
	}
	return b.NewArray()
}

func (b *batch) arrowCoords() arrow.Array {
	list := arrays.NewListBuilderWithField(memory.DefaultAllocator, schema.Field(1).Type.(*arrow.ListType).ElemField())
	defer list.Release()
	list.Reserve(len(b.lengths))
	numbers := list.ValueBuilder().(*arrays.Int64Builder)
	at := 0
	for _, n := range b.lengths {
		list.Append(true)
		numbers.AppendValues(b.coords[at:at+int(n)], nil)
		at += int(n)
	}
	return list.NewArray()
}

func (b *batch) arrowSources() arrow.Array {
	t := arrays.NewStringBuilder(memory.DefaultAllocator)
	defer t.Release()
	t.Reserve(len(b.source))
	for _, at := range b.source {
		if at < 0 {
			t.AppendNull()
		} else {
			t.BinaryBuilder.Append(b.sources[at])
		}
	}
	return t.NewArray()
}

func (b *batch) arrowOrigins() arrow.Array {
	list := arrays.NewListBuilderWithField(memory.DefaultAllocator, schema.Field(len(schema.Fields())-1).Type.(*arrow.ListType).ElemField())
	defer list.Release()
	list.Reserve(len(b.made))
	texts := list.ValueBuilder().(*arrays.StringBuilder)
	origins := b.origins
	for _, n := range b.made {
		list.Append(true)
		for _, at := range origins[:n] {
			texts.BinaryBuilder.Append(b.sources[at])
		}
		origins = origins[n:]
	}
	return list.NewArray()
}

package table

import (
	"context"
	"io"

	"varve/readers/parquet"
)

var columns = []parquet.Column{
	{Name: "array", Type: parquet.Text},
	{Name: "coords", Type: parquet.IntList},
	{Name: "kind", Type: parquet.Text},
	{Name: "source", Type: parquet.Text, Optional: true},
	{Name: "offset", Type: parquet.Int, Optional: true},
	{Name: "length", Type: parquet.Int, Optional: true},
	{Name: "codecs", Type: parquet.Text},
	{Name: "sources", Type: parquet.TextList},
}

// parquet writes one row group a batch.
func (l *listing) parquet(ctx context.Context, out io.Writer) (*Result, error) {
	paths, codecs, err := l.names()
	if err != nil {
		return nil, err
	}
	words := make([][]byte, len(kinds))
	for i, k := range kinds {
		words[i] = []byte(k)
	}
	w := parquet.NewWriter(out, columns, parquet.Options{Portable: true})
	n, err := l.batches(ctx, func(b *batch) error {
		return w.RowGroup(len(b.array), nil, []parquet.Values{
			{Bytes: paths, Index: b.array},
			{Ints: b.coords, Lengths: b.lengths},
			{Bytes: words, Index: b.kind},
			{Bytes: b.sources, Index: b.source},
			{Ints: b.offset, Present: b.hasOffset},
			{Ints: b.length, Present: b.hasLength},
			{Bytes: codecs, Index: b.array},
			{Bytes: b.sources, Index: b.origins, Lengths: b.made},
		})
	})
	if err != nil {
		return nil, err
	}
	return &Result{Rows: n, Arrays: len(l.arrays)}, w.Close()
}

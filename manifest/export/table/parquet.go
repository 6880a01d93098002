package table

import (
	"context"
	"io"

	"varve/manifest/export/internal/parquet"
)

var columns = []parquet.Column{
	{Name: "array", Kind: parquet.Text},
	{Name: "coords", Kind: parquet.Int64s},
	{Name: "kind", Kind: parquet.Text},
	{Name: "source", Kind: parquet.Text, Optional: true},
	{Name: "offset", Kind: parquet.Int64, Optional: true},
	{Name: "length", Kind: parquet.Int64, Optional: true},
	{Name: "codecs", Kind: parquet.Text},
	{Name: "sources", Kind: parquet.Texts},
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
	w, err := parquet.NewWriter(columns)
	if err != nil {
		return nil, err
	}
	w.Reset(out)
	n, err := l.batches(ctx, func(b *batch) error {
		return w.Group(len(b.array),
			parquet.Data{Values: paths, Index: b.array},
			parquet.Data{Ints: b.coords, Lengths: b.lengths},
			parquet.Data{Values: words, Index: b.kind},
			parquet.Data{Values: b.sources, Index: b.source},
			parquet.Data{Ints: b.offset, Index: b.hasOffset},
			parquet.Data{Ints: b.length, Index: b.hasLength},
			parquet.Data{Values: codecs, Index: b.array},
			parquet.Data{Values: b.sources, Index: b.origins, Lengths: b.made})
	})
	if err != nil {
		return nil, err
	}
	return &Result{Rows: n, Arrays: len(l.arrays)}, w.Close()
}

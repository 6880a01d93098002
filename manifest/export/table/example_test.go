package table_test

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"varve/manifest/export/table"
	"varve/manifest/store"
)

func ExampleRecords() {
	ctx := context.Background()
	s, err := store.Open(ctx, "sst.varve", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	rows := int64(0)
	err = table.Records(ctx, s, func(r arrow.Record) error {
		rows += r.NumRows()
		return nil
	})
	fmt.Println(rows, err)
}

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"varve/manifest/export/table"
	"varve/manifest/store"
)

// exportTableOptions are the flags of the export table command.
type exportTableOptions struct {
	allowOptions
	partOptions
	resultOptions
	table.Options
}

func newExportTableCommand() *cobra.Command {
	var opts exportTableOptions
	cmd := &cobra.Command{
		Use:   "table OUT DEST.parquet|DEST.arrow",
		Short: "Write a table with a row for each chunk",
		Long: `Write a table with a row for each chunk, for DuckDB, Polars or pandas. The columns are array,
coordinates, kind (verbatim, prefix, inline, re-encoded, missing), source, offset, length and
codecs. Re-encoded chunks list their sources. The table is Parquet, an Arrow file if DEST ends
in .arrow, or an Arrow stream if it ends in .arrows. DEST may be an object, such as
s3://bucket/chunks.parquet.`,
		Example: `  varve export table sst.varve chunks.parquet
  duckdb -c "select source, sum(length) from 'chunks.parquet' group by all"`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExportTable(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.allowOptions.addFlags(cmd)
	opts.resultOptions.addFlags(cmd.Flags())
	addSnapshot(cmd.Flags(), &opts.snapshot)
	cmd.Flags().BoolVar(&opts.Force, "force", false, "replace DEST")
	opts.partOptions.addFlags(cmd)
	return cmd
}

func runExportTable(ctx context.Context, opts *exportTableOptions, args []string, out, messages io.Writer) error {
	if err := checkFile(args[1]); err != nil {
		return err
	}
	s, err := store.Open(ctx, args[0], opts.storeOptions())
	if err != nil {
		return err
	}
	defer s.Close()
	if s, err = opts.cut(ctx, s); err != nil {
		return err
	}
	shown := newProgressOf(messages, opts.quiet, "exporting", "chunks")
	opts.Progress = shown.update
	result, err := table.Write(ctx, s, args[1], &opts.Options)
	shown.finish()
	if err != nil {
		return exportError(ctx, err)
	}
	doc := struct {
		Dest   string `json:"dest"`
		Arrays int    `json:"arrays"`
		Chunks int64  `json:"chunks"`
	}{args[1], result.Arrays, result.Rows}
	return opts.print(out, doc, fmt.Sprintf("%s: %s of %s\n", args[1], plural(result.Rows, "chunk", "chunks"), plural(int64(result.Arrays), "array", "arrays")))
}

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"varve/manifest/build"
	"varve/readers/source"
)

// scanOptions are the flags of the scan command.
type scanOptions struct {
	combineOptions
	out string
}

func newScanCommand() *cobra.Command {
	var opts scanOptions
	cmd := &cobra.Command{
		Use:   "scan SRC... -o PART.parquet",
		Short: "Only scan files; build and append take the result for them",
		Long: `Scan files and write what was found into one part: where every stored chunk is, headers and
coordinates. "varve build" and "varve append" take parts wherever they take files, so that
many machines can scan (docs/how-to/clusters.md). PART is a file or an object (s3://, gs://, az://), and is there when it
is whole; what stood there is replaced.

` + sourcesHelp,
		Example: `  varve scan archive/1998/ -o 1998.parquet
  varve build all.varve 19*.parquet 20*.parquet
  varve scan @1998.txt -o s3://bucket/parts/1998.parquet`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runScan(cmd, &opts, args)
		},
	}
	opts.missing = "fill"
	opts.addSourceFlags(cmd.Flags())
	cmd.Flags().StringSliceVar(&opts.drop, "drop", nil, "do without what is damaged and matches one of these `globs`, as build does with this flag; @NAME is an attribute of a group")
	cmd.Flags().StringVarP(&opts.out, "output", "o", "", "the `part` to write")
	return cmd
}

func runScan(cmd *cobra.Command, opts *scanOptions, names []string) error {
	if err := opts.takeConfig(cmd); err != nil {
		return err
	}
	if opts.out == "" {
		return usageError{errors.New("where to? name the part with -o PART.parquet")}
	}
	var err error
	switch {
	case source.IsObject(opts.out):
		err = checkNoObject(cmd.Context(), opts.out)
	case !source.IsURL(opts.out): // which is refused by what it is
		err = checkNoData(cmd.Context(), opts.out)
	}
	if err != nil {
		return err
	}
	how, err := opts.options(names, cmd.InOrStdin())
	if err != nil {
		return err
	}
	shown := newProgress(cmd.ErrOrStderr(), opts.quiet)
	how.Progress = shown.update
	outcome, err := build.Scan(cmd.Context(), opts.out, how)
	shown.finish()
	if err != nil {
		return interrupted(cmd.Context(), err)
	}
	if err := printer.Report(cmd.ErrOrStderr(), outcome.Report.Findings); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", opts.out, plural(outcome.Files, "source", "sources"))
	return err
}

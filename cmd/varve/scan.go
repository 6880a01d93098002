package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"varve/manifest/ingest"
	"varve/readers/source"
)

// scanOptions are the flags of the scan command.
type scanOptions struct {
	combineOptions
	out  string
	json bool
}

func newScanCommand() *cobra.Command {
	var opts scanOptions
	cmd := &cobra.Command{
		Use:   "scan SRC... -o PART.parquet",
		Short: "Scan files into a part that build and append accept, or merge parts",
		Long: `Scan files and write their headers, coordinates and chunk locations to one Parquet file, a scan
part. "varve build", "check" and "append" accept scan parts instead of files, so many machines
can scan an archive (docs/how-to/clusters.md). PART is a file or an object (s3://, gs://, az://).
It appears when it is complete, and replaces an existing part.

Parts among SRC are merged into PART, in the order of their names, and their files are not read again.
The result equals one scan of all files in this order. A file that two parts hold is an error.
With --skip-broken, PART records the files that it leaves out, and a manifest of it does too.

` + sourcesHelp,
		Example: `  varve scan archive/1998/ -o 1998.parquet
  varve build all.varve 19*.parquet 20*.parquet
  varve scan 19*.parquet 20*.parquet -o all.parquet
  varve scan @1998.txt -o s3://bucket/parts/1998.parquet`,
		Args: sourceArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runScan(cmd, &opts, args)
		},
	}
	opts.missing = "fill"
	opts.addSourceFlags(cmd.Flags())
	cmd.Flags().StringSliceVar(&opts.drop, "drop", nil, "ignore damaged variables that match these `globs`; @NAME is a group attribute")
	cmd.Flags().StringVarP(&opts.out, "output", "o", "", "write this scan `part`, a .parquet file")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the result as one JSON document")
	return cmd
}

func runScan(cmd *cobra.Command, opts *scanOptions, names []string) error {
	if err := opts.takeFiles(cmd); err != nil {
		return err
	}
	if opts.out == "" {
		return usageError{errors.New("want -o PART.parquet, the scan part to write")}
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
	outcome, err := ingest.Scan(cmd.Context(), opts.out, how)
	shown.finish()
	if err != nil {
		return interrupted(cmd.Context(), err)
	}
	if !opts.quiet {
		if err := printer.Report(cmd.ErrOrStderr(), outcome.Report.Findings); err != nil {
			return err
		}
	}
	doc := struct {
		Part     string       `json:"part"`
		Sources  int64        `json:"sources"`
		Findings findingsJSON `json:"findings"`
	}{opts.out, outcome.Files, outcome.Report.Findings}
	result := resultOptions{quiet: opts.quiet, json: opts.json}
	return result.print(cmd.OutOrStdout(), doc, fmt.Sprintf("%s: %s\n", opts.out, plural(outcome.Files, "source", "sources")))
}

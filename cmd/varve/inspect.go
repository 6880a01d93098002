package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"varve/readers/source"
)

// inspectOptions are the flags of the inspect command.
type inspectOptions struct {
	json     bool
	checksum bool
	values   bool
}

func newInspectCommand() *cobra.Command {
	var opts inspectOptions
	cmd := &cobra.Command{
		Use:   "inspect SRC...",
		Short: "Show what files hold, and how it is stored",
		Long: `Show what files hold as ncdump -h would, and how it is stored: chunks, filters, masks,
and whether varve can read it. Nothing is written.`,
		Example: `  varve inspect ocean.nc
  varve inspect --json --checksum --values *.h5`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInspect(cmd.Context(), opts, args, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print one JSON document a file")
	cmd.Flags().BoolVar(&opts.checksum, "checksum", false, "list every chunk and hash the list (with --json)")
	cmd.Flags().BoolVar(&opts.values, "values", false, "read every value and hash it (with --json)")
	return cmd
}

// runInspect prints each file in turn. A file that cannot be read does not keep the others
// from being shown.
func runInspect(ctx context.Context, opts inspectOptions, names []string, out io.Writer) error {
	if !opts.json && (opts.checksum || opts.values) {
		return usageError{errors.New("--checksum and --values need --json")}
	}
	var failed error
	for _, name := range names {
		var err error
		if opts.json {
			err = inspectJSON(ctx, opts, name, out)
		} else {
			err = inspectText(ctx, name, out)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// openSource opens a file and has it closed by the returned function.
func openSource(ctx context.Context, name string) (*source.Source, func() error, error) {
	src, err := source.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return src, src.Close, nil
}

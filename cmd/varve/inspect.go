package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"varve/readers"
	"varve/readers/source"
)

// inspectOptions are the flags of the inspect command.
type inspectOptions struct {
	json     bool
	checksum bool
	values   bool
	download bool
	allow    []string
}

func newInspectCommand() *cobra.Command {
	var opts inspectOptions
	cmd := &cobra.Command{
		Use:   "inspect SRC...",
		Short: "Show what files hold, and how it is stored",
		Long: `Show what files hold as ncdump -h would, and how it is stored: chunks, filters, masks,
and whether varve can read it. Nothing is written. With --json, sources of any format are
described; HDF5 and netCDF also as netcdf-c shows them.`,
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
	addDownload(cmd.Flags(), &opts.download)
	cmd.Flags().StringArrayVar(&opts.allow, "allow", nil, "files may name others below this `folder`, besides their own folder")
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
			err = inspectText(ctx, opts, name, out)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// partialError is the error of a source of which a part could not be read. The rest is shown.
type partialError struct{ err error }

func (p partialError) Error() string { return p.err.Error() }
func (p partialError) Unwrap() error { return p.err }

// damage keeps the first error that says that bytes are not what they should be. It marks a
// part of what is shown, and is what the command ends with.
type damage struct{ first error }

func (d *damage) note(err error) {
	if d.first == nil && errors.Is(err, readers.ErrCorrupt) {
		d.first = partialError{err}
	}
}

// openSource opens a file and has it closed by the returned function.
func openSource(ctx context.Context, opts inspectOptions, name string) (*source.Source, func() error, error) {
	opener := source.NewOpener(&source.Options{Download: opts.download})
	src, err := opener.Open(ctx, name)
	if err != nil {
		return nil, nil, errors.Join(err, opener.Close())
	}
	return src, func() error { return errors.Join(src.Close(), opener.Close()) }, nil
}

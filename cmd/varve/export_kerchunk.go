package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/export/kerchunk"
	"varve/manifest/report"
	"varve/manifest/store"
)

// exportKerchunkOptions are the flags of the export kerchunk command.
type exportKerchunkOptions struct {
	allowOptions
	kerchunk.Options
	append, quiet bool
}

func newExportKerchunkCommand() *cobra.Command {
	var opts exportKerchunkOptions
	cmd := &cobra.Command{
		Use:   "kerchunk OUT DEST.json|DEST.parquet",
		Short: "References for fsspec, zarr-python and xarray",
		Long: `Write references that fsspec, zarr-python and xarray read: a file of JSON, or a folder of
Parquet files for any other name. In object stores they are an object, or a prefix.

Chunks that no file holds as a client reads them go among the references if they are small,
else into one file of patches: DEST.json.patches, or DEST.parquet/.patches. References that are
not where the sources are have no such file, as readers have one kind of file system at a time.

Where all chunks of each array have one shape the documents are of Zarr format 2:
  xr.open_dataset("DEST.json", engine="kerchunk")
Otherwise they are of format 3, unless --regular gives every array a regular grid:
  zarr.config.set({"array.rectilinear_chunks": True})
  xr.open_dataset("reference://", engine="zarr", consolidated=False, storage_options={"fo": "DEST.json"})`,
		Example: `  varve export kerchunk sst.varve sst.parquet
  varve export kerchunk sst.varve sst.json --regular
  varve append sst.varve new.nc && varve export kerchunk sst.varve sst.parquet --append`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExportKerchunk(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.addFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&opts.Force, "force", false, "replace DEST")
	flags.BoolVar(&opts.append, "append", false, "carry on what was written to a local DEST from an earlier snapshot of OUT")
	flags.BoolVar(&opts.Regular, "regular", false, "give arrays with chunks of different lengths a regular grid")
	flags.BoolVar(&opts.NoPatch, "no-patch", false, "refuse what would need re-encoded chunks, and name the arrays")
	addNumber(flags, &opts.RecordSize, 1, "record-size", "chunks in a Parquet file (default 100000)")
	addNumber(flags, &opts.InlineBytes, 1, "inline", "re-encoded chunks up to so many `bytes` stand among the references (default 4096)")
	flags.StringVar(&opts.PatchURL, "patch-url", "", "`URL` where readers will find the file of patches, if not where it is written")
	addWorkers(flags, &opts.Workers, "how many chunks are re-encoded at once")
	flags.BoolVar(&opts.quiet, "quiet", false, "show no progress")
	return cmd
}

func runExportKerchunk(ctx context.Context, opts *exportKerchunkOptions, args []string, out, messages io.Writer) error {
	if err := checkFile(args[1]); err != nil {
		return err
	}
	s, err := store.Open(ctx, args[0], opts.storeOptions())
	if err != nil {
		return err
	}
	defer s.Close()
	if opts.append {
		repo, err := manifest.Open(ctx, args[0])
		if err != nil {
			return err
		}
		defer repo.Close()
		opts.Append = repo
	}
	shown := newProgressOf(messages, opts.quiet, "exporting", "chunks")
	opts.Progress = shown.update
	result, err := kerchunk.Write(ctx, s, args[1], &opts.Options)
	shown.finish()
	if err != nil {
		return exportError(ctx, err)
	}
	_, err = io.WriteString(out, describeKerchunk(args[1], result))
	return err
}

// exportError is what became of an export: a destination that is taken is wrong usage.
func exportError(ctx context.Context, err error) error {
	if errors.Is(err, manifest.ErrForeign) {
		return usageError{err}
	}
	if errors.Is(err, fs.ErrExist) {
		return usageError{fmt.Errorf("%w (--force)", err)}
	}
	return interrupted(ctx, err)
}

func describeKerchunk(dest string, r *kerchunk.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s as Zarr format %d, %s of sources, %s inline\n", dest, plural(int64(r.Arrays), "array", "arrays"), r.Format,
		plural(r.Refs, "range", "ranges"), plural(r.Inline, "chunk", "chunks"))
	if r.Patched > 0 {
		fmt.Fprintf(&b, "%s: %s, %s\n", r.Patches, plural(r.Patched, "chunk", "chunks"), report.Size(r.PatchBytes))
	}
	if r.Kept > 0 {
		fmt.Fprintf(&b, "kept as they were: %s\n", plural(r.Kept, "chunk", "chunks"))
	}
	if r.Because != "" {
		fmt.Fprintf(&b, "format 3, since %s\n", r.Because)
	}
	if len(r.Regular) > 0 {
		fmt.Fprintf(&b, "given a regular grid: %s\n", strings.Join(r.Regular, ", "))
	}
	return b.String()
}

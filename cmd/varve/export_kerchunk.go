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
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/store"
)

// exportKerchunkOptions are the flags of the export kerchunk command.
type exportKerchunkOptions struct {
	allowOptions
	partOptions
	resultOptions
	kerchunk.Options
	append, padded bool
}

func newExportKerchunkCommand() *cobra.Command {
	var opts exportKerchunkOptions
	cmd := &cobra.Command{
		Use:   "kerchunk OUT DEST.json|DEST.parquet",
		Short: "Write kerchunk references for fsspec and xarray",
		Long: `Write kerchunk references, which fsspec, zarr-python and xarray read. DEST is a JSON file if it
ends in .json, else a folder of Parquet files.

Small re-encoded chunks are stored in the references, larger ones in a file of their own:
DEST.json.patches or DEST.parquet/.patches. That file must be in the same kind of storage as
the sources, because fsspec opens references with one file system.

With --relative, the sources can be moved to another folder or store: readers open the references
with a fsspec file system of that place.

If all chunks of each array have the same shape, the references are Zarr 2:
  xr.open_dataset("DEST.json", engine="kerchunk")
Otherwise they are Zarr 3, unless --regular re-encodes arrays to a regular grid:
  zarr.config.set({"array.rectilinear_chunks": True})
  xr.open_dataset("reference://", engine="zarr", consolidated=False, storage_options={"fo": "DEST.json"})`,
		Example: `  varve export kerchunk sst.varve sst.parquet
  varve export kerchunk sst.varve sst.json --regular
  varve export kerchunk sst.varve sst.json --relative archive
  varve append sst.varve new.nc && varve export kerchunk sst.varve sst.parquet --append`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExportKerchunk(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.allowOptions.addFlags(cmd)
	flags := cmd.Flags()
	opts.resultOptions.addFlags(flags)
	addSnapshot(flags, &opts.snapshot)
	addPadded(flags, &opts.padded)
	flags.StringVar(&opts.GRIBCodec, "grib-codec", "", "refer to GRIB messages, for readers with this codec: `grib` (kerchunk with eccodes) or gribberish")
	flags.BoolVar(&opts.Force, "force", false, "replace DEST")
	flags.BoolVar(&opts.append, "append", false, "update a local DEST that was exported from an earlier snapshot of OUT, in its Zarr format")
	flags.BoolVar(&opts.Regular, "regular", false, "re-encode arrays with chunks of different lengths to a regular grid")
	flags.BoolVar(&opts.NoPatch, "no-patch", false, "fail if chunks would be re-encoded, and name the arrays")
	addNumber(flags, &opts.RecordSize, 1, "record-size", "put this `number` of chunks in each Parquet file (default 100000)")
	addNumber(flags, &opts.InlineBytes, 1, "inline", "store re-encoded chunks of up to this many `bytes` in the references (default 4096)")
	flags.StringVar(&opts.PatchURL, "patch-url", "", "refer to the .patches file by this `URL`, if readers find it elsewhere")
	flags.StringVar(&opts.Relative, "relative", "", "name sources relative to this `folder` or prefix, which readers then choose")
	addWorkers(flags, &opts.Workers, "re-encode this `number` of chunks at once")
	opts.partOptions.addFlags(cmd, "append", "padded")
	return cmd
}

func runExportKerchunk(ctx context.Context, opts *exportKerchunkOptions, args []string, out, messages io.Writer) error {
	if err := checkFile(args[1]); err != nil {
		return err
	}
	how := opts.storeOptions()
	how.Padded = opts.padded
	s, err := store.Open(ctx, args[0], how)
	if err != nil {
		return err
	}
	defer s.Close()
	if s, err = opts.cut(ctx, s); err != nil {
		return err
	}
	if opts.append {
		repository, err := repo.Open(ctx, args[0])
		if err != nil {
			return err
		}
		defer repository.Close()
		opts.Append = repository
	}
	shown := newProgressOf(messages, opts.quiet, "exporting", "chunks")
	opts.Progress = shown.update
	result, err := kerchunk.Write(ctx, s, args[1], &opts.Options)
	shown.finish()
	if err != nil {
		return exportError(ctx, err)
	}
	doc := struct {
		Dest         string        `json:"dest"`
		Format       int           `json:"format"`
		Because      string        `json:"because,omitempty"`
		Arrays       int           `json:"arrays"`
		Refs         int64         `json:"refs"`
		Inline       int64         `json:"inline"`
		Patched      int64         `json:"patched"`
		Patches      string        `json:"patches,omitempty"`
		PatchedBytes int64         `json:"patched_bytes"`
		Missing      int64         `json:"missing"`
		Kept         int64         `json:"kept"`
		Regular      items[string] `json:"regular"`
		GRIB         gribJSON      `json:"grib"`
	}{args[1], result.Format, result.Because, result.Arrays, result.Refs, result.Inline, result.Patched, result.Patches, result.PatchBytes,
		result.Missing, result.Kept, result.Regular, gribJSON{result.GRIBVerbatim, result.GRIBReencoded}}
	return opts.print(out, doc, describeKerchunk(args[1], result)+doc.GRIB.text(opts.GRIBCodec)+describePadded(s, opts.padded))
}

// gribJSON lists the arrays of GRIB messages to which an export refers, and the arrays that it re-encodes.
type gribJSON struct {
	Verbatim  items[string] `json:"verbatim"`
	Reencoded items[string] `json:"reencoded"`
}

func (g *gribJSON) text(codec string) string {
	if codec == "" || len(g.Reencoded) == 0 {
		return ""
	}
	return fmt.Sprintf("re-encoded, because %s would give other values: %s\n", codec, strings.Join(g.Reencoded, ", "))
}

// exportError returns the error of an export. A destination that already exists is a usage error.
func exportError(ctx context.Context, err error) error {
	if errors.Is(err, manifest.ErrForeign) {
		return usageError{err}
	}
	var exists *manifest.ExistsError
	switch {
	case errors.As(err, &exists) && exists.CanAppend:
		return usageError{fmt.Errorf("%w: --append adds to it, --force replaces it", err)}
	case errors.Is(err, fs.ErrExist):
		return usageError{fmt.Errorf("%w; --force replaces it", err)}
	}
	return interrupted(ctx, err)
}

func describeKerchunk(dest string, r *kerchunk.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s as Zarr %d, %s of sources, %s inline\n", dest, plural(int64(r.Arrays), "array", "arrays"), r.Format,
		plural(r.Refs, "range", "ranges"), plural(r.Inline, "chunk", "chunks"))
	if r.Patched > 0 {
		fmt.Fprintf(&b, "%s: %s, %s\n", r.Patches, plural(r.Patched, "chunk", "chunks"), report.Size(r.PatchBytes))
	}
	if r.Kept > 0 {
		fmt.Fprintf(&b, "unchanged: %s\n", plural(r.Kept, "chunk", "chunks"))
	}
	if r.Because != "" {
		fmt.Fprintf(&b, "written as Zarr 3, which engine=\"kerchunk\" cannot open, because %s. Open it with:\n%s", r.Because, openFormat3(dest))
		if r.Irregular {
			b.WriteString("or export again with --regular\n")
		}
	}
	if len(r.Regular) > 0 {
		fmt.Fprintf(&b, "re-encoded to a regular grid: %s\n", strings.Join(r.Regular, ", "))
	}
	return b.String()
}

// openFormat3 returns the Python lines that open references in Zarr format 3.
func openFormat3(dest string) string {
	return fmt.Sprintf(`  zarr.config.set({"array.rectilinear_chunks": True})
  xr.open_dataset("reference://", engine="zarr", consolidated=False, storage_options={"fo": %q})
`, dest)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/export/zarr"
	"varve/manifest/report"
	"varve/manifest/store"
)

// exportZarrOptions are the flags of the export zarr command.
type exportZarrOptions struct {
	allowOptions
	zarr.Options
	chunks, shards []string
	memory         string
	quiet          bool
}

func newExportZarrCommand() *cobra.Command {
	var opts exportZarrOptions
	cmd := &cobra.Command{
		Use:   "zarr OUT DEST",
		Short: "A real copy, in Zarr format 3 or 2",
		Long: `Copy all values into a Zarr hierarchy in a local folder, or below a prefix such as
s3://bucket/sst.zarr. Chunks that the copy declares as OUT does are copied as they are; the others
are read and encoded, in as much memory as allowed.

A copy that was stopped, by whatever, goes on where it was when the command is given again. At the
end every file is read back and compared; object stores compare what they are sent. With
--append a copy gets what OUT has more by now.`,
		Example: `  varve export zarr sst.varve sst.zarr
  varve export zarr sst.varve sst.zarr --chunks time=1,lat=90,lon=90 --shards time=30,lat=360,lon=720
  varve export zarr sst.varve sst.zarr --append
  varve export zarr sst.varve s3://bucket/sst.zarr`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExportZarr(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.chunks, "chunks", nil, "cut at these edges: `[ARRAY:]DIM=N[,DIM=N...]`, or DIM=N+N+N for all of them; ARRAY may be a glob")
	flags.StringArrayVar(&opts.shards, "shards", nil, "put chunks into shards of these `edges`, given as for --chunks")
	flags.IntVar(&opts.Format, "format", 3, "of Zarr: 3 or 2")
	flags.StringVar(&opts.memory, "memory", "512MiB", "use no more than about this `size`, in bytes or with KiB, MiB, GiB")
	addNumber(flags, &opts.Workers, 0, "workers", "copy so many parts at once (default: one a core, and into object stores at least 16)")
	flags.BoolVar(&opts.Append, "append", false, "add to the copy DEST what OUT has more by now")
	flags.BoolVar(&opts.Force, "force", false, "replace the copy DEST")
	flags.BoolVar(&opts.quiet, "quiet", false, "show no progress")
	return cmd
}

func runExportZarr(ctx context.Context, opts *exportZarrOptions, args []string, out, messages io.Writer) error {
	memory, err := parseSize(opts.memory)
	if err == nil {
		opts.Chunks, err = parseEdges(opts.chunks)
	}
	if err == nil {
		opts.Shards, err = parseEdges(opts.shards)
	}
	if err != nil {
		return usageError{err}
	}
	opts.Memory = memory / 2
	debug.SetMemoryLimit(memory) // what is garbage counts as well
	how := opts.storeOptions()
	how.CacheBytes, how.FlightBytes = memory/4, memory/8
	s, err := store.Open(ctx, args[0], how)
	if err != nil {
		return err
	}
	defer s.Close()
	if opts.Manifest, err = manifest.Open(ctx, args[0]); err != nil {
		return err
	}
	defer opts.Manifest.Close()
	shown := newProgressOf(messages, opts.quiet, "copying", "chunks")
	opts.Progress = shown.update
	r, err := zarr.Write(ctx, s, args[1], &opts.Options)
	shown.finish()
	var unknown *zarr.EdgesError
	if errors.As(err, &unknown) {
		return usageError{err}
	}
	if err != nil {
		return exportError(ctx, err)
	}
	within := ""
	if r.Inner > 0 {
		within = fmt.Sprintf(", %s as they were in shards", report.Thousands(r.Inner))
	}
	_, err = fmt.Fprintf(out, "%s: %s: %s as they were%s, %s encoded, %s of fill, %s\n", args[1], plural(int64(r.Arrays), "array", "arrays"),
		plural(r.Verbatim, "chunk", "chunks"), within, report.Thousands(r.Encoded), report.Thousands(r.Missing), report.Size(r.Bytes))
	return err
}

// parseSize reads a number of bytes.
func parseSize(text string) (int64, error) {
	number, unit := text, int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if cut, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = cut, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 1 || n > (1<<62)/unit {
		return 0, fmt.Errorf("%q is no size, such as 512MiB", text)
	}
	return n * unit, nil
}

// parseEdges reads [ARRAY:]DIM=N+N,DIM=N.
func parseEdges(list []string) ([]zarr.Edges, error) {
	var out []zarr.Edges
	for _, text := range list {
		array, dims, ok := strings.Cut(text, ":")
		if !ok {
			array, dims = "", text
		}
		for _, item := range strings.Split(dims, ",") {
			dim, sizes, ok := strings.Cut(item, "=")
			if !ok || dim == "" {
				return nil, fmt.Errorf("%q is not DIM=N", item)
			}
			e := zarr.Edges{Array: strings.TrimPrefix(array, "/"), Dim: dim}
			for _, size := range strings.Split(sizes, "+") {
				n, err := strconv.ParseInt(size, 10, 64)
				if err != nil || n < 1 {
					return nil, fmt.Errorf("%q: %q is no length of a chunk", text, size)
				}
				e.Sizes = append(e.Sizes, n)
			}
			out = append(out, e)
		}
	}
	return out, nil
}

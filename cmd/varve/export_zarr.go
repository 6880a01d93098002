package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/export/zarr"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/store"
)

// exportZarrOptions are the flags of the export zarr command.
type exportZarrOptions struct {
	allowOptions
	partOptions
	zarr.Options
	resultOptions
	chunks, shards []string
	codec, memory  string
	conventions    []string
	padded, dryRun bool
	layout         zarr.Layout
	slice          sliceFlag
}

func newExportZarrCommand() *cobra.Command {
	var opts exportZarrOptions
	cmd := &cobra.Command{
		Use:   "zarr OUT DEST",
		Short: "Copy all values into a Zarr store, format 3 or 2",
		Long: `Copy all values into a Zarr store in a local folder, or at a prefix such as s3://bucket/sst.zarr.
A chunk that has the same shape and codecs in the copy is copied without decoding. Other chunks
are read and encoded, within the memory of --memory. Where that would decode stored chunks more than
twice, the copy has two passes: the first decodes each stored chunk once and writes temporary blocks,
the second reads them. The plan is printed first; --dry-run prints it and stops. See
docs/how-to/rechunk.md.

--chunks auto:timeseries, auto:map or auto:cube choose lengths for chunks of up to 4 MiB: all times of
a small area, whole areas, or between both. The plan prints them.

--chunks DIM=N leaves the coordinate DIM itself as it is; name it to re-chunk it: --chunks DIM:DIM=N.

Some clients, such as GDAL and TensorStore, have only the codecs of Zarr's specification, not the
shuffle of netCDF-4. With --codec, all chunks have these codecs; chunks that already have them are
copied. The output names what such clients still cannot read, such as chunks of several lengths.

With --conventions, attributes describe where the cells of grids are, for GDAL and other GIS
programs: see docs/how-to/gis.md. The output says which grids cannot be described, and why.

With --slice, several machines copy one manifest: each writes a slice of the chunks, with the same
flags. A run without --slice then completes the copy.

If the command is interrupted, run it again: it continues. At the end, every file is read back
and compared; object stores verify the checksums of uploads. With --append, an existing copy
gets the chunks that are new in OUT.`,
		Example: `  varve export zarr sst.varve sst.zarr
  varve export zarr sst.varve sst.zarr --chunks time=1,lat=90,lon=90 --shards time=30,lat=360,lon=720
  varve export zarr sst.varve sst.zarr --codec blosc --chunks time=31
  varve export zarr sst.varve sst.zarr --chunks auto:timeseries
  varve export zarr sst.varve sst.zarr --chunks lat=25,lon=25,time=3650 --dry-run
  varve export zarr sst.varve sst.zarr --conventions spatial,proj
  varve export zarr sst.varve sst.zarr --append
  varve export zarr sst.varve s3://bucket/sst.zarr`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExportZarr(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.allowOptions.addFlags(cmd)
	flags := cmd.Flags()
	opts.resultOptions.addFlags(flags)
	addSnapshot(flags, &opts.snapshot)
	addPadded(flags, &opts.padded)
	flags.StringArrayVar(&opts.chunks, "chunks", nil, "declare chunks: `[ARRAY:]DIM=N[,DIM=N...]`, or DIM=N+N+N; ARRAY may be a glob")
	flags.StringArrayVar(&opts.shards, "shards", nil, "declare shards of these lengths: `[ARRAY:]DIM=N[,DIM=N...]`")
	flags.StringVar(&opts.codec, "codec", "keep", "use this `codec`, which every client has: zstd, gzip, blosc or none; keep: as in the files")
	addConventions(flags, &opts.conventions)
	flags.IntVar(&opts.Format, "format", 3, "write this Zarr `format`: 3 or 2")
	flags.StringVar(&opts.memory, "memory", "512MiB", "use about this `size` of memory: bytes, or with KiB, MiB, GiB")
	flags.StringVar(&opts.Temporary, "temp", "", "write temporary blocks to this `folder`, or to a prefix of an object store (default: TMPDIR)")
	flags.BoolVar(&opts.dryRun, "dry-run", false, "print the plan and write nothing")
	addNumber(flags, &opts.Workers, 0, "workers", "copy this `number` of regions at once (default: number of cores; object stores: 16)")
	addSlice(flags, &opts.slice, "copy only this slice of the chunks, for a run without --slice")
	flags.BoolVar(&opts.Append, "append", false, "add to the copy DEST the chunks that are new in OUT")
	flags.BoolVar(&opts.Rectilinear, "rectilinear", false, "let --append change regular chunk grids to rectilinear ones")
	flags.BoolVar(&opts.Force, "force", false, "replace the copy DEST")
	cmd.MarkFlagsMutuallyExclusive("slice", "append")
	cmd.MarkFlagsMutuallyExclusive("slice", "force")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "append")
	opts.partOptions.addFlags(cmd, "append", "padded")
	return cmd
}

// memoryShare is --memory divided by the memory for chunks. Fetched bytes, a cache and garbage take the rest.
const memoryShare = 2

func runExportZarr(ctx context.Context, opts *exportZarrOptions, args []string, out, messages io.Writer) error {
	memory, err := parseSize("--memory", opts.memory)
	layout, isLayout := "", false
	if len(opts.chunks) == 1 {
		layout, isLayout = strings.CutPrefix(opts.chunks[0], "auto:")
	}
	if err == nil && isLayout {
		err = choose(&opts.layout, "chunks", layout, layouts)
	} else if err == nil {
		opts.Chunks, err = parseEdges("--chunks", opts.chunks)
	}
	if err == nil {
		opts.Shards, err = parseEdges("--shards", opts.shards)
	}
	if err == nil {
		err = choose(&opts.Compressor, "codec", opts.codec, codecs)
	}
	if err == nil {
		opts.Conventions, err = parseConventions(opts.conventions)
	}
	if err == nil && opts.Format == 2 && opts.Conventions.NeedsFormat3() {
		err = errors.New("--conventions: spatial, proj and multiscales are of format 3; leave out --format 2, or choose --conventions gdal")
	}
	if err != nil {
		return usageError{err}
	}
	opts.Slice = opts.slice.Slice
	opts.Memory = memory / memoryShare
	debug.SetMemoryLimit(memory) // includes garbage that is not yet collected
	how := opts.storeOptions()
	how.Padded = opts.padded
	how.CacheBytes, how.FlightBytes = memory/4, memory/8
	s, err := store.Open(ctx, args[0], how)
	if err != nil {
		return err
	}
	defer s.Close()
	if s, err = opts.cut(ctx, s); err != nil {
		return err
	}
	if isLayout {
		if opts.Chunks, err = opts.layout.Edges(s); err != nil {
			return usageError{fmt.Errorf("--chunks auto:%s: %w; give lengths: --chunks DIM=N", layout, err)}
		}
	}
	if opts.dryRun {
		plan, err := zarr.PlanCopy(ctx, s, args[1], &opts.Options)
		if err != nil {
			return exportZarrError(ctx, err)
		}
		return opts.print(out, planOf(plan), opts.describePlan(plan, true))
	}
	if opts.Manifest, err = repo.Open(ctx, args[0]); err != nil {
		return err
	}
	defer opts.Manifest.Close()
	shown := newProgressOf(messages, opts.quiet, "copying", "chunks")
	opts.Progress = shown.update
	opts.Planned = func(p *zarr.Plan) {
		if !opts.quiet {
			io.WriteString(messages, opts.describePlan(p, false))
		}
	}
	r, err := zarr.Write(ctx, s, args[1], &opts.Options)
	shown.finish()
	if err != nil {
		return exportZarrError(ctx, err)
	}
	within := ""
	if !opts.slice.IsWhole() {
		within = fmt.Sprintf(" in slice %s", &opts.slice)
	}
	if r.Inner > 0 {
		within += fmt.Sprintf(", %s copied within shards", report.Thousands(r.Inner))
	}
	doc := struct {
		Dest      string `json:"dest"`
		Arrays    int    `json:"arrays"`
		Verbatim  int64  `json:"verbatim"`
		Inner     int64  `json:"inner"`
		Reencoded int64  `json:"reencoded"`
		Missing   int64  `json:"missing"`
		Resumed   int64  `json:"resumed"`
		Bytes     int64  `json:"bytes"`
		Appended  bool   `json:"appended"`
		// Extensions is the parts that clients with core features only cannot read.
		Extensions items[extension] `json:"extensions"`
		// Conventions is what --conventions describes.
		Conventions conventionsJSON `json:"conventions"`
	}{args[1], r.Arrays, r.Verbatim, r.Inner, r.Encoded, r.Missing, r.Resumed, r.Bytes, r.Appended, extensionsOf(r), conventionsOf(r.Description)}
	return opts.print(out, doc, fmt.Sprintf("%s: %s: %s copied verbatim%s, %s re-encoded, %s missing (fill value), %s\n%s", args[1], plural(int64(r.Arrays), "array", "arrays"),
		plural(r.Verbatim, "chunk", "chunks"), within, report.Thousands(r.Encoded), report.Thousands(r.Missing), report.Size(r.Bytes), opts.describe(r))+opts.describeConventions(r)+describePadded(s, opts.padded))
}

// exportZarrError returns the error of a copy with its kind and remedy.
func exportZarrError(ctx context.Context, err error) error {
	var unknown *zarr.EdgesError
	var tooLarge *zarr.MemoryError
	switch {
	case errors.As(err, &unknown):
		return usageError{err}
	case errors.As(err, &tooLarge):
		const unit = 1 << 20
		return manifest.WithRemedy(err, "memory", fmt.Sprintf("%dMiB", (tooLarge.Need*memoryShare+unit-1)/unit))
	}
	return exportError(ctx, err)
}

// extension is a part of a copied array that is outside Zarr's core specification.
type extension struct {
	Array string `json:"array"`
	Part  string `json:"part"`
	Name  string `json:"name"`
}

func extensionsOf(r *zarr.Result) (out []extension) {
	for _, e := range r.Extensions {
		out = append(out, extension(e))
	}
	return out
}

// describeConventions returns the lines about the conventions of a complete copy. A slice has none.
func (o *exportZarrOptions) describeConventions(r *zarr.Result) string {
	if !o.slice.IsWhole() {
		return ""
	}
	return describeConventions(o.Conventions, r.Description)
}

// describe lists what clients with core features only cannot read, if the copy is made for them.
func (o *exportZarrOptions) describe(r *zarr.Result) string {
	if o.Compressor == "" || len(r.Extensions) == 0 {
		return ""
	}
	const shown = 5
	arrays := map[string][]string{} // by extension
	for _, e := range r.Extensions {
		name := strings.ReplaceAll(e.Part, "_", " ") + " " + e.Name
		arrays[name] = append(arrays[name], e.Array)
	}
	var text strings.Builder
	text.WriteString("Clients without extensions of Zarr cannot read these arrays:\n")
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		list := arrays[name]
		fmt.Fprintf(&text, "  %s: %s", name, strings.Join(list[:min(shown, len(list))], ", "))
		if more := len(list) - shown; more > 0 {
			fmt.Fprintf(&text, " and %d more", more)
		}
		text.WriteString("\n")
		if strings.HasPrefix(name, "chunk grid") {
			text.WriteString("  Give their chunks one length: --chunks DIM=LENGTH\n")
		}
	}
	return text.String()
}

// parseSize reads the number of bytes of a flag.
func parseSize(flag, text string) (int64, error) {
	number, unit := text, int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if cut, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = cut, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 1 || n > (1<<62)/unit {
		return 0, fmt.Errorf("%s %s: want a size, such as 512MiB", flag, text)
	}
	return n * unit, nil
}

// parseEdges reads [ARRAY:]DIM=N+N,DIM=N.
func parseEdges(flag string, list []string) ([]zarr.Edges, error) {
	var out []zarr.Edges
	for _, text := range list {
		array, dims, ok := strings.Cut(text, ":")
		if !ok {
			array, dims = "", text
		}
		for _, item := range strings.Split(dims, ",") {
			dim, sizes, ok := strings.Cut(item, "=")
			if !ok || dim == "" {
				return nil, fmt.Errorf("%s %s: %q: want DIM=N", flag, text, item)
			}
			e := zarr.Edges{Array: strings.TrimPrefix(array, "/"), Dim: dim}
			for _, size := range strings.Split(sizes, "+") {
				n, err := strconv.ParseInt(size, 10, 64)
				if err != nil || n < 1 {
					return nil, fmt.Errorf("%s %s: %q: want a chunk length of at least 1", flag, text, size)
				}
				e.Sizes = append(e.Sizes, n)
			}
			out = append(out, e)
		}
	}
	return out, nil
}

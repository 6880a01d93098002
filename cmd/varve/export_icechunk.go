package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/export/icechunk"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/store"
)

// exportIcechunkOptions are the flags of the export icechunk command.
type exportIcechunkOptions struct {
	allowOptions
	partOptions
	resultOptions
	icechunk.Options
	padded     bool
	containers []string
	cuts       []string
}

func newExportIcechunkCommand() *cobra.Command {
	var opts exportIcechunkOptions
	cmd := &cobra.Command{
		Use:   "icechunk OUT DEST",
		Short: "Write or update an Icechunk repository",
		Long: `Write an Icechunk 2 repository to a local folder, or to a prefix such as s3://bucket/repo.
Verbatim chunks are virtual: references to ranges of the sources. A reader must authorize the
prefixes of the sources; the command prints the Python call. Re-encoded chunks are stored in
the repository. Reading a changed source is an error.

If DEST was exported from OUT before, new chunks are committed on top of its history. Tags and
other people's commits stay. An array that someone else changed is not written.`,
		Example: `  varve export icechunk sst.varve sst.icechunk
  varve export icechunk s3://bucket/sst.varve s3://bucket/sst.icechunk
  varve export icechunk sst.varve sst.icechunk --container archive=archive
  varve export icechunk sst.varve sst.icechunk --manifest-chunks time=12
  varve append sst.varve 2024/*.nc && varve export icechunk sst.varve sst.icechunk`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExportIcechunk(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.allowOptions.addFlags(cmd)
	flags := cmd.Flags()
	opts.resultOptions.addFlags(flags)
	addSnapshot(flags, &opts.snapshot)
	addPadded(flags, &opts.padded)
	flags.StringVar(&opts.GRIBCodec, "grib-codec", "", "refer to GRIB messages, for readers with this codec: `gribberish`")
	flags.BoolVar(&opts.Replace, "force", false, "replace the repository DEST and its history")
	flags.BoolVar(&opts.Rectilinear, "rectilinear", false, "let an update change regular chunk grids to rectilinear ones")
	flags.StringVar(&opts.Branch, "branch", "", "commit to this `branch` (default main)")
	flags.StringVarP(&opts.Message, "message", "m", "", "use this `text` as the commit message")
	addNumber(flags, &opts.ManifestRefs, 1, "manifest-refs", "put this `number` of references in each Icechunk manifest (default 65536)")
	flags.StringSliceVar(&opts.cuts, "manifest-chunks", nil, "begin another Icechunk manifest after this number of chunks along a dimension: `DIM=N`")
	addNumber(flags, &opts.InlineBytes, 1, "inline", "store re-encoded chunks of up to this many `bytes` in manifests (default 512)")
	addWorkers(flags, &opts.Workers, "write this `number` of manifests at once")
	flags.StringArrayVar(&opts.containers, "container", nil, "refer to the sources below a folder or prefix by a name, so that they can be moved: `NAME=PREFIX`")
	flags.StringVar(&opts.S3.Region, "s3-region", "", "tell readers this `region` of the buckets with the sources")
	flags.StringVar(&opts.S3.Endpoint, "s3-endpoint", "", "tell readers the `URL` of the server of these buckets, if it is not AWS")
	flags.BoolVar(&opts.S3.Anonymous, "s3-anonymous", false, "tell readers that the buckets need no credentials")
	flags.BoolVar(&opts.S3.AllowHTTP, "s3-http", false, "tell readers that the server has no TLS")
	flags.BoolVar(&opts.S3.PathStyle, "s3-path-style", false, "tell readers that bucket names are in the path, not in the host name")
	opts.partOptions.addFlags(cmd, "padded")
	return cmd
}

func runExportIcechunk(ctx context.Context, opts *exportIcechunkOptions, args []string, out, messages io.Writer) error {
	for _, text := range opts.containers {
		name, prefix, ok := strings.Cut(text, "=")
		if !ok || prefix == "" {
			return usageError{fmt.Errorf("--container %s: want NAME=PREFIX, such as archive=s3://bucket/archive/", text)}
		}
		opts.Containers = append(opts.Containers, icechunk.Container{Name: name, Prefix: prefix})
	}
	var err error
	if opts.ManifestChunks, err = parseLengths("manifest-chunks", opts.cuts); err != nil {
		return usageError{err}
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
	if opts.Manifest, err = repo.Open(ctx, args[0]); err != nil {
		return err
	}
	defer opts.Manifest.Close()
	shown := newProgressOf(messages, opts.quiet, "exporting", "chunks")
	opts.Progress = shown.update
	result, err := icechunk.Write(ctx, s, args[1], &opts.Options)
	shown.finish()
	if err != nil {
		return icechunkError(ctx, err)
	}
	doc := struct {
		Dest       string        `json:"dest"`
		Snapshot   string        `json:"snapshot"`
		Appended   bool          `json:"appended"`
		Unchanged  bool          `json:"unchanged"`
		Virtual    int64         `json:"virtual"`
		Native     int64         `json:"native"`
		Inline     int64         `json:"inline"`
		Unguarded  int64         `json:"unguarded"`
		Manifests  int           `json:"manifests"`
		Bytes      int64         `json:"bytes"`
		Containers items[string] `json:"containers"`
		GRIB       gribJSON      `json:"grib"`
	}{args[1], result.Snapshot, result.Appended, result.Unchanged, result.Virtual, result.Native, result.Inline, result.Unguarded,
		result.Manifests, result.Bytes, result.Containers, gribJSON{result.GRIBVerbatim, result.GRIBReencoded}}
	return opts.print(out, doc, describeIcechunk(args[1], result)+doc.GRIB.text(opts.GRIBCodec)+describePadded(s, opts.padded))
}

// icechunkError marks commits by other processes as conflicts.
func icechunkError(ctx context.Context, err error) error {
	var conflict *icechunk.ConflictError
	if errors.As(err, &conflict) {
		return fmt.Errorf("%w: %w", repo.ErrConflict, err)
	}
	return exportError(ctx, err)
}

func describeIcechunk(dest string, r *icechunk.Result) string {
	var b strings.Builder
	if r.Unchanged {
		return fmt.Sprintf("%s: up to date, snapshot %s\n", dest, r.Snapshot)
	}
	fmt.Fprintf(&b, "%s: snapshot %s: %s of sources, %s in the repository, %s inline, in %s of %s\n", dest, r.Snapshot,
		plural(r.Virtual, "range", "ranges"), plural(r.Native, "chunk", "chunks"), plural(r.Inline, "chunk", "chunks"),
		plural(int64(r.Manifests), "manifest", "manifests"), report.Size(r.Bytes))
	if r.Unguarded > 0 {
		fmt.Fprintf(&b, "%s of sources without a modification time: readers cannot notice that these change\n", plural(r.Unguarded, "range", "ranges"))
	}
	if len(r.Containers) > 0 {
		b.WriteString("Open it in Python with:\n" + openIcechunk(dest, r.Containers))
	}
	return b.String()
}

// openIcechunk returns the Python lines that open a repository and authorize the prefixes that its
// virtual chunks are in. None means the credentials of the environment.
func openIcechunk(dest string, prefixes []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  import icechunk, xarray as xr\n  storage = %s\n  access = {\n", icechunkStorage(dest))
	for _, prefix := range prefixes {
		fmt.Fprintf(&b, "      %q: %s,\n", prefix, icechunkCredentials(prefix))
	}
	b.WriteString(`  }
  repo = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access)
  xr.open_zarr(repo.readonly_session("main").store, consolidated=False)
`)
	return b.String()
}

func icechunkStorage(dest string) string {
	scheme, rest, ok := strings.Cut(dest, "://")
	bucket, prefix, _ := strings.Cut(rest, "/")
	switch {
	case !ok:
		return fmt.Sprintf("icechunk.local_filesystem_storage(%q)", dest)
	case scheme == "s3":
		return fmt.Sprintf("icechunk.s3_storage(bucket=%q, prefix=%q, from_env=True)", bucket, prefix)
	case scheme == "gs":
		return fmt.Sprintf("icechunk.gcs_storage(bucket=%q, prefix=%q, from_env=True)", bucket, prefix)
	}
	return fmt.Sprintf("icechunk.azure_storage(account=ACCOUNT, container=%q, prefix=%q, from_env=True)", bucket, prefix)
}

func icechunkCredentials(prefix string) string {
	switch scheme, _, _ := strings.Cut(prefix, "://"); scheme {
	case "s3":
		return "icechunk.s3_credentials(from_env=True)"
	case "gs", "gcs":
		return "icechunk.gcs_credentials(from_env=True)"
	case "az", "azure", "abfs":
		return "icechunk.azure_credentials(from_env=True)"
	}
	return "None"
}

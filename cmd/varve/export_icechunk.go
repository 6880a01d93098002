package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/export/icechunk"
	"varve/manifest/report"
	"varve/manifest/store"
)

// exportIcechunkOptions are the flags of the export icechunk command.
type exportIcechunkOptions struct {
	allowOptions
	icechunk.Options
	quiet bool
}

func newExportIcechunkCommand() *cobra.Command {
	var opts exportIcechunkOptions
	cmd := &cobra.Command{
		Use:   "icechunk OUT DEST",
		Short: "An Icechunk repository of virtual chunks",
		Long: `Write an Icechunk 2 repository in a local folder, or below a prefix such as s3://bucket/repo.
Chunks that are re-encoded are stored in it, all others are virtual: ranges of the sources, which a
reader has to allow by the prefixes that are printed. A source that changes is an error for
whoever reads it.

Where DEST is a repository that was exported from OUT before, what is new is committed on top
of it: history, tags and what others committed stay. An array that somebody else changed is
not written to.`,
		Example: `  varve export icechunk sst.varve sst.icechunk
  varve export icechunk s3://bucket/sst.varve s3://bucket/sst.icechunk
  varve append sst.varve 2024/*.nc && varve export icechunk sst.varve sst.icechunk`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExportIcechunk(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.addFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&opts.Replace, "force", false, "replace the repository DEST and its history")
	flags.StringVar(&opts.Branch, "branch", "", "commit to this `branch` (default main)")
	flags.StringVarP(&opts.Message, "message", "m", "", "`text` of the commit")
	addNumber(flags, &opts.ManifestRefs, 1, "manifest-refs", "references in a manifest (default 65536)")
	addNumber(flags, &opts.InlineBytes, 1, "inline", "re-encoded chunks up to so many `bytes` stand in manifests (default 512)")
	addWorkers(flags, &opts.Workers, "manifests that are written at once")
	flags.StringVar(&opts.S3.Region, "s3-region", "", "`region` of the buckets that sources are in, for readers")
	flags.StringVar(&opts.S3.Endpoint, "s3-endpoint", "", "`URL` of the server that has these buckets, where it is not Amazon's")
	flags.BoolVar(&opts.S3.Anonymous, "s3-anonymous", false, "readers need no credentials for the buckets")
	flags.BoolVar(&opts.S3.AllowHTTP, "s3-http", false, "the server has no TLS")
	flags.BoolVar(&opts.S3.PathStyle, "s3-path-style", false, "buckets are in the path and not in the name of the server")
	flags.BoolVar(&opts.quiet, "quiet", false, "show no progress")
	return cmd
}

func runExportIcechunk(ctx context.Context, opts *exportIcechunkOptions, args []string, out, messages io.Writer) error {
	s, err := store.Open(ctx, args[0], opts.storeOptions())
	if err != nil {
		return err
	}
	defer s.Close()
	if opts.Manifest, err = manifest.Open(ctx, args[0]); err != nil {
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
	_, err = io.WriteString(out, describeIcechunk(args[1], result))
	return err
}

// icechunkError tells what others did to the repository from what went wrong.
func icechunkError(ctx context.Context, err error) error {
	var conflict *icechunk.ConflictError
	if errors.As(err, &conflict) {
		return fmt.Errorf("%w: %w", manifest.ErrConflict, err)
	}
	return exportError(ctx, err)
}

func describeIcechunk(dest string, r *icechunk.Result) string {
	var b strings.Builder
	if r.Unchanged {
		return fmt.Sprintf("%s: holds all of it already, snapshot %s\n", dest, r.Snapshot)
	}
	fmt.Fprintf(&b, "%s: snapshot %s: %s of sources, %s in the repository, %s inline, in %s of %s\n", dest, r.Snapshot,
		plural(r.Virtual, "range", "ranges"), plural(r.Native, "chunk", "chunks"), plural(r.Inline, "chunk", "chunks"),
		plural(int64(r.Manifests), "manifest", "manifests"), report.Size(r.Bytes))
	if r.Unguarded > 0 {
		fmt.Fprintf(&b, "%s of sources without a date: a change of those would go unnoticed\n", plural(r.Unguarded, "range", "ranges"))
	}
	for _, prefix := range r.Containers {
		fmt.Fprintf(&b, "readers allow %s\n", prefix)
	}
	return b.String()
}

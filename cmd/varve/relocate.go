package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/relocate"
	"varve/readers/source"
)

// relocateOptions are the flags of the relocate command.
type relocateOptions struct {
	allowOptions
	deep, dryRun bool
	resultOptions
	valueBytes int64
	workers    int
}

func newRelocateCommand() *cobra.Command {
	var opts relocateOptions
	cmd := &cobra.Command{
		Use:   "relocate OUT FROM TO [FROM TO]...",
		Short: "Record the new location of moved source files",
		Long: `Replace the location FROM by TO in the list of sources of the manifest OUT. Both are a folder, a
URL, an object-store prefix or one file; globs are not expanded. FROM matches whole path
components. If several FROM match, the longest counts. Nothing is copied or scanned again.

Each file at its new location must have the same size, format, variables, attributes and
coordinates. Files that other files refer to, such as the chunks of Zarr stores, must have the
same size. With --deep, all bytes are compared with the old location, which must still exist. If
one file is missing or different, nothing changes.`,
		Example: `  varve relocate sst.varve /scratch/sst s3://bucket/sst
  varve relocate sst.varve http://old.host/data http://new.host/data --dry-run
  varve relocate sst.varve archive/2023 /tape/2023 archive/2024 /disk/2024`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 3 || len(args)%2 == 0 {
				return errors.New("want pairs of FROM and TO")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRelocate(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.allowOptions.addFlags(cmd)
	flags := cmd.Flags()
	opts.resultOptions.addFlags(flags)
	flags.BoolVar(&opts.deep, "deep", false, "compare all bytes with the files at the old location")
	flags.BoolVar(&opts.dryRun, "dry-run", false, "check all files and change nothing")
	opts.valueBytes = manifest.DefaultValueBytes
	addNumber(flags, &opts.valueBytes, 1, "value-bytes", "compare coordinates of up to this many `bytes`; use the value of build")
	addReaders(flags, &opts.workers, "read this `number` of files at once")
	return cmd
}

func runRelocate(ctx context.Context, opts *relocateOptions, args []string, out, messages io.Writer) error {
	name, pairs := args[0], args[1:]
	opener := source.NewOpener(&source.Options{Download: opts.download})
	defer opener.Close()
	opener.AllowPrivate(opts.storeOptions().Allow...)
	how := &relocate.Options{
		Deep: opts.deep, DryRun: opts.dryRun, Allow: opts.storeOptions().Allow, Workers: opts.workers, ValueBytes: opts.valueBytes,
		Opener: opener, Writer: "varve " + versionName(),
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		how.Moves = append(how.Moves, relocate.Move{From: pairs[i], To: pairs[i+1]})
	}
	shown := newProgressOf(messages, opts.quiet, "checking", "sources")
	how.Progress = shown.update
	result, err := relocate.Relocate(ctx, name, how)
	shown.finish()
	if err != nil {
		return interrupted(ctx, err)
	}
	if result.Reordered && !opts.quiet {
		fmt.Fprintln(messages, "the file names now sort in another order: arrays whose files are ordered by name change order at the next append")
	}
	if result.Unsealed != nil && !opts.quiet {
		fmt.Fprintf(messages, "the manifest is not sealed, so reading it needs --allow: %v\n", result.Unsealed)
	}
	doc := struct {
		Snapshot  *string `json:"snapshot"` // null in a dry run
		Sources   int64   `json:"sources"`
		Described int64   `json:"described"`
		Sized     int64   `json:"sized"`
		Compared  int64   `json:"compared"`
		Reordered bool    `json:"reordered"`
		Sealed    bool    `json:"sealed"`
	}{nil, result.Sources, result.Described, result.Sized, result.Compared, result.Reordered, result.Unsealed == nil}
	if result.Snapshot != nil {
		doc.Snapshot = &result.Snapshot.ID
	}
	return opts.print(out, doc, relocatedText(name, result))
}

func relocatedText(name string, r *relocate.Result) string {
	var b strings.Builder
	if r.Snapshot == nil {
		fmt.Fprintf(&b, "%s: %s could be relocated\n", name, plural(r.Sources, "source", "sources"))
	} else {
		fmt.Fprintf(&b, "%s: %s relocated, snapshot %s\n", name, plural(r.Sources, "source", "sources"), r.Snapshot.ID)
	}
	for _, shown := range []struct {
		n    int64
		says string
	}{
		{r.Described, "checked: size, metadata and coordinates"},
		{r.Sized, "checked: size only (files that other files refer to)"},
		{r.Compared, "checked: all bytes, against the old location"},
	} {
		if shown.n > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", shown.says, plural(shown.n, "source", "sources"))
		}
	}
	return b.String()
}

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
	valueBytes   int64
	workers      int
	quiet        bool
}

func newRelocateCommand() *cobra.Command {
	var opts relocateOptions
	cmd := &cobra.Command{
		Use:   "relocate OUT FROM TO [FROM TO]...",
		Short: "Say where the files of a virtual dataset lie now",
		Long: `Have the manifest OUT find its sources in another place: those that lie at or below FROM are at
or below TO from now on. Both are a folder, a URL, a prefix in an object store, or one file, and
are taken as they are: a * is a * and a % is a %. FROM matches whole names between slashes; of
several the longest counts. It need not be there any more. Nothing is copied, and what is
written is the list of sources, in a new snapshot.

Each file in its new place must have the size, and be of the format, with the variables, the
attributes and the coordinates that were scanned; files that only others name, such as the
chunks of Zarr stores, must have the size. With --deep all bytes are compared instead with those
in the old place, which has to be there. If one file is not there, or is another, nothing changes.`,
		Example: `  varve relocate sst.varve /scratch/sst s3://bucket/sst
  varve relocate sst.varve http://old.host/data http://new.host/data --dry-run
  varve relocate sst.varve archive/2023 /tape/2023 archive/2024 /disk/2024`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 3 || len(args)%2 == 0 {
				return errors.New("want pairs")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRelocate(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.addFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&opts.deep, "deep", false, "compare all bytes of the files with those in the old place")
	flags.BoolVar(&opts.dryRun, "dry-run", false, "look at all files and change nothing")
	opts.valueBytes = manifest.DefaultValueBytes
	addNumber(flags, &opts.valueBytes, 1, "value-bytes", "read up to so many `bytes` of a file's coordinate, or of a variable that only the manifest can hold, as in build")
	addWorkers(flags, &opts.workers, "files that are read at once")
	flags.BoolVar(&opts.quiet, "quiet", false, "show no progress")
	return cmd
}

func runRelocate(ctx context.Context, opts *relocateOptions, args []string, out, messages io.Writer) error {
	name, pairs := args[0], args[1:]
	opener := source.NewOpener(&source.Options{Download: opts.download})
	defer opener.Close()
	how := &relocate.Options{
		Deep: opts.deep, DryRun: opts.dryRun, Allow: opts.storeOptions().Allow, Workers: opts.workers, ValueBytes: opts.valueBytes,
		Opener: opener, Writer: "varve " + versionName(),
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		how.Moves = append(how.Moves, relocate.Move{From: pairs[i], To: pairs[i+1]})
	}
	shown := newProgressOf(messages, opts.quiet, "looking at", "sources")
	how.Progress = shown.update
	result, err := relocate.Relocate(ctx, name, how)
	shown.finish()
	if err != nil {
		return interrupted(ctx, err)
	}
	if result.Reordered {
		fmt.Fprintln(messages, "the names of the files are in another order now: where files follow one another by their names, an append brings them in the new one")
	}
	if result.Unsealed != nil {
		fmt.Fprintf(messages, "the manifest is not sealed, so that reading it takes --allow: %v\n", result.Unsealed)
	}
	_, err = io.WriteString(out, relocatedText(name, result))
	return err
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
		{r.Described, "the size, the metadata and the coordinates that were scanned"},
		{r.Sized, "the size that was scanned, and nothing else to be known by"},
		{r.Compared, "the bytes of the old place"},
	} {
		if shown.n > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", shown.says, plural(shown.n, "source", "sources"))
		}
	}
	return b.String()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/compact"
	"varve/manifest/patches"
	"varve/manifest/report"
)

// compactOptions are the flags of the compact command.
type compactOptions struct {
	allowOptions
	chunks  []string
	memory  string
	workers int
	quiet   bool
}

func newCompactCommand() *cobra.Command {
	var opts compactOptions
	cmd := &cobra.Command{
		Use:   "compact OUT",
		Short: "Keep re-encoded chunks, and merge short ones",
		Long: `Re-encode the chunks of the manifest OUT that no source holds as clients read them, once, and
keep them in files below OUT/patches. They are served as ranges of these files from then on,
and exports point at them. The sources and all values stay as they are.

With --chunks, chunks that are shorter along a dimension are merged with their neighbours up
to that length, such as the single steps of many appends; what is merged is kept likewise.

A run that was interrupted, by whatever, goes on where it was when the command is given again.`,
		Example: `  varve compact sst.varve
  varve compact sst.varve --chunks time=120`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompact(cmd.Context(), &opts, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&opts.chunks, "chunks", nil, "merge chunks along a dimension up to a length: `DIM=N`")
	flags.StringVar(&opts.memory, "memory", "512MiB", "use no more than about this `size`, in bytes or with KiB, MiB, GiB")
	addWorkers(flags, &opts.workers, "chunks that are re-encoded at once")
	flags.BoolVar(&opts.quiet, "quiet", false, "show no progress")
	return cmd
}

func runCompact(ctx context.Context, opts *compactOptions, name string, out, messages io.Writer) error {
	how := &compact.Options{Store: *opts.storeOptions(), Workers: opts.workers, Writer: "varve " + versionName()}
	var err error
	if how.Memory, err = parseSize(opts.memory); err == nil {
		how.Chunks, err = parseLengths(opts.chunks)
	}
	if err != nil {
		return usageError{err}
	}
	shown := newProgressOf(messages, opts.quiet, "re-encoding", "chunks")
	how.Progress = shown.update
	result, err := compact.Compact(ctx, name, how)
	shown.finish()
	var unknown *patches.DimensionError
	if errors.As(err, &unknown) {
		return usageError{err}
	}
	if err != nil {
		return interrupted(ctx, err)
	}
	_, err = io.WriteString(out, describeCompact(name, result))
	return err
}

func describeCompact(name string, r *compact.Result) string {
	if r.Snapshot == nil {
		return name + ": no chunk has to be re-encoded\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s re-encoded and kept, %s\n", name, plural(r.Chunks, "chunk", "chunks"), report.Size(r.Bytes))
	if r.Adopted > 0 {
		fmt.Fprintf(&b, "from a run that was interrupted: %s\n", plural(r.Adopted, "chunk", "chunks"))
	}
	if len(r.Merged) > 0 {
		fmt.Fprintf(&b, "merged: chunks of %s\n", strings.Join(r.Merged, ", "))
	}
	fmt.Fprintf(&b, "snapshot %s\n", r.Snapshot.ID)
	return b.String()
}

// parseLengths reads DIM=N.
func parseLengths(list []string) (map[string]int64, error) {
	lengths := map[string]int64{}
	for _, text := range list {
		dim, number, ok := strings.Cut(text, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || dim == "" || err != nil || n < 1 {
			return nil, fmt.Errorf("--chunks %s: want DIM=N, such as time=120", text)
		}
		lengths[dim] = n
	}
	return lengths, nil
}

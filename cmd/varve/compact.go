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
	"varve/manifest/report"
)

// compactOptions are the flags of the compact command.
type compactOptions struct {
	allowOptions
	resultOptions
	chunks  []string
	memory  string
	workers int
	slice   sliceFlag
}

func newCompactCommand() *cobra.Command {
	var opts compactOptions
	cmd := &cobra.Command{
		Use:   "compact OUT",
		Short: "Store re-encoded chunks, and merge short ones",
		Long: `Re-encode each chunk of the manifest OUT that differs from its source, and store it below
OUT/patches. Reading such a chunk is then as fast as reading a verbatim one, and exports
refer to it. Sources and values do not change.

With --chunks, chunks that are shorter along a dimension are merged up to that length, for
example the single steps of daily appends. Merged chunks are stored as well.

If the command is interrupted, run it again: it continues.

With --slice, several machines re-encode one manifest: each keeps the chunks of a slice. A run
without --slice then publishes them all.`,
		Example: `  varve compact sst.varve
  varve compact sst.varve --chunks time=120`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompact(cmd.Context(), &opts, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.allowOptions.addFlags(cmd)
	opts.resultOptions.addFlags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringSliceVar(&opts.chunks, "chunks", nil, "merge chunks along a dimension up to this length: `DIM=N`")
	flags.StringVar(&opts.memory, "memory", "512MiB", "use about this `size` of memory: bytes, or with KiB, MiB, GiB")
	addSlice(flags, &opts.slice, "re-encode only this slice of the chunks, for a run without --slice")
	addWorkers(flags, &opts.workers, "re-encode this `number` of chunks at once")
	return cmd
}

func runCompact(ctx context.Context, opts *compactOptions, name string, out, messages io.Writer) error {
	how := &compact.Options{Store: *opts.storeOptions(), Workers: opts.workers, Writer: "varve " + versionName(), Slice: opts.slice.Slice}
	var err error
	if how.Memory, err = parseSize("--memory", opts.memory); err == nil {
		how.Chunks, err = parseLengths("chunks", opts.chunks)
	}
	if err != nil {
		return usageError{err}
	}
	shown := newProgressOf(messages, opts.quiet, "re-encoding", "chunks")
	how.Progress = shown.update
	result, err := compact.Compact(ctx, name, how)
	shown.finish()
	var unknown *compact.DimensionError
	if errors.As(err, &unknown) {
		return usageError{err}
	}
	if err != nil {
		return interrupted(ctx, err)
	}
	doc := struct {
		Snapshot *string       `json:"snapshot"` // null if there was nothing to do
		Chunks   int64         `json:"chunks"`
		Bytes    int64         `json:"bytes"`
		Adopted  int64         `json:"adopted"`
		Merged   items[string] `json:"merged"`
	}{nil, result.Chunks, result.Bytes, result.Adopted, result.Merged}
	if result.Snapshot != nil {
		doc.Snapshot = &result.Snapshot.ID
	}
	text := describeCompact(name, result)
	if !opts.slice.IsWhole() {
		text = fmt.Sprintf("%s: slice %s has %s, %s\n", name, &opts.slice, plural(result.Chunks+result.Adopted, "chunk", "chunks"), report.Size(result.Bytes))
	}
	return opts.print(out, doc, text)
}

func describeCompact(name string, r *compact.Result) string {
	if r.Snapshot == nil {
		return name + ": no chunk has to be re-encoded\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s re-encoded and stored, %s\n", name, plural(r.Chunks, "chunk", "chunks"), report.Size(r.Bytes))
	if r.Adopted > 0 {
		fmt.Fprintf(&b, "from an interrupted run: %s\n", plural(r.Adopted, "chunk", "chunks"))
	}
	if len(r.Merged) > 0 {
		fmt.Fprintf(&b, "merged: chunks of %s\n", strings.Join(r.Merged, ", "))
	}
	fmt.Fprintf(&b, "snapshot %s\n", r.Snapshot.ID)
	return b.String()
}

// parseLengths reads the values of a flag, each DIM=N.
func parseLengths(flag string, list []string) (map[string]int64, error) {
	lengths := map[string]int64{}
	for _, text := range list {
		dim, number, ok := strings.Cut(text, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || dim == "" || err != nil || n < 1 {
			return nil, fmt.Errorf("--%s %s: want DIM=N, such as time=120", flag, text)
		}
		lengths[dim] = n
	}
	return lengths, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"varve/codec"
	"varve/manifest/points"
	"varve/manifest/report"
	"varve/manifest/store"
)

// indexOptions are the flags of the index command.
type indexOptions struct {
	allowOptions
	resultOptions
	every   string
	again   bool
	remove  bool
	memory  string
	workers int
}

func newIndexCommand() *cobra.Command {
	var opts indexOptions
	cmd := &cobra.Command{
		Use:   "index OUT [ARRAY…]",
		Short: "Make large compressed chunks readable in parts",
		Long: `Store access points of large compressed chunks in the manifest OUT: places at which
decompression can start. A small part of such a chunk is then read without decompressing all
of the chunk. Sources, arrays and values do not change.

Each chunk is read and decoded once, and all its checksums are verified. Chunks that have
access points already are left out. Chunks with less than four times --every bytes of elements
get none: they are decoded as a whole. "varve append", "sync" and "refresh" make the access points
of new chunks, if OUT has any.

Without ARRAY, all arrays with such chunks are indexed. Which codecs allow access points is in
docs/explanation/random-access.md. If the command is interrupted, run it again: it continues.`,
		Example: `  varve index sst.varve
  varve index sst.varve --every 256KiB
  varve index sst.varve --remove`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runIndex(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.allowOptions.addFlags(cmd)
	opts.resultOptions.addFlags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&opts.every, "every", "1MiB", "store an access point about every `size` of decoded bytes, at least 64KiB")
	flags.BoolVar(&opts.again, "again", false, "replace the access points that chunks have already")
	flags.BoolVar(&opts.remove, "remove", false, "remove all access points")
	flags.StringVar(&opts.memory, "memory", "512MiB", "use about this `size` of memory: bytes, or with KiB, MiB, GiB")
	addWorkers(flags, &opts.workers, "decode this `number` of chunks at once")
	return cmd
}

func runIndex(ctx context.Context, opts *indexOptions, args []string, out, messages io.Writer) error {
	writer := "varve " + versionName()
	if opts.remove {
		if len(args) > 1 || opts.again {
			return usageError{errors.New("--remove removes the access points of all arrays; leave out ARRAY and --again")}
		}
		return removePoints(ctx, opts, args[0], writer, out)
	}
	how := &points.Options{Arrays: args[1:], Again: opts.again, Store: *opts.storeOptions(), Workers: opts.workers, Writer: writer}
	if len(how.Arrays) == 0 {
		how.Arrays = nil
	}
	var err error
	if how.Every, err = parseSize("--every", opts.every); err == nil {
		how.Memory, err = parseSize("--memory", opts.memory)
	}
	if err == nil && how.Every < codec.MinSpan {
		err = fmt.Errorf("--every %s: must be at least %s", opts.every, report.Size(codec.MinSpan))
	}
	if err != nil {
		return usageError{err}
	}
	shown := newProgressOf(messages, opts.quiet, "indexing", "chunks")
	how.Progress = shown.update
	result, err := points.Make(ctx, args[0], how)
	shown.finish()
	if errors.Is(err, store.ErrNoArray) {
		return usageError{err}
	}
	if err != nil {
		return interrupted(ctx, err)
	}
	return opts.print(out, indexDocument(result), describeIndex(args[0], result))
}

// indexResult is the result of the command as JSON.
type indexResult struct {
	Snapshot *string           `json:"snapshot"` // null if there was nothing to do
	Arrays   items[indexArray] `json:"arrays"`
	Chunks   int64             `json:"chunks"`
	Decoded  int64             `json:"decoded"` // bytes of the elements of these chunks
	Stored   int64             `json:"stored"`  // their stored bytes
	Points   int64             `json:"points"`
	Bytes    int64             `json:"bytes"` // of all tables of access points
	Whole    items[string]     `json:"whole"` // arrays whose chunks have one access point only
}

type indexArray struct {
	Path   string `json:"path"`
	Chunks int64  `json:"chunks"`
}

func indexDocument(r *points.Result) indexResult {
	doc := indexResult{Chunks: r.Chunks, Decoded: r.Decoded, Stored: r.Stored, Points: r.Points, Bytes: r.Bytes, Whole: r.Whole}
	for _, a := range r.Arrays {
		doc.Arrays = append(doc.Arrays, indexArray(a))
	}
	if r.Snapshot != nil {
		doc.Snapshot = &r.Snapshot.ID
	}
	return doc
}

func describeIndex(name string, r *points.Result) string {
	var b strings.Builder
	for _, path := range r.Whole {
		fmt.Fprintf(&b, "%s: %s has no access points: its chunks are stored as one frame or block each\n", name, path)
	}
	if r.Snapshot == nil {
		fmt.Fprintf(&b, "%s: no large chunk is without access points that it can have\n", name)
		return b.String()
	}
	fmt.Fprintf(&b, "%s: %s of %s, %s decoded\n", name, plural(r.Chunks, "chunk", "chunks"), plural(int64(len(r.Arrays)), "array", "arrays"), report.Size(r.Decoded))
	fmt.Fprintf(&b, "%s; all access points of the manifest take %s\n", plural(r.Points, "access point", "access points"), report.Size(r.Bytes))
	fmt.Fprintf(&b, "snapshot %s\n", r.Snapshot.ID)
	return b.String()
}

// removePoints removes all access points.
func removePoints(ctx context.Context, opts *indexOptions, name, writer string, out io.Writer) error {
	snap, err := points.Remove(ctx, name, writer)
	if err != nil {
		return err
	}
	var doc indexResult
	text := name + ": there are no access points\n"
	if snap != nil {
		doc.Snapshot = &snap.ID
		text = fmt.Sprintf("%s: access points removed\nsnapshot %s\n", name, snap.ID)
	}
	return opts.print(out, doc, text)
}

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/report"
)

func newGCCommand() *cobra.Command {
	keep := 10
	cmd := &cobra.Command{
		Use:   "gc OUT",
		Short: "Remove what no snapshot needs",
		Long: `Remove old snapshots of a manifest, the tables that only they needed, and what interrupted
writers left behind. Sources are never touched. It waits for nobody: while somebody writes
to OUT it refuses, and, in an object store, for a minute after a writer was killed. Appends
fold small tables into larger ones and keep the small ones for the older snapshots: after many
appends most of what a manifest takes is freed by this. The first twenty files are named.`,
		Example: `  varve gc sst.varve --keep 3`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runGC(cmd.Context(), args[0], keep, cmd.OutOrStdout())
		},
	}
	addNumber(cmd.Flags(), &keep, 1, "keep", "how many snapshots stay, the newest first")
	return cmd
}

// shownRemoved is how many of the files that were removed are named. Ten thousand appends leave
// four times as many.
const shownRemoved = 20

func runGC(ctx context.Context, name string, keep int, out io.Writer) error {
	repo, err := manifest.Open(ctx, name)
	if err != nil {
		return err
	}
	defer repo.Close()
	done, err := repo.GC(ctx, keep)
	for _, file := range done.Files[:min(len(done.Files), shownRemoved)] {
		fmt.Fprintln(out, file)
	}
	if more := len(done.Files) - shownRemoved; more > 0 {
		fmt.Fprintf(out, "… and %s more\n", report.Thousands(int64(more)))
	}
	if err == nil || len(done.Files) > 0 {
		fmt.Fprintf(out, "%s removed, %s freed\n", plural(int64(len(done.Files)), "file", "files"), report.Size(done.Bytes))
	}
	return err
}

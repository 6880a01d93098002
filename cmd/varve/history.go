package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"varve/manifest/repo"
)

func newHistoryCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "history OUT",
		Short:   "List the snapshots of a manifest",
		Long:    `List the snapshots of the manifest OUT, the newest first. "varve restore" goes back to one.`,
		Example: `  varve history sst.varve`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHistory(cmd.Context(), args[0], asJSON, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// snapshotJSON is a snapshot in the JSON of history and restore.
type snapshotJSON struct {
	Snapshot string    `json:"snapshot"`
	Parent   string    `json:"parent,omitempty"`
	Created  time.Time `json:"created"`
	Message  string    `json:"message"`
	Sources  int64     `json:"sources"`
	Refs     int64     `json:"refs"`
}

func runHistory(ctx context.Context, name string, asJSON bool, out io.Writer) error {
	repository, err := repo.Open(ctx, name)
	if err != nil {
		return err
	}
	defer repository.Close()
	rows := []snapshotJSON{}
	for s, err := range repository.Log(ctx) {
		if err != nil {
			return err
		}
		rows = append(rows, snapshotJSON{s.ID, s.Parent, s.Created, s.Message, s.Sources, s.Refs})
	}
	if asJSON {
		return printJSON(out, rows)
	}
	for _, r := range rows {
		fmt.Fprintf(out, "%s  %s  %18s  %s\n", r.Snapshot, r.Created.Format(time.RFC3339), plural(r.Sources, "source", "sources"), r.Message)
	}
	return nil
}

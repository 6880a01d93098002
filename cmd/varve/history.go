package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/manifest/repo"
)

func newHistoryCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "history OUT",
		Short:   "List the snapshots of a manifest",
		Long:    `List the snapshots of the manifest OUT, the newest first, with their tags. "varve restore" goes back to one.`,
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

// historyJSON is a snapshot in the JSON of history.
type historyJSON struct {
	snapshotJSON
	Tags items[string] `json:"tags"`
}

func runHistory(ctx context.Context, name string, asJSON bool, out io.Writer) error {
	repository, err := repo.Open(ctx, name)
	if err != nil {
		return err
	}
	defer repository.Close()
	tags, err := tagsBySnapshot(ctx, repository)
	if err != nil {
		return err
	}
	rows := []historyJSON{}
	for s, err := range repository.Log(ctx) {
		if err != nil {
			return err
		}
		rows = append(rows, historyJSON{snapshotJSON{s.ID, s.Parent, s.Created, s.Message, s.Sources, s.Refs}, tags[s.ID]})
	}
	if asJSON {
		return printJSON(out, rows)
	}
	for _, r := range rows {
		named := ""
		if len(r.Tags) > 0 {
			named = "  (" + strings.Join(r.Tags, ", ") + ")"
		}
		fmt.Fprintf(out, "%s  %s  %18s  %s%s\n", r.Snapshot, r.Created.Format(time.RFC3339), plural(r.Sources, "source", "sources"),
			printable(r.Message), named)
	}
	return nil
}

// addSnapshot declares the flag of commands that can read an earlier snapshot.
func addSnapshot(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "snapshot", "", "read this `snapshot`: a tag, an id of varve history, or its first digits; default: current")
}

// addMessage declares the flag of commands that make a snapshot.
func addMessage(f *pflag.FlagSet, to *string) {
	f.StringVarP(to, "message", "m", "", "say in the history why the snapshot was made, instead of how")
}

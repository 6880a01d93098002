package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"varve/manifest/repo"
)

func newRestoreCommand() *cobra.Command {
	var opts resultOptions
	cmd := &cobra.Command{
		Use:   "restore OUT SNAPSHOT",
		Short: "Make an earlier snapshot the current one",
		Long: `Make an earlier snapshot of the manifest OUT the current one. Later snapshots stay in the
history, so a restore can be undone. SNAPSHOT is an id of "varve history", its first digits, or a tag.`,
		Example: `  varve restore sst.varve 5c6b1f0a`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRestore(cmd.Context(), args[0], args[1], &opts, cmd.OutOrStdout())
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runRestore(ctx context.Context, name, prefix string, opts *resultOptions, out io.Writer) error {
	repository, err := repo.Open(ctx, name)
	if err != nil {
		return err
	}
	defer repository.Close()
	id, err := repository.Find(ctx, prefix)
	if err != nil {
		return err
	}
	snapshot, err := repository.Restore(ctx, id)
	if err != nil {
		return err
	}
	return opts.print(out, snapshotJSON{snapshot.ID, snapshot.Parent, snapshot.Created, snapshot.Message, snapshot.Sources, snapshot.Refs},
		fmt.Sprintf("%s: %s in %s, snapshot %s\n", name, countArrays(snapshot), countSources(snapshot), snapshot.ID))
}

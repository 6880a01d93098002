package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"varve/manifest"
)

func newRestoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "restore OUT SNAPSHOT",
		Short:   "Go back to an earlier snapshot",
		Long:    "Make an earlier snapshot of a manifest the current one. Later ones stay in the history, so\nthat this can be undone.",
		Example: `  varve restore sst.varve 5c6b1f0a`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRestore(cmd.Context(), args[0], args[1], cmd.OutOrStdout())
		},
	}
}

func runRestore(ctx context.Context, name, prefix string, out io.Writer) error {
	repo, err := manifest.Open(ctx, name)
	if err != nil {
		return err
	}
	defer repo.Close()
	id, err := repo.Find(ctx, prefix)
	if err != nil {
		return err
	}
	snapshot, err := repo.Restore(ctx, id)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %s in %s, snapshot %s\n", name, countArrays(snapshot), countSources(snapshot), snapshot.ID)
	return err
}

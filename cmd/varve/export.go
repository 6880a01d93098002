package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"varve/readers/source"
)

func newExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export FORMAT OUT DEST",
		Short: "Write a virtual dataset as what other tools read",
		Long: `Write the manifest OUT as what other tools read without varve. What each format can carry,
and what it cannot, is in docs/exports.md.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown format %q", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(exportCommands()...)
	for _, c := range cmd.Commands() {
		checkArgs(c)
		c.PreRunE = func(_ *cobra.Command, args []string) error { return checkLocal(args[1]) }
	}
	return cmd
}

// checkLocal refuses to write to object stores what is no manifest, which would otherwise become
// local files of such names.
func checkLocal(dest string) error {
	if !source.IsObject(dest) {
		return nil
	}
	return fmt.Errorf("%s: only manifests are written to object stores: name a local file or folder, and copy it there: %w", dest, errors.ErrUnsupported)
}

// exportCommands are the formats.
func exportCommands() []*cobra.Command {
	return []*cobra.Command{
		newExportIcechunkCommand(),
		newExportKerchunkCommand(),
		newExportTableCommand(),
		newExportZarrCommand(),
	}
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export FORMAT OUT DEST",
		Short: "Write a virtual dataset as what other tools read",
		Long: `Write the manifest OUT as what other tools read without varve. What each format can carry,
and what it cannot, is in docs/reference/exports.md.

DEST is local, or in an object store: s3://BUCKET/NAME, gs:// or az://. Readers find it there
when all of it is there.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown format %q; see varve export --help", args[0])}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(exportCommands()...)
	for _, c := range cmd.Commands() {
		checkArgs(c)
	}
	return cmd
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

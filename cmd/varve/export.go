package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"varve/manifest/plan"
)

func newExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export FORMAT OUT DEST",
		Short: "Write a virtual dataset in a format of other tools",
		Long: `Write the manifest OUT in a format that other tools read without varve. docs/reference/exports.md
lists what each format supports.

DEST is local, or in an object store: s3://BUCKET/NAME, gs:// or az://. It appears when it is
complete.`,
		Example: `  varve export kerchunk sst.varve sst.parquet`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown format %q.%s See varve export --help", args[0], plan.DidYouMean(args[0], commandNames(c)))}
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

// exportCommands returns a command for each format.
func exportCommands() []*cobra.Command {
	return []*cobra.Command{
		newExportGDALVRTCommand(),
		newExportIcechunkCommand(),
		newExportKerchunkCommand(),
		newExportSTACCommand(),
		newExportTableCommand(),
		newExportZarrCommand(),
	}
}

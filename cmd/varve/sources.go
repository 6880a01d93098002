package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/ingest"
)

func newSourcesCommand() *cobra.Command {
	var opts combineOptions
	cmd := &cobra.Command{
		Use:    "sources SRC...",
		Hidden: true,
		Short:  "List source files for the Python package, which divides them among workers",
		Long: `Print the absolute name of each file and object that build would read for SRC, followed by a NUL
byte, because names may contain newlines.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.checkMatch(); err != nil {
				return usageError{err}
			}
			sources := ingest.Sources{Names: args, Match: opts.match, Stdin: cmd.InOrStdin()}
			names, err := sources.Expand(cmd.Context())
			if err != nil {
				return interrupted(cmd.Context(), err)
			}
			_, err = io.WriteString(dataWriter(cmd.OutOrStdout()), strings.Join(names, "\x00")+"\x00")
			return err
		},
	}
	opts.addMatch(cmd.Flags())
	return cmd
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/report"
	"varve/manifest/report/text"
)

func newExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a finding of check and build",
		Long: `Explain what a finding means and what to do about it. CODE is the word in brackets behind a
finding. Without one, list all codes.`,
		Example: `  varve explain
  varve explain units-differ`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var codes []string
			for _, code := range text.Codes() {
				codes = append(codes, string(code))
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: runExplain,
	}
}

func runExplain(cmd *cobra.Command, args []string) error {
	out := cmd.OutOrStdout()
	if len(args) == 0 {
		for _, code := range text.Codes() {
			title, _ := text.Title(code)
			if _, err := fmt.Fprintf(out, "%-28s %s\n", code, title); err != nil {
				return err
			}
		}
		return nil
	}
	code := report.Code(args[0])
	if !slices.Contains(text.Codes(), code) {
		return usageError{fmt.Errorf("no finding has the code %q; varve explain lists them", args[0])}
	}
	title, _ := text.Title(code)
	says, _ := text.Explain(code)
	_, err := fmt.Fprintf(out, "%s: %s\n\n%s\n\n%s\n", code, title, wrapText(says, 100), text.Example(code))
	return err
}

// wrapText breaks a text into lines of at most so many bytes, where its words allow it.
func wrapText(s string, width int) string {
	var b []byte
	line := 0
	for i, word := range strings.Fields(s) {
		switch {
		case i == 0:
		case line+1+len(word) > width:
			b, line = append(b, '\n'), 0
		default:
			b, line = append(b, ' '), line+1
		}
		b, line = append(b, word...), line+len(word)
	}
	return string(b)
}

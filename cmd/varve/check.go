package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"varve/manifest/build"
	"varve/manifest/report"
)

// checkOptions are the flags of the check command.
type checkOptions struct {
	combineOptions
	json bool
}

func newCheckCommand() *cobra.Command {
	var opts checkOptions
	cmd := &cobra.Command{
		Use:   "check SRC...",
		Short: "Say what build would do, and write nothing",
		Long: `Say what "varve build" would make of files: arrays and edges, every disagreement with the
files on each side, and how many chunks are served as they are stored.

` + sourcesHelp,
		Example: `  varve check archive/ --match '*.nc'
  varve check archive/ --json | jq '.findings[] | select(.effect == "refused")'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCheck(cmd, &opts, args)
		},
	}
	opts.addSourceFlags(cmd.Flags())
	opts.addPlanFlags(cmd.Flags())
	cmd.Flags().BoolVar(&opts.json, "json", false, "print one JSON document")
	return cmd
}

func runCheck(cmd *cobra.Command, opts *checkOptions, names []string) error {
	if err := opts.takeConfig(cmd); err != nil {
		return err
	}
	how, err := opts.options(names, cmd.InOrStdin())
	if err != nil {
		return err
	}
	shown := newProgress(cmd.ErrOrStderr(), opts.quiet)
	how.Progress = shown.update
	outcome, failed := build.Check(cmd.Context(), how)
	shown.finish()
	if outcome == nil {
		return interrupted(cmd.Context(), failed)
	}
	if opts.json {
		err = checkJSON(cmd.OutOrStdout(), outcome)
	} else {
		err = checkText(cmd.OutOrStdout(), outcome)
	}
	if err != nil {
		return err
	}
	return failed
}

func checkText(out io.Writer, o *build.Outcome) error {
	if o.Snapshot != nil {
		fmt.Fprintf(out, "%s, %s\n\n", countSources(o.Snapshot), countArrays(o.Snapshot))
		if err := printArrays(out, o.Snapshot.Arrays); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	return o.Report.Text(out)
}

func checkJSON(out io.Writer, o *build.Outcome) error {
	doc := struct {
		Arrays   []arrayJSON      `json:"arrays"`
		Findings []report.Finding `json:"findings"`
	}{Arrays: []arrayJSON{}, Findings: o.Report.Findings}
	if doc.Findings == nil {
		doc.Findings = []report.Finding{}
	}
	if o.Snapshot != nil {
		var err error
		if doc.Arrays, err = arraysJSON(o.Snapshot.Arrays); err != nil {
			return err
		}
	}
	return printJSON(out, doc)
}

func printJSON(out io.Writer, doc any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(doc)
}

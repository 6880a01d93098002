package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/ingest"
)

// repairOptions are the flags of the repair command.
type repairOptions struct {
	combineOptions
	json bool
}

func newRepairCommand() *cobra.Command {
	var opts repairOptions
	cmd := &cobra.Command{
		Use:   "repair OUT [SRC...]",
		Short: "Make lost tables of a manifest again",
		Long: `Make tables of the manifest OUT again that are missing, truncated or changed on disk. The sources
are scanned again, and must be unchanged. A table is accepted only if it has the same SHA-256 as
before, so all snapshots stay as they are. If nothing is damaged, no source is read.

Compacted chunks that are lost are left out of a new snapshot; "varve compact" makes them again.
SRC is needed only if the table with the names of the sources is lost. If a table cannot be made
again, nothing is written: "varve build --force" replaces the manifest and keeps its history.`,
		Example: `  varve repair sst.varve`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRepair(cmd, &opts, args[0], args[1:])
		},
	}
	opts.missing = "fill"
	opts.addRevisionFlags(cmd.Flags())
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the result as one JSON document")
	return cmd
}

func runRepair(cmd *cobra.Command, opts *repairOptions, name string, names []string) error {
	if err := opts.takeFiles(cmd); err != nil {
		return err
	}
	how, err := opts.options(names, cmd.InOrStdin())
	if err != nil {
		return err
	}
	shown := newProgress(cmd.ErrOrStderr(), opts.quiet)
	how.Progress, how.Comparing, how.Checking = shown.update, shown.then("comparing", "variables"), shown.then("reading", "chunks")
	result, err := ingest.Repair(cmd.Context(), name, how)
	shown.finish()
	if err != nil {
		return interrupted(cmd.Context(), err)
	}
	printed := resultOptions{quiet: opts.quiet, json: opts.json}
	return printed.print(cmd.OutOrStdout(), repairDocument(result), repairText(name, result))
}

func repairDocument(r *ingest.RepairResult) any {
	tables := make(items[string], len(r.Tables))
	for i, t := range r.Tables {
		tables[i] = t.Name
	}
	doc := struct {
		Tables    items[string] `json:"tables"`
		Compacted int64         `json:"compacted_lost"`
		Snapshot  string        `json:"snapshot,omitempty"`
	}{Tables: tables, Compacted: r.Compacted}
	if r.Snapshot != nil {
		doc.Snapshot = r.Snapshot.ID
	}
	return doc
}

func repairText(name string, r *ingest.RepairResult) string {
	if len(r.Tables) == 0 && r.Snapshot == nil {
		return fmt.Sprintf("%s: no table is damaged\n", name)
	}
	text := ""
	for _, t := range r.Tables {
		text += fmt.Sprintf("%s: made again, %s of %s\n", t.Name, plural(t.Rows, "row", "rows"), kindText(t.Kind))
	}
	if r.Snapshot != nil {
		text += fmt.Sprintf("%s: left out %s, snapshot %s\n", name, plural(r.Compacted, "lost compacted chunk", "lost compacted chunks"), r.Snapshot.ID)
	}
	return text
}

// kindText names the rows of a kind of table.
func kindText(kind manifest.TableKind) string {
	switch kind {
	case manifest.Refs:
		return "references"
	case manifest.Blobs:
		return "inline chunks"
	case manifest.ValueOf:
		return "values"
	}
	return string(kind)
}

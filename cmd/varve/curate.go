package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/readers/source"
)

// curateOptions are the flags of the curate command.
type curateOptions struct {
	allowOptions
	json, quiet bool
	message     string
}

func newCurateCommand() *cobra.Command {
	var opts curateOptions
	cmd := &cobra.Command{
		Use:   "curate OUT FILE",
		Short: "Change names and attributes of a virtual dataset",
		Long: `Change names and attributes of the manifest OUT, as the YAML file FILE says, in a new snapshot. The
source files stay as they are. Files that are added later get the same changes. FILE replaces the
curation that OUT has; an empty FILE removes it. "varve build --curation FILE" does the same for a
new manifest.

FILE has attributes to set, or to drop (null), new names of variables and dimensions, variables to
drop, their units, and which variables are coordinates. A name that no variable has is an error.`,
		Example: `  varve curate sst.varve curation.yaml
  varve curate sst.varve curation.yaml -m "CF names"`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCurate(cmd, &opts, args[0], args[1])
		},
	}
	opts.allowOptions.addFlags(cmd)
	f := cmd.Flags()
	addMessage(f, &opts.message)
	f.BoolVar(&opts.json, "json", false, "print one JSON document: the snapshot, and the findings")
	f.BoolVar(&opts.quiet, "quiet", false, "print errors only")
	return cmd
}

func runCurate(cmd *cobra.Command, opts *curateOptions, out, file string) error {
	curation, err := readCuration(file)
	if err != nil {
		return usageError{err}
	}
	opener := source.NewOpener(&source.Options{Download: opts.download})
	defer opener.Close()
	how := &ingest.Options{Message: opts.message, Writer: "varve " + versionName(), Allow: opts.storeOptions().Allow, Opener: opener}
	outcome, err := ingest.Curate(cmd.Context(), out, curation, how)
	switch {
	case err != nil:
		return interrupted(cmd.Context(), refusalJSON(cmd.OutOrStdout(), opts.json, err))
	case opts.json:
		return outcomeJSON(cmd.OutOrStdout(), outcome)
	case opts.quiet:
		return nil
	}
	return printOutcome(cmd.OutOrStdout(), cmd.ErrOrStderr(), out, outcome)
}

// readCuration reads a curation file.
func readCuration(name string) (*plan.Curation, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("curation: %w", err)
	}
	c, err := plan.ParseCuration(text)
	if err != nil {
		return nil, fmt.Errorf("curation %s: %w", name, err)
	}
	return c, nil
}

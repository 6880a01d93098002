package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/manifest/build"
)

func newAppendCommand() *cobra.Command {
	var opts combineOptions
	cmd := &cobra.Command{
		Use:   "append OUT SRC...",
		Short: "Add files to a virtual dataset",
		Long: `Add files to the manifest OUT, wherever their coordinates put them: behind the others, before
them, or in a gap. They are combined as OUT was built, with its options. What it costs
follows what is new, and whoever reads OUT meanwhile sees the old state or the new.

` + sourcesHelp,
		Example: `  varve append sst.varve archive/2024/*.nc`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAppend(cmd, &opts, args[0], args[1:])
		},
	}
	opts.addSourceFlags(cmd.Flags())
	opts.addPlanFlags(cmd.Flags())
	return cmd
}

func runAppend(cmd *cobra.Command, opts *combineOptions, out string, names []string) error {
	if err := opts.takeConfig(cmd); err != nil {
		return err
	}
	how, err := opts.options(names, cmd.InOrStdin())
	if err != nil {
		return err
	}
	how.KeepPlan = !planFlagsChanged(cmd)
	shown := newProgress(cmd.ErrOrStderr(), opts.quiet)
	how.Progress = shown.update
	outcome, err := build.Append(cmd.Context(), out, how)
	shown.finish()
	if err != nil {
		return interrupted(cmd.Context(), err)
	}
	return printOutcome(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), out, outcome)
}

// planFlagsChanged reports whether the user said anything about how files become arrays.
func planFlagsChanged(cmd *cobra.Command) bool {
	var all combineOptions
	declared := &cobra.Command{}
	all.addPlanFlags(declared.Flags())
	changed := false
	cmd.Flags().Visit(func(f *pflag.Flag) {
		changed = changed || declared.Flags().Lookup(f.Name) != nil
	})
	return changed
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/manifest/ingest"
	"varve/manifest/plan"
)

// appendOptions are the flags of the append command.
type appendOptions struct {
	combineOptions
	skipKnown bool
	allowNew  bool
	checksums bool
	json      bool
	message   string
	index     autoIndex
}

func newAppendCommand() *cobra.Command {
	var opts appendOptions
	cmd := &cobra.Command{
		Use:   "append OUT SRC...",
		Short: "Add files to a virtual dataset",
		Long: `Add files to the manifest OUT, with the options that OUT was built with. Their coordinates decide
whether they come after the other files, before them, or in a gap. The cost depends on the number
of new files. Readers of OUT see the old snapshot until the new one is complete.

A variable that no file of OUT has would be fill at all old positions. Such files are often of
another product, so they need --allow-new.

` + sourcesHelp,
		Example: `  varve append sst.varve archive/2024/*.nc
  varve append sst.varve archive/ --skip-known`,
		Args: sourceArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAppend(cmd, &opts, args[0], args[1:])
		},
	}
	opts.addRevisionFlags(cmd.Flags())
	opts.addPlanFlags(cmd.Flags())
	opts.addKeepScan(cmd.Flags())
	addChecksums(cmd.Flags(), &opts.checksums)
	addMessage(cmd.Flags(), &opts.message)
	opts.index.addTo(cmd, "auto if OUT has any")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print one JSON document: the snapshot, and the findings")
	cmd.Flags().BoolVar(&opts.allowNew, "allow-new", false, "add variables that no file of OUT has, although they are fill at all old positions")
	cmd.Flags().BoolVar(&opts.skipKnown, "skip-known", false, "skip unchanged files that OUT already has")
	return cmd
}

func runAppend(cmd *cobra.Command, opts *appendOptions, out string, names []string) error {
	if err := opts.takeFiles(cmd); err != nil {
		return err
	}
	if err := opts.index.check(cmd.Context(), out, false); err != nil {
		return err
	}
	how, err := opts.options(names, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if how.Replan = planFlagsChanged(cmd); how.Replan {
		if how.Plan, err = overlaid(cmd, out, how.Plan); err != nil {
			return err
		}
	}
	how.SkipKnown, how.RefuseNew, how.Message = opts.skipKnown, !opts.allowNew, opts.message
	shown := newProgress(cmd.ErrOrStderr(), opts.quiet)
	how.Progress, how.Comparing, how.Checking = shown.update, shown.then("comparing", "variables"), shown.then("reading", "chunks")
	how.Checksums = opts.checksums
	outcome, err := ingest.Append(cmd.Context(), out, how)
	shown.finish()
	if err != nil {
		opts.sayKept(cmd.ErrOrStderr(), shown.spent())
		return interrupted(cmd.Context(), refusalJSON(cmd.OutOrStdout(), opts.json, err))
	}
	if !opts.json && !opts.quiet {
		if err := printOutcome(cmd.OutOrStdout(), cmd.ErrOrStderr(), out, outcome); err != nil {
			return err
		}
		if _, err := io.WriteString(cmd.ErrOrStderr(), faultsText(out, outcome.Snapshot)); err != nil {
			return err
		}
	}
	snap, indexed, err := opts.index.run(cmd, out, outcome.Snapshot, &opts.combineOptions)
	switch {
	case err != nil:
		return interrupted(cmd.Context(), err)
	case opts.json:
		outcome.Snapshot = snap
		return outcomeJSON(cmd.OutOrStdout(), outcome)
	case opts.quiet:
		return nil
	}
	return printIndexed(cmd.OutOrStdout(), indexed)
}

// planFlagsChanged reports whether the command line has a flag of the planner.
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

// overlaid returns the options that a manifest was built with, except where the command line has others.
func overlaid(cmd *cobra.Command, name string, given plan.Options) (merged plan.Options, err error) {
	snapshot, err := loadSnapshot(cmd.Context(), name)
	if err != nil {
		return merged, err
	}
	if snapshot.Options != nil {
		if err := json.Unmarshal(snapshot.Options, &merged); err != nil {
			return merged, fmt.Errorf("%s: options of snapshot %s: %w", name, snapshot.ID, err)
		}
	}
	merged.Formats = given.Formats // RevisedFormats adds those of the build
	return overlay(cmd, merged, given), nil
}

// overlay returns merged with the options from given that the command line names.
func overlay(cmd *cobra.Command, merged, given plan.Options) plan.Options {
	for flag, take := range map[string]func(){
		"concat":       func() { merged.Concat, merged.Apart = given.Concat, given.Apart },
		"new-dim":      func() { merged.NewDims = given.NewDims },
		"broadcast":    func() { merged.Broadcast = given.Broadcast },
		"vars":         func() { merged.Vars = given.Vars },
		"drop":         func() { merged.Drop = given.Drop },
		"group":        func() { merged.Group = given.Group },
		"rename":       func() { merged.Rename = given.Rename },
		"missing":      func() { merged.Missing = given.Missing },
		"pad":          func() { merged.Pad = given.Pad },
		"join":         func() { merged.Join = given.Join },
		"curation":     func() { merged.Curation = given.Curation },
		"coords":       func() { merged.Coords = given.Coords },
		"longitudes":   func() { merged.Longitudes = given.Longitudes },
		"flip":         func() { merged.Flip = flips(merged.Flip, given.Flip) },
		"units":        func() { merged.Units = given.Units },
		"tolerance":    func() { merged.Tolerance = given.Tolerance },
		"overlap":      func() { merged.Overlap = given.Overlap },
		"inline":       func() { merged.Inline = given.Inline },
		"keep-foreign": func() { merged.KeepForeign = given.KeepForeign },
		"strict":       func() { merged.Strict = given.Strict },
		"rectilinear":  func() { merged.Rectilinear = given.Rectilinear },
		"padded":       func() { merged.Padded = given.Padded },
		"repack":       func() { merged.Repack = given.Repack },
		"repack-lossy": func() { merged.RepackLossy = given.RepackLossy },
		"codec-from":   func() { merged.CodecFrom = given.CodecFrom },
		"chunk-edges":  func() { merged.Schemas = slices.Concat(ofTypes(merged.Schemas), ofChunks(given.Schemas)) },
		"keep-query":   func() { merged.KeepQuery = given.KeepQuery },
		"dtype":        func() { merged.Schemas = slices.Concat(ofChunks(merged.Schemas), ofTypes(given.Schemas)) },
	} {
		if cmd.Flags().Changed(flag) {
			take()
		}
	}
	for _, s := range given.Optional {
		if !merged.IsOptional(s) {
			merged.Optional = append(slices.Clip(merged.Optional), s)
		}
	}
	return merged
}

// flips returns the given directions, and the built ones of all other dimensions.
func flips(built, given map[string]plan.Direction) map[string]plan.Direction {
	out := map[string]plan.Direction{}
	maps.Copy(out, given)
	for at, to := range built {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(given)), func(dim string) bool { return dim == at || "/"+dim == at || dim == path.Base(at) }) {
			out[at] = to
		}
	}
	return out
}

// ofTypes returns the overrides that --dtype makes.
func ofTypes(list []plan.Override) []plan.Override {
	return slices.DeleteFunc(slices.Clone(list), func(o plan.Override) bool { return o.Type == "" })
}

// ofChunks returns the overrides that --chunk-edges makes.
func ofChunks(list []plan.Override) []plan.Override {
	return slices.DeleteFunc(slices.Clone(list), func(o plan.Override) bool { return len(o.Chunks) == 0 })
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/report"
	"varve/manifest/report/text"
)

// buildOptions are the flags of the build command.
type buildOptions struct {
	combineOptions
	force     bool
	checksums bool
	json      bool
	message   string
	index     autoIndex
}

func newBuildCommand() *cobra.Command {
	var opts buildOptions
	cmd := &cobra.Command{
		Use:   "build OUT SRC...",
		Short: "Make one virtual dataset of files",
		Long: `Make the manifest OUT: one virtual dataset of all files; they are not moved or changed. OUT is a
folder, or a prefix in an object store: s3://BUCKET/NAME, gs:// or az://.
The command refuses to lose or invent data, and names the option that would allow it. "varve check"
reports the same and writes nothing.

` + sourcesHelp,
		Example: `  varve build sst.varve archive/
  varve build sst.varve archive/ --match '*.nc' --overlap last
  varve build s3://bucket/sst.varve s3://bucket/archive/
  varve build sst.varve archive/ --index auto
  varve build sst.varve --from items.json --asset data
  varve build chl.varve @list.txt --new-dim 'time=A(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)'`,
		Args: sourceArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBuild(cmd, &opts, args[0], args[1:])
		},
	}
	opts.addSourceFlags(cmd.Flags())
	opts.addPlanFlags(cmd.Flags())
	opts.addKeepScan(cmd.Flags())
	addChecksums(cmd.Flags(), &opts.checksums)
	addMessage(cmd.Flags(), &opts.message)
	opts.index.addTo(cmd, "none")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print one JSON document: the snapshot, and the findings")
	cmd.Flags().BoolVar(&opts.force, "force", false, "replace what OUT holds; its history is kept")
	return cmd
}

const sourcesHelp = `SRC is a path, a folder, a glob, a URL, @LIST (a file with one source a line, @- for standard
input) or a part that "varve scan" wrote. An existing file with exactly
this name is used, even if the name looks like a glob. --from reads the files of a search in a
STAC catalogue or in NASA's CMR, whose result you saved as JSON.`

func runBuild(cmd *cobra.Command, opts *buildOptions, out string, names []string) error {
	if err := opts.takeFiles(cmd); err != nil {
		return err
	}
	if err := opts.index.check(cmd.Context(), out, true); err != nil {
		return err
	}
	how, err := opts.options(names, cmd.InOrStdin())
	if err != nil {
		return err
	}
	how.Force, how.Message = opts.force, opts.message
	shown := newProgress(cmd.ErrOrStderr(), opts.quiet)
	how.Progress, how.Comparing, how.Checking = shown.update, shown.then("comparing", "variables"), shown.then("reading", "chunks")
	how.Checksums = opts.checksums
	outcome, err := ingest.Build(cmd.Context(), out, how)
	shown.finish()
	if err != nil {
		opts.sayKept(cmd.ErrOrStderr(), shown.spent())
		return interrupted(cmd.Context(), refusalJSON(cmd.OutOrStdout(), opts.json, existsAdvice(err)))
	}
	return opts.finish(cmd, out, outcome)
}

// finish makes the access points of a build, and prints its outcome.
func (o *buildOptions) finish(cmd *cobra.Command, out string, outcome *ingest.Result) error {
	if !o.json && !o.quiet {
		if err := printOutcome(cmd.OutOrStdout(), cmd.ErrOrStderr(), out, outcome); err != nil {
			return err
		}
	}
	snap, indexed, err := o.index.run(cmd, out, outcome.Snapshot, &o.combineOptions)
	switch {
	case err != nil:
		return interrupted(cmd.Context(), err)
	case o.json:
		outcome.Snapshot = snap
		return outcomeJSON(cmd.OutOrStdout(), outcome)
	case o.quiet:
		return nil
	}
	return printIndexed(cmd.OutOrStdout(), indexed)
}

// existsAdvice adds to the error of a build over a manifest how to keep or replace it.
func existsAdvice(err error) error {
	var exists *manifest.ExistsError
	if errors.As(err, &exists) && exists.CanAppend {
		return fmt.Errorf("%w: varve append adds files to it, --force replaces it", err)
	}
	return err
}

// outcomeJSON prints the snapshot that a command wrote, and its findings.
func outcomeJSON(out io.Writer, o *ingest.Result) error {
	return printJSON(out, struct {
		Snapshot string       `json:"snapshot"`
		Sources  int64        `json:"sources"`
		Findings findingsJSON `json:"findings"`
	}{o.Snapshot.ID, o.Snapshot.Sources, o.Report.Findings})
}

// refusalJSON prints the findings that an error has, if they are to be JSON, and returns the error.
func refusalJSON(out io.Writer, asJSON bool, err error) error {
	findings := refusalsIn(err)
	if !asJSON || len(findings) == 0 {
		return err
	}
	failed := printJSON(out, struct {
		Findings findingsJSON `json:"findings"`
	}{findings})
	return cmp.Or(failed, err)
}

// printOutcome prints the findings of a command, and the snapshot that it wrote.
func printOutcome(out, messages io.Writer, name string, o *ingest.Result) error {
	if err := printer.Report(messages, o.Report.Findings); err != nil {
		return err
	}
	s := o.Snapshot
	_, err := fmt.Fprintf(out, "%s: %s in %s, snapshot %s\n", name, countArrays(s), countSources(s), s.ID)
	return err
}

// faultsText lists the possible faults of a manifest that an older varve built, or returns "".
func faultsText(name string, s *manifest.Snapshot) string {
	faults := text.Faults(ingest.Faults(s))
	if len(faults) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: built by an older varve, which %s. Its arrays may be wrong; build it again with --force\n", name, strings.Join(faults, ", and "))
}

func countSources(s *manifest.Snapshot) string {
	return plural(s.Sources, "source", "sources")
}

func countArrays(s *manifest.Snapshot) string {
	return plural(int64(len(s.Arrays)), "array", "arrays")
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return report.Thousands(n) + " " + many
}

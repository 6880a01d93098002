package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/repo"
	"varve/manifest/report"
)

// gcOptions are the flags of the gc command.
type gcOptions struct {
	resultOptions
	keep, daily int
	policy      string
	dryRun      bool
}

func newGCCommand() *cobra.Command {
	opts := gcOptions{keep: 10}
	cmd := &cobra.Command{
		Use:   "gc OUT",
		Short: "Remove old snapshots and unused files of a manifest",
		Long: `Remove old snapshots of the manifest OUT, the tables that only they need, and files that
interrupted commands left. Snapshots with tags are kept. Source files are never touched.

The command fails while another process writes to OUT. In an object store it also fails for a
minute after a writer was killed. The text lists the first twenty files; --json lists all.

With --policy the manifest remembers what to keep. Commands that add a snapshot then remove the
others themselves, at most once a day and for at most 20 seconds. Compacted chunks stay until you
run "varve gc", because exports may refer to them. "--policy none" ends that.`,
		Example: `  varve gc sst.varve --keep 3
  varve gc sst.varve --keep 30 --keep-daily 90 --dry-run
  varve gc sst.varve --policy keep=30,daily=90`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runGC(cmd.Context(), args[0], &opts, cmd.OutOrStdout())
		},
	}
	opts.addFlags(cmd.Flags())
	addNumber(cmd.Flags(), &opts.keep, 1, "keep", "keep this `number` of snapshots, the newest ones")
	addNumber(cmd.Flags(), &opts.daily, 0, "keep-daily", "also keep the newest snapshot of each of the last days that have one; the `number` of days")
	cmd.Flags().StringVar(&opts.policy, "policy", "", "keep this many snapshots and days from now on: `keep=N,daily=N`, keep=all, or none")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "only list what would be removed")
	for _, other := range []string{"keep", "keep-daily", "dry-run"} {
		cmd.MarkFlagsMutuallyExclusive("policy", other)
	}
	return cmd
}

// shownRemoved is the number of removed files that the text lists. Ten thousand appends leave four
// times as many.
const shownRemoved = 20

func runGC(ctx context.Context, name string, opts *gcOptions, out io.Writer) error {
	repository, err := repo.Open(ctx, name)
	if err != nil {
		return err
	}
	defer repository.Close()
	how := &repo.GCOptions{Keep: opts.keep, Daily: opts.daily, DryRun: opts.dryRun}
	if opts.policy != "" {
		policy, err := opts.parsePolicy()
		if err != nil {
			return usageError{err}
		}
		if err := repository.SetPolicy(ctx, policy); err != nil {
			return err
		}
		if policy != nil {
			how = policy.Options()
		}
	}
	done, err := repository.GC(ctx, how)
	if err != nil && len(done.Files) == 0 {
		return err
	}
	policy, policyErr := repository.Policy(ctx)
	text, kept := describeGC(done, opts.dryRun), ""
	if policy != nil {
		kept = policy.String()
		text += "policy: " + kept + "\n"
	}
	// A collection that failed half-way also reports the files that are gone.
	return errors.Join(err, policyErr, opts.print(out, struct {
		Removed int           `json:"removed"`
		Bytes   int64         `json:"bytes"`
		Files   items[string] `json:"files"`
		Policy  string        `json:"policy,omitempty"`
	}{len(done.Files), done.Bytes, done.Files, kept}, text))
}

// parsePolicy returns the policy in --policy, or nil for none.
func (o *gcOptions) parsePolicy() (*repo.Policy, error) {
	if o.policy == "none" {
		return nil, nil
	}
	policy := &repo.Policy{Keep: o.keep}
	for _, part := range strings.Split(o.policy, ",") {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		switch {
		case name == "keep" && value == "all":
			policy.Keep = 0
		case name == "keep" && err == nil && n > 0:
			policy.Keep = n
		case name == "daily" && err == nil && n > 0:
			policy.Daily = n
		default:
			return nil, fmt.Errorf("--policy %s: want keep=N or keep=all, and daily=N, or none", o.policy)
		}
	}
	return policy, nil
}

func describeGC(done repo.Collected, dryRun bool) string {
	var b strings.Builder
	for _, file := range done.Files[:min(len(done.Files), shownRemoved)] {
		fmt.Fprintln(&b, file)
	}
	if more := len(done.Files) - shownRemoved; more > 0 {
		fmt.Fprintf(&b, "… and %s more\n", report.Thousands(int64(more)))
	}
	form := "%s removed, %s freed\n"
	if dryRun {
		form = "%s would be removed, %s freed\n"
	}
	fmt.Fprintf(&b, form, plural(int64(len(done.Files)), "file", "files"), report.Size(done.Bytes))
	return b.String()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/ingest"
	"varve/readers/source"
)

// syncOptions are the flags of the sync and refresh commands.
type syncOptions struct {
	combineOptions
	maxDelete int
	watch     time.Duration
	events    string
	json      bool
	message   string
	index     autoIndex
}

// defaultMaxDelete is the percentage of its files that a sync removes at most.
const defaultMaxDelete = 20

func newSyncCommand() *cobra.Command {
	var opts syncOptions
	cmd := &cobra.Command{
		Use:   "sync OUT SRC...",
		Short: "Make a virtual dataset hold exactly some files",
		Long: `Make the manifest OUT hold exactly the files SRC: new files are added, files that changed are
scanned again, and files that are gone are removed. Unchanged files are not read. If there is
nothing to do, no snapshot is made. The options that OUT was built with apply. History is kept, and
readers see the old snapshot until the new one is complete.

If more than 20 % of the files of OUT are gone, nothing is written, and the exit code is 3: the disk
may not be mounted. --max-delete 100 removes them all the same. Files that messages of --events name
do not count.

With --watch, the command looks again at this interval until it is stopped. A failure is printed,
and tried again.

With --events, the command syncs once, and then the files that messages name, as soon as they
arrive: one message a line on standard input (-) or at the end of a file, or the body of a POST
request to http://HOST:PORT. A message is a notification of S3, also by way of SNS, SQS or
EventBridge, one of Google Cloud Storage, or the name of a file. Messages may be late, repeated, in
any order, or about files that are gone. If some may get lost, add --watch 1h.

` + sourcesHelp,
		Example: `  varve sync sst.varve archive/
  varve sync sst.varve s3://bucket/archive/ --watch 30s
  varve sync sst.varve s3://bucket/archive/ --events http://127.0.0.1:9000`,
		Args: sourceArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.events != "" {
				if err := opts.takeFiles(cmd); err != nil {
					return err
				}
				return syncEvents(cmd, &opts, args[0], args[1:])
			}
			return runSync(cmd, &opts, args[0], args[1:], ingest.Sync)
		},
	}
	opts.addFlags(cmd)
	opts.maxDelete = defaultMaxDelete
	addNumber(cmd.Flags(), &opts.maxDelete, 0, "max-delete", "stop if more than this `percentage` of the files would be removed")
	cmd.Flags().DurationVar(&opts.watch, "watch", 0, "look for changes again at this `interval`, such as 30s, until the command is stopped")
	cmd.Flags().StringVar(&opts.events, "events", "", "sync the files that messages in this `place` name: -, a file, or http://HOST:PORT")
	return cmd
}

func newRefreshCommand() *cobra.Command {
	var opts syncOptions
	cmd := &cobra.Command{
		Use:   "refresh OUT [SRC...]",
		Short: "Scan files again that were replaced",
		Long: `Scan the files of the manifest OUT again that changed since they were scanned, such as the file
of the current month. Unchanged files are not read. With SRC, only these files are looked at. The
options that OUT was built with apply. Older snapshots stay in the history.`,
		Example: `  varve refresh sst.varve
  varve refresh sst.varve archive/2024/*.nc`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSync(cmd, &opts, args[0], args[1:], ingest.Refresh)
		},
	}
	opts.addFlags(cmd)
	return cmd
}

func (o *syncOptions) addFlags(cmd *cobra.Command) {
	o.addRevisionFlags(cmd.Flags())
	o.addPlanFlags(cmd.Flags())
	addMessage(cmd.Flags(), &o.message)
	o.index.addTo(cmd, "auto if OUT has any")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON document: the snapshot, the files that differ, and the findings")
}

// syncing is ingest.Sync or ingest.Refresh.
type syncing func(ctx context.Context, dir string, opts *ingest.Options) (*ingest.SyncResult, error)

func runSync(cmd *cobra.Command, opts *syncOptions, out string, names []string, do syncing) error {
	if err := opts.takeFiles(cmd); err != nil {
		return err
	}
	for {
		err := syncOnce(cmd, opts, out, names, do)
		ctx := cmd.Context()
		if opts.watch <= 0 {
			return err
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(cmd.ErrOrStderr(), errorPrefix, failureText(err))
		}
		select {
		case <-ctx.Done():
			return nil // being stopped is how a watch ends
		case <-time.After(opts.watch):
		}
	}
}

func syncOnce(cmd *cobra.Command, opts *syncOptions, out string, names []string, do syncing) error {
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
	how.Message, how.MaxDelete = opts.message, &opts.maxDelete
	shown := newProgress(cmd.ErrOrStderr(), opts.quiet)
	how.Progress, how.Comparing, how.Checking = shown.update, shown.then("comparing", "variables"), shown.then("reading", "chunks")
	result, err := do(cmd.Context(), out, how)
	shown.finish()
	if err != nil {
		return interrupted(cmd.Context(), refusalJSON(cmd.OutOrStdout(), opts.json, err))
	}
	if !opts.json {
		if err := printSync(cmd, out, result, false, opts.quiet); err != nil {
			return err
		}
	}
	indexed := ""
	if result.IsNew() {
		if result.Snapshot, indexed, err = opts.index.run(cmd, out, result.Snapshot, &opts.combineOptions); err != nil {
			return interrupted(cmd.Context(), err)
		}
	}
	if opts.json {
		return printSync(cmd, out, result, true, opts.quiet)
	}
	if opts.quiet {
		return nil
	}
	return printIndexed(cmd.OutOrStdout(), indexed)
}

// printSync prints what changed.
func printSync(cmd *cobra.Command, name string, r *ingest.SyncResult, asJSON, quiet bool) error {
	switch {
	case asJSON:
		return printJSON(cmd.OutOrStdout(), struct {
			Snapshot string        `json:"snapshot"`
			Sources  int64         `json:"sources"`
			Added    items[string] `json:"added"`
			Replaced items[string] `json:"replaced"`
			Removed  items[string] `json:"removed"`
			Findings findingsJSON  `json:"findings"`
		}{r.Snapshot.ID, r.Snapshot.Sources, r.Added, r.Replaced, r.Removed, r.Report.Findings})
	case quiet:
		return nil
	case !r.IsNew():
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: nothing to do, %s\n", name, countSources(r.Snapshot))
		return err
	}
	if err := printer.Report(cmd.ErrOrStderr(), r.Report.Findings); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %d added, %d replaced, %d removed: %s in %s, snapshot %s\n", name,
		len(r.Added), len(r.Replaced), len(r.Removed), countArrays(r.Snapshot), countSources(r.Snapshot), r.Snapshot.ID)
	return err
}

// removeOptions are the flags of the remove command.
type removeOptions struct {
	allowOptions
	before, message string
	between         []string
	json, quiet     bool
}

func newRemoveCommand() *cobra.Command {
	var opts removeOptions
	cmd := &cobra.Command{
		Use:   "remove OUT [SRC...]",
		Short: "Remove files from a virtual dataset",
		Long: `Remove files from the manifest OUT; the files themselves stay where they are. SRC is a path or
URL, a folder, or a glob, of files that OUT has. The files need not exist any more. --before
removes the files with no time at or after a date, for a moving window. --between removes the
files with all times at or after the first date and before the second. Older snapshots stay in
the history until "varve gc" removes them.`,
		Example: `  varve remove sst.varve archive/2024
  varve remove sst.varve --before 2020
  varve remove sst.varve --between 2021-03,2021-05`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRemove(cmd, &opts, args[0], args[1:])
		},
	}
	opts.allowOptions.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&opts.before, "before", "", "remove the files whose times are all before this `date`, such as 2020-01-01")
	flags.StringSliceVar(&opts.between, "between", nil, "remove the files whose times are all in this `range`, FROM,TO: at or after FROM, and before TO")
	addMessage(flags, &opts.message)
	flags.BoolVar(&opts.json, "json", false, "print one JSON document: the snapshot, the files that differ, and the findings")
	flags.BoolVar(&opts.quiet, "quiet", false, "print errors only")
	return cmd
}

func runRemove(cmd *cobra.Command, opts *removeOptions, out string, names []string) error {
	if ways := []bool{opts.before != "", len(opts.between) > 0, len(names) > 0}; len(slices.DeleteFunc(ways, func(is bool) bool { return !is })) != 1 {
		return usageError{errors.New("name the files to remove, or give --before DATE or --between FROM,TO")}
	}
	choose := namedFiles(names)
	if opts.before != "" {
		var err error
		if choose, err = ingest.Before(opts.before); err != nil {
			return usageError{err}
		}
	}
	if len(opts.between) > 0 {
		if len(opts.between) != 2 {
			return usageError{fmt.Errorf("--between %s: want FROM,TO, such as 2021-03,2021-05", strings.Join(opts.between, ","))}
		}
		var err error
		if choose, err = ingest.Between(opts.between[0], opts.between[1]); err != nil {
			return usageError{fmt.Errorf("--between %s: %w", strings.Join(opts.between, ","), err)}
		}
	}
	opener := source.NewOpener(&source.Options{Download: opts.download})
	defer opener.Close()
	how := &ingest.Options{Writer: "varve " + versionName(), Message: opts.message, Allow: opts.storeOptions().Allow, Opener: opener}
	result, err := ingest.Remove(cmd.Context(), out, choose, how)
	if err != nil {
		return interrupted(cmd.Context(), refusalJSON(cmd.OutOrStdout(), opts.json, err))
	}
	return printSync(cmd, out, result, opts.json, opts.quiet)
}

// storedLike returns the name under which a manifest stores a URL, if it stores the parameters of another one.
func storedLike(name, other string) string {
	if !source.IsURL(name) || !strings.Contains(name, "=") {
		return name // a question mark is one of a pattern
	}
	return source.Stored(name, source.Secrets(other, nil))
}

// namedFiles chooses the files that are named by path, by folder or by glob. Each name must be of some file.
func namedFiles(names []string) ingest.Chooser {
	return func(files []*manifest.File) ([]bool, error) {
		gone := make([]bool, len(files))
		for _, name := range names {
			pattern := name
			if !source.IsURL(name) {
				absolute, err := filepath.Abs(name)
				if err != nil {
					return nil, err
				}
				pattern = filepath.ToSlash(absolute)
			}
			pattern = strings.TrimSuffix(pattern, "/")
			found := false
			for i, f := range files {
				outer := source.Outer(f.URL) // "|" and ":" need not be in the pattern
				matches, err := path.Match(pattern, outer)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", source.Shown(name), err)
				}
				if matches || pattern == outer || storedLike(name, outer) == outer || pattern == f.URL || strings.HasPrefix(f.URL, pattern+"/") {
					gone[i], found = true, true
				}
			}
			if !found {
				return nil, fmt.Errorf("%s: %w", source.Shown(name), ingest.ErrNoSource)
			}
		}
		return gone, nil
	}
}

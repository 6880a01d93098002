package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/manifest"
	"varve/manifest/report"
	"varve/manifest/store"
	"varve/manifest/verify"
)

// allowOptions are the flags that say what a manifest may reach, and how.
type allowOptions struct {
	allow    []string
	download bool
}

func (o *allowOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.allow, "allow", nil, "sources below this `place`, a folder or URL, may be read, whoever built OUT (also VARVE_ALLOW, separated by spaces)")
	addDownload(cmd.Flags(), &o.download)
}

func addDownload(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "download", false, "fetch files whole from servers that send no ranges, into temporary files")
}

// storeOptions are what the flags and the environment allow.
func (o *allowOptions) storeOptions() *store.Options {
	return &store.Options{Download: o.download, Allow: append(strings.Fields(os.Getenv("VARVE_ALLOW")), o.allow...)}
}

// verifyOptions are the flags of the verify command.
type verifyOptions struct {
	allowOptions
	deep    bool
	workers int
	quiet   bool
}

func newVerifyCommand() *cobra.Command {
	var opts verifyOptions
	cmd := &cobra.Command{
		Use:   "verify OUT",
		Short: "See whether a virtual dataset still holds",
		Long: `See whether the files of the manifest OUT are what was published, by their SHA-256, and its
sources what was scanned, by their size and time or ETag. Files of chunks that were re-encoded and
kept may be large: they are only looked at for their size. What does not hold is listed, up to
a hundred, and counted. Where sources were moved, "varve relocate" takes their new places.

With --deep those files are read as well, and every chunk is read and decoded; so are found what
somebody changed and left no trace of, and chunks that varve reads and other clients refuse.`,
		Example: `  varve verify sst.varve
  varve verify sst.varve --deep`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVerify(cmd.Context(), &opts, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&opts.deep, "deep", false, "read and decode every chunk, and check all that is kept")
	addWorkers(cmd.Flags(), &opts.workers, "how much is read at once")
	cmd.Flags().BoolVar(&opts.quiet, "quiet", false, "show no progress")
	return cmd
}

func runVerify(ctx context.Context, opts *verifyOptions, name string, out, messages io.Writer) error {
	if err := verifyTables(ctx, name, opts.deep); err != nil {
		return err
	}
	s, err := store.Open(ctx, name, opts.storeOptions())
	if err != nil {
		return err
	}
	defer s.Close()
	unit := "sources"
	if opts.deep {
		unit = "sources and chunks"
	}
	shown := newProgressOf(messages, opts.quiet, "verifying", unit)
	result, err := verify.Verify(ctx, s, &verify.Options{Deep: opts.deep, Workers: opts.workers, Progress: shown.update})
	shown.finish()
	if err != nil {
		return interrupted(ctx, err)
	}
	if err := result.Err(); err != nil {
		return err
	}
	looked := plural(result.Sources, "source", "sources")
	if opts.deep {
		looked += ", " + plural(result.Chunks, "chunk", "chunks")
	}
	_, err = fmt.Fprintf(out, "%s: %s of tables and %s are as they were\n%s", name, report.Size(bytesOf(s.Snapshot())), looked, mendedText(name, s.Snapshot()))
	return err
}

// verifyTables checks a manifest's own files. Those of chunks, which may be many times as large
// as all others, are only looked for unless it is to go deep.
func verifyTables(ctx context.Context, name string, deep bool) error {
	repo, err := manifest.Open(ctx, name)
	if err != nil {
		return err
	}
	defer repo.Close()
	id, err := repo.Current(ctx)
	if err != nil {
		return err
	}
	snapshot, err := repo.Load(ctx, id)
	if err != nil {
		return err
	}
	if deep {
		return repo.Check(ctx, snapshot)
	}
	var all error
	read := *snapshot
	read.Tables = nil
	for _, t := range snapshot.Tables {
		if t.Kind != manifest.Chunks {
			read.Tables = append(read.Tables, t)
			continue
		}
		_, err := repo.FileOf(ctx, t)
		all = errors.Join(all, err)
	}
	return errors.Join(all, repo.Check(ctx, &read))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/store"
	"varve/readers/source"
)

// trustOptions are the flags of the trust command.
type trustOptions struct {
	resultOptions
	dryRun, remove bool
}

func newTrustCommand() *cobra.Command {
	var opts trustOptions
	cmd := &cobra.Command{
		Use:   "trust OUT [PLACE]...",
		Short: "Let a manifest of someone else read its sources",
		Long: `Let your commands read the sources of the manifest OUT from now on, as if you had built it.

A manifest names files, and whoever opens it reads them with their own rights. So varve reads the
sources of a manifest only if you built it, or if you allow their places: once with this command, or
each time with --allow. Look at the places with --dry-run first: is this where the archive is?

The command keeps a seal in your config folder: the folders and URLs of the sources, signed with
your key. OUT is not changed. If OUT later names files in other places, these are not read. PLACE
adds a folder or URL that no source names, such as one to which a server redirects.`,
		Example: `  varve trust sst.varve --dry-run
  varve trust sst.varve`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTrust(cmd.Context(), &opts, args, cmd.OutOrStdout())
		},
	}
	opts.resultOptions.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "print the places and keep no seal")
	cmd.Flags().BoolVar(&opts.remove, "remove", false, "remove the seal that this command kept")
	return cmd
}

func runTrust(ctx context.Context, opts *trustOptions, args []string, out io.Writer) error {
	name := args[0]
	if opts.remove {
		if opts.dryRun || len(args) > 1 {
			return usageError{errors.New("--remove takes no PLACE and no --dry-run")}
		}
		if err := store.Distrust(name); err != nil {
			return ownError{err}
		}
		return opts.print(out, trustJSON{source.Shown(name), items[string]{}}, source.Shown(name)+": no longer trusted\n")
	}
	trusted, err := store.Trust(ctx, name, &store.TrustOptions{Places: args[1:], DryRun: opts.dryRun})
	if err != nil {
		return err
	}
	text := "may now read"
	if opts.dryRun {
		text = "would read"
	}
	lines := []string{fmt.Sprintf("%s: %s files below", source.Shown(name), text)}
	for _, place := range trusted.Prefixes {
		lines = append(lines, "  "+printable(place))
	}
	return opts.print(out, trustJSON{trusted.Manifest, trusted.Prefixes}, strings.Join(lines, "\n")+"\n")
}

// trustJSON is the JSON of trust.
type trustJSON struct {
	Manifest string        `json:"manifest"`
	Places   items[string] `json:"places"`
}

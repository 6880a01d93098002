package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/codec"
	"varve/manifest/export/kerchunk"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/relocate"
	"varve/manifest/store"
	"varve/readers/source"
)

// The exit codes. exits describes them for the help.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitConflict    = 3
	exitSource      = 4
	exitCorrupt     = 5
	exitForbidden   = 6
	exitInterrupted = 130
)

var exits = []struct {
	code int
	says string
}{
	{exitDone, "done"},
	{exitFailed, "failed"},
	{exitUsage, "wrong usage"},
	{exitConflict, "the files cannot be combined as asked"},
	{exitSource, "a source is missing or has changed"},
	{exitCorrupt, "corrupt input"},
	{exitForbidden, "not allowed"},
	{exitInterrupted, "interrupted"},
}

// usageError marks an error in the command line.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

// ownError marks an error about a file or address that is not a source, such as an output folder.
type ownError struct{ err error }

func (o ownError) Error() string { return o.err.Error() }
func (o ownError) Unwrap() error { return o.err }

// exitCode returns the exit code for the error of a command.
func exitCode(err error, interrupted bool) int {
	var usage usageError
	var own ownError
	var option *plan.OptionError
	var conflict *plan.Error
	var patches *kerchunk.PatchError
	var move *relocate.MoveError
	var sliced *slicedError
	var removed *ingest.MaxDeleteError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &sliced):
		return sliced.code
	case interrupted || errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &option), errors.As(err, &move), errors.Is(err, store.ErrSource):
		return exitUsage
	case errors.As(err, &conflict), errors.As(err, &patches), errors.As(err, &removed):
		return exitConflict
	case errors.Is(err, source.ErrForbidden):
		return exitForbidden
	case errors.Is(err, source.ErrChanged):
		return exitSource
	case errors.Is(err, codec.ErrCorrupt):
		return exitCorrupt
	case errors.Is(err, fs.ErrPermission):
		return exitForbidden
	case errors.As(err, &own):
		return exitFailed
	case errors.Is(err, fs.ErrNotExist):
		return exitSource
	}
	return exitFailed
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "varve",
		Short: "Combine NetCDF, HDF5, GRIB and Zarr files into one virtual Zarr dataset",
		Long: `varve combines the NetCDF, HDF5, Zarr and other files of an archive into one Zarr dataset.
It does not copy or change the files. Try "varve demo" first. Errors have colours on a terminal,
unless NO_COLOR is set.

` + exitHelp(),
		Example: `  varve check archive/
  varve build sst.varve archive/
  varve serve sst.varve`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q.%s See varve --help", args[0], plan.DidYouMean(args[0], commandNames(c)))}
			}
			return nil
		},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return useAccess(c) },
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetGlobalNormalizationFunc(currentFlagName)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(commands()...)
	for _, c := range root.Commands() {
		checkArgs(c)
		completeFlags(c)
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = knownWords(c, root)
		case "completion":
			c.Args = knownWords(c, c)
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	return root
}

// currentFlagName maps the former names of flags, which scripts still use, to the current ones.
func currentFlagName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "spread" {
		name = "broadcast"
	}
	return pflag.NormalizedName(name)
}

func commands() []*cobra.Command {
	return []*cobra.Command{
		newAppendCommand(),
		newBuildCommand(),
		newCheckCommand(),
		newCompactCommand(),
		newCurateCommand(),
		newDemoCommand(),
		newDiffCommand(),
		newEngineCommand(),
		newExplainCommand(),
		newExportCommand(),
		newGCCommand(),
		newHistoryCommand(),
		newIndexCommand(),
		newInfoCommand(),
		newInspectCommand(),
		newManCommand(),
		newMountCommand(),
		newReadCommand(),
		newRecipesCommand(),
		newRefreshCommand(),
		newRelocateCommand(),
		newRemoveCommand(),
		newRepairCommand(),
		newRestoreCommand(),
		newScanCommand(),
		newServeCommand(),
		newSourcesCommand(),
		newSyncCommand(),
		newTagCommand(),
		newTrustCommand(),
		newVerifyCommand(),
		newVersionCommand(),
		newWorkCommand(),
	}
}

// knownWords returns a check that all arguments are subcommands of another command. Without it,
// cobra's own commands print their help for a wrong argument and exit with 0.
func knownWords(c, of *cobra.Command) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if found, _, err := of.Find(args); err != nil || found == of {
			return usageError{fmt.Errorf("%s: unknown command %q.%s See %s --help", c.Name(), args[0], plan.DidYouMean(args[0], commandNames(of)), of.CommandPath())}
		}
		return nil
	}
}

// checkArgs makes wrong arguments of a command usage errors. It also refuses empty arguments: a shell
// variable that is not set would otherwise name the current folder.
func checkArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if at := slices.Index(args, ""); at >= 0 {
			return usageError{fmt.Errorf("%s: argument %d is empty. Is a shell variable not set? See %s --help", strings.TrimPrefix(c.CommandPath(), "varve "), at+1, c.CommandPath())}
		}
		if _, isUsage := err.(usageError); err == nil || isUsage {
			return err
		}
		wanted := "nothing"
		if _, named, ok := strings.Cut(c.Use, " "); ok {
			wanted = named
		}
		return usageError{fmt.Errorf("%s: want %s, got %s; see %s --help", strings.TrimPrefix(c.CommandPath(), "varve "), wanted, plural(int64(len(args)), "argument", "arguments"), c.CommandPath())}
	}
}

func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.says)
	}
	return strings.TrimRight(b.String(), "\n")
}

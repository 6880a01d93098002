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
	"varve/manifest/plan"
	"varve/manifest/relocate"
	"varve/manifest/store"
	"varve/readers/source"
)

// The exit codes; exits says what each means to a user.
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

// usageError is an error in the way that varve was called.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

// ownError is the error of a file or an address that is varve's own, and no source.
type ownError struct{ err error }

func (o ownError) Error() string { return o.err.Error() }
func (o ownError) Unwrap() error { return o.err }

// exitCode maps what a command returned to what a script sees.
func exitCode(err error, interrupted bool) int {
	var usage usageError
	var own ownError
	var option *plan.OptionError
	var conflict *plan.Error
	var patches *kerchunk.PatchError
	var move *relocate.MoveError
	switch {
	case err == nil:
		return exitDone
	case interrupted || errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &option), errors.As(err, &move), errors.Is(err, store.ErrSource):
		return exitUsage
	case errors.As(err, &conflict), errors.As(err, &patches):
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
		Use:           "varve",
		Short:         "Every file in the archive, one Zarr",
		Long:          "varve reads the archives that NetCDF, HDF5 and Zarr files make up as one Zarr\ndataset, without copying them and without rewriting them.\n\n" + exitHelp(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q; see varve --help", args[0])}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetGlobalNormalizationFunc(currentFlagName)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	root.AddCommand(commands()...)
	for _, c := range root.Commands() {
		checkArgs(c)
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
		newDemoCommand(),
		newEngineCommand(),
		newExplainCommand(),
		newExportCommand(),
		newGCCommand(),
		newHistoryCommand(),
		newInfoCommand(),
		newInspectCommand(),
		newReadCommand(),
		newRelocateCommand(),
		newRestoreCommand(),
		newScanCommand(),
		newServeCommand(),
		newVerifyCommand(),
		newVersionCommand(),
	}
}

// knownWords refuses arguments that are no command of another, to which the commands that
// cobra adds would answer with a help that nobody asked for.
func knownWords(c, of *cobra.Command) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if found, _, err := of.Find(args); err != nil || found == of {
			return usageError{fmt.Errorf("%s knows no %q; see %s --help", c.Name(), args[0], of.CommandPath())}
		}
		return nil
	}
}

// checkArgs makes wrong arguments of a command usage errors. An empty one would be the folder
// that the command runs in.
func checkArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if at := slices.Index(args, ""); at >= 0 {
			return usageError{fmt.Errorf("%s: argument %d is empty: was a variable of the shell not set?; see %s --help", strings.TrimPrefix(c.CommandPath(), "varve "), at+1, c.CommandPath())}
		}
		if _, told := err.(usageError); err == nil || told {
			return err
		}
		wanted := "nothing"
		if _, named, ok := strings.Cut(c.Use, " "); ok {
			wanted = named
		}
		return usageError{fmt.Errorf("%s wants %s, and was given %s; see %s --help", strings.TrimPrefix(c.CommandPath(), "varve "), wanted, plural(int64(len(args)), "argument", "arguments"), c.CommandPath())}
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

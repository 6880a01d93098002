package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and the Go version",
		Long:    `Print the version and commit of varve, and the Go version and platform of its build.`,
		Example: `  varve version`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), version())
			return err
		},
	}
}

// version describes the build.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "varve, unknown build"
	}
	commit, dirty := "unknown commit", ""
	if len(buildCommit) >= 12 {
		commit = buildCommit[:12]
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ", modified"
		}
	}
	return fmt.Sprintf("varve %s (%s%s), %s %s/%s", info.Main.Version, commit, dirty, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versionName returns the version without the commit.
func versionName() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// buildCommit is set by the linker in wheels, which may be built where Go finds no repository.
var buildCommit string

// commitName is the commit alone.
func commitName() string {
	if buildCommit != "" {
		return buildCommit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

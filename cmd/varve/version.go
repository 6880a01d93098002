package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

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
	if name := commitName(); len(name) >= 12 {
		commit = name[:12]
	}
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "vcs.modified", Value: "true"}) {
		dirty = ", modified"
	}
	return fmt.Sprintf("varve %s (%s%s), %s %s/%s", versionName(), commit, dirty, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// build identifies the program. Programs of changed sources have equal versions, so it has the time of the file then.
func build() string {
	name := version()
	if !strings.Contains(name, "modified") && !strings.Contains(name, "unknown") {
		return name
	}
	if path, err := os.Executable(); err == nil {
		if info, err := os.Stat(path); err == nil {
			name += info.ModTime().String()
		}
	}
	return name
}

// versionName returns the version without the commit.
func versionName() string {
	if buildVersion != "" {
		return buildVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// The linker sets buildVersion in releases, and buildCommit in releases and wheels, which may be built where Go finds no
// repository.
var buildVersion, buildCommit string

// commitName returns the full id of the commit, or "unknown".
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

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"varve/fixtures"
)

func newDemoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo [DIR]",
		Short: "Combine a small sample archive, and show each command",
		Long: `Write a sample archive to DIR, by default a new temporary folder, and run check, build, read and
verify on it. The archive has three months of daily temperatures in netCDF-4 files. The months
differ in length, and one file is compressed with other codecs.`,
		Example: `  varve demo demo`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := demoDir(args)
			if err != nil {
				return err
			}
			return runDemo(c.Context(), c.OutOrStdout(), dir)
		},
	}
}

// demoDir returns the folder to work in. It must be empty or missing.
func demoDir(args []string) (string, error) {
	if len(args) == 0 {
		dir, err := os.MkdirTemp("", "varve-demo-")
		if err != nil {
			err = ownError{fmt.Errorf("cannot make a temporary folder: set TMPDIR (on Windows TMP), or run varve demo DIR: %w", err)}
		}
		return dir, err
	}
	if err := checkLocal(args[0]); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(args[0])
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(entries) > 0 {
		return "", usageError{fmt.Errorf("%s is not empty; name a new folder", args[0])}
	}
	return args[0], os.MkdirAll(args[0], 0o777)
}

// runDemo runs the commands of a first session on the sample archive. After an error it empties the
// folder, so that the same command can be run again.
func runDemo(ctx context.Context, out io.Writer, dir string) (err error) {
	files, manifest := filepath.Join(dir, "files"), filepath.Join(dir, "t2m.varve")
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(files), os.RemoveAll(manifest))
		}
	}()
	if err := writeDemoFiles(files); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"check", files},
		{"build", manifest, files},
		{"read", manifest, "t2m", "--isel", "time=25:65", "--stat"},
		{"verify", manifest, "--deep"},
	} {
		if err := demonstrate(ctx, out, args); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, demoNext, manifest, manifest, filepath.Join(dir, "refs.json"), filepath.Join(files, "2021-03.nc"))
	return err
}

// demonstrate prints a command and runs it.
func demonstrate(ctx context.Context, out io.Writer, args []string) error {
	fmt.Fprintf(out, "$ varve %s\n", strings.Join(args, " "))
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(out)
	if err := root.ExecuteContext(ctx); err != nil {
		return fmt.Errorf("varve %s: %w", args[0], err)
	}
	_, err := fmt.Fprintln(out)
	return err
}

const demoNext = `Three files of 31, 28 and 31 days, one with other codecs, are now one array. Nothing was copied.

Try next
  varve serve %s --listen 127.0.0.1:8080      then open http://127.0.0.1:8080
  varve export kerchunk %s %s
  varve inspect %s
`

// writeDemoFiles unpacks the sample archive.
func writeDemoFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return os.CopyFS(dir, mustSub(fixtures.Demo, "demo"))
}

// mustSub is fs.Sub of a folder that is compiled in.
func mustSub(f fs.FS, dir string) fs.FS {
	sub, err := fs.Sub(f, dir)
	if err != nil {
		panic(err)
	}
	return sub
}

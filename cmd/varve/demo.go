package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"varve/fixtures"
)

func newDemoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo [DIR]",
		Short: "Combine a small sample archive, and show each command",
		Long: `Write a sample archive to DIR/files, and run check, build, read and verify on it. DIR is a new folder,
by default demo, or that of an earlier demo: its archive is combined again, and other files in it
stay. The archive has three months of daily temperatures in netCDF-4 files. The months differ in
length, and one file is compressed with other codecs.`,
		Example: `  varve demo
  varve demo sample`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "demo"
			if len(args) > 0 {
				dir = args[0]
			}
			return runDemo(c.Context(), c.OutOrStdout(), dir)
		},
	}
}

// demoStep is a command of the demo, and what it is for.
type demoStep struct {
	about      string
	args       []string
	isRepeated bool // whether its messages, which are those of the step before, are left out
}

// runDemo runs the commands of a first session on the sample archive. After an error it removes what it wrote into a new
// folder, so that the same command can be run again.
func runDemo(ctx context.Context, out io.Writer, dir string) (err error) {
	isAgain, err := checkDemoDir(dir)
	if err != nil {
		return err
	}
	files, manifest := filepath.Join(dir, "files"), filepath.Join(dir, "t2m.varve")
	build := []string{"build", manifest, files}
	if isAgain {
		build = append(build, "--force")
		fmt.Fprintf(out, "%s is already the folder of a demo: %s is built again, other files stay.\n\n", dir, manifest)
	} else {
		defer func() {
			if err != nil {
				err = errors.Join(err, os.RemoveAll(files), os.RemoveAll(manifest))
			}
		}()
		if err := writeDemoFiles(files); err != nil {
			return ownError{fmt.Errorf("cannot write the sample archive: %w. Run varve demo DIR with another folder", err)}
		}
		fmt.Fprintf(out, "%s has the sample archive: daily temperatures of three months, a netCDF-4 file each.\n\n", files)
	}
	for _, step := range []demoStep{
		{"Compare the files: what do they become, and where do they disagree?", []string{"check", files}, false},
		{"Combine them, without a copy. build prints the same differences, which are left out here.", build, true},
		{"Read 40 days, from the end of January to the beginning of March.", []string{"read", manifest, "t2m", "--isel", "time=25:65", "--stat"}, false},
		{"Compare the sources with what the manifest says about them.", []string{"verify", manifest, "--deep"}, false},
	} {
		if err := step.run(ctx, out); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, demoNext, commandName(), manifest)
	return err
}

// run prints a command and runs it.
func (s *demoStep) run(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "# %s\n$ varve %s\n", s.about, strings.Join(s.args, " "))
	root := newRootCommand()
	root.SetArgs(s.args)
	root.SetOut(out)
	root.SetErr(out)
	if s.isRepeated {
		root.SetErr(io.Discard)
	}
	if err := root.ExecuteContext(ctx); err != nil {
		return fmt.Errorf("varve %s: %w", s.args[0], err)
	}
	_, err := fmt.Fprintln(out)
	return err
}

const demoNext = `Three files of 31, 28 and 31 days, one with other codecs, are now one array. Nothing was copied.

Next, look at it in a browser:
  %s serve %s
`

// commandName returns what a user writes to run this program again.
func commandName() string {
	if _, err := exec.LookPath("varve"); err == nil {
		return "varve"
	}
	if strings.Contains(filepath.ToSlash(os.Args[0]), "/go-build") { // go run removes the program when it ends
		return "go run ./cmd/varve"
	}
	return os.Args[0]
}

// checkDemoDir returns an error if a demo cannot use a folder. It can if the folder is missing, is empty or has the
// sample archive, which isAgain reports.
func checkDemoDir(dir string) (isAgain bool, err error) {
	if err := checkLocal(dir); err != nil {
		return false, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return false, nil
	}
	if err != nil {
		return false, ownError{err}
	}
	isAgain, err = hasDemoFiles(os.DirFS(dir))
	if err == nil && !isAgain {
		err = usageError{fmt.Errorf("%s has other files than those of varve demo; name a new folder: varve demo DIR", dir)}
	}
	return isAgain, err
}

// hasDemoFiles reports whether the folder files has the sample archive and nothing else.
func hasDemoFiles(dir fs.FS) (bool, error) {
	samples, err := fs.ReadDir(fixtures.Demo, "demo")
	if err != nil {
		return false, err
	}
	found, err := fs.ReadDir(dir, "files")
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(found) != len(samples) {
		return false, nil
	}
	if err != nil {
		return false, ownError{err}
	}
	for i, sample := range samples { // both lists are in the order of names
		if found[i].Name() != sample.Name() || !found[i].Type().IsRegular() {
			return false, nil
		}
		want, err := fixtures.Demo.ReadFile("demo/" + sample.Name())
		if err != nil {
			return false, err
		}
		got, err := fs.ReadFile(dir, "files/"+sample.Name())
		if err != nil {
			return false, ownError{err}
		}
		if !bytes.Equal(got, want) {
			return false, nil
		}
	}
	return true, nil
}

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

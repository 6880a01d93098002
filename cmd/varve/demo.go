package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"varve/fixtures"
)

func newDemoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo [DIR]",
		Short: "Make one Zarr out of a small archive that disagrees with itself",
		Long: "demo writes three months of daily temperatures into DIR (by default a new temporary\n" +
			"folder): netCDF-4 files of unequal length, of which one is compressed in another way. It\n" +
			"says where they disagree, makes one Zarr of them, reads across the files and verifies every\n" +
			"element against its source.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := demoDir(args)
			if err != nil {
				return err
			}
			return runDemo(c.Context(), c.OutOrStdout(), dir)
		},
	}
}

// demoDir returns the folder to work in, which must not hold anything yet.
func demoDir(args []string) (string, error) {
	if len(args) == 0 {
		return os.MkdirTemp("", "varve-demo-")
	}
	entries, err := os.ReadDir(args[0])
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(entries) > 0 {
		return "", usageError{fmt.Errorf("%s is not empty; name a new folder", args[0])}
	}
	return args[0], os.MkdirAll(args[0], 0o755)
}

func runDemo(ctx context.Context, out io.Writer, dir string) error {
	files, err := writeDemoFiles(filepath.Join(dir, "files"))
	if err != nil {
		return err
	}
	m, err := openMosaic(ctx, files)
	if err != nil {
		return err
	}
	defer m.close()
	store := filepath.Join(dir, "archive.zarr")
	for _, step := range []func() (string, error){
		m.check,
		func() (string, error) { return m.build(ctx, store) },
		func() (string, error) { return readDemo(store) },
		func() (string, error) { return m.verify(ctx, store) },
	} {
		says, err := step()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, says); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, demoNext, files[1], store)
	return err
}

const demoNext = `
Try next
  varve inspect %s
  ZARR_ARRAY__RECTILINEAR_CHUNKS=True python -c 'import xarray; print(xarray.open_zarr("%s"))'
`

// writeDemoFiles unpacks the sample archive and returns the names of its files in order.
func writeDemoFiles(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, mustSub(fixtures.Demo, "demo")); err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "*.nc"))
}

// mustSub is fs.Sub of a folder that is compiled in.
func mustSub(f fs.FS, dir string) fs.FS {
	sub, err := fs.Sub(f, dir)
	if err != nil {
		panic(err)
	}
	return sub
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/present"
	"varve/manifest/store"
)

// readOptions are the flags of the read command.
type readOptions struct {
	allowOptions
	isel, sel []string
	stat      bool
	decode    bool
	output    string
}

func newReadCommand() *cobra.Command {
	var opts readOptions
	cmd := &cobra.Command{
		Use:   "read OUT ARRAY",
		Short: "Read a region of an array",
		Long: `Read a region of an array, through all files that hold a part of it, and print it as a table,
its statistics, or write it to a file whose suffix says how: .npy or .csv.`,
		Example: `  varve read sst.varve sst --stat
  varve read sst.varve sst --isel time=0:10,lat=3 -o ten.npy
  varve read sst.varve sst --sel time=2010-01:2010-02,lat=-5:5 --decode -o tropics.csv`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRead(cmd.Context(), &opts, args[0], args[1], cmd.OutOrStdout())
		},
	}
	opts.addFlags(cmd)
	cmd.Flags().StringSliceVar(&opts.isel, "isel", nil, "select by `index`: DIM=3, DIM=0:10 or DIM=::2, several with commas")
	cmd.Flags().StringSliceVar(&opts.sel, "sel", nil, "select by `coordinate`: DIM=VALUE or DIM=FROM:TO, both included; dates may be cut short")
	cmd.Flags().BoolVar(&opts.stat, "stat", false, "print count, valid, min, max, mean and sum, as JSON")
	cmd.Flags().BoolVar(&opts.decode, "decode", false, "apply scale_factor, add_offset, fill values and units of time")
	cmd.Flags().StringVarP(&opts.output, "output", "o", "", "write to this `file`")
	return cmd
}

func runRead(ctx context.Context, opts *readOptions, name, array string, out io.Writer) error {
	st, err := store.Open(ctx, name, opts.storeOptions())
	if err != nil {
		return err
	}
	defer st.Close()
	a, err := st.Array(array)
	if err != nil {
		if errors.Is(err, store.ErrNoArray) {
			_, err = findArray(st.Snapshot(), array) // says which there are
		}
		return err
	}
	s := present.Whole(a)
	if err := errors.Join(s.ByIndex(opts.isel), s.ByCoordinate(ctx, st, opts.sel)); err != nil {
		return usageError{err}
	}
	d, err := present.NewDecoder(a, opts.decode)
	if err != nil {
		return err
	}
	switch {
	case opts.stat:
		return printStatistics(ctx, out, s, d)
	case opts.output == "":
		return present.WriteCSV(ctx, out, st, s, d)
	}
	return writeRegion(ctx, opts.output, st, s, d)
}

func printStatistics(ctx context.Context, out io.Writer, s *present.Selection, d *present.Decoder) error {
	if err := d.IsNumeric(); err != nil {
		return err
	}
	t, err := present.Measure(ctx, s, d)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(struct {
		Count int64    `json:"count"`
		Valid int64    `json:"valid"`
		Min   *float64 `json:"min"`
		Max   *float64 `json:"max"`
		Mean  *float64 `json:"mean"`
		Sum   *float64 `json:"sum"`
	}{t.Count, t.Valid, finite(t.Min), finite(t.Max), finite(t.Mean), finite(t.Sum)})
}

// finite is a number that JSON has, or null.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// writeRegion writes a file as its suffix says.
func writeRegion(ctx context.Context, name string, st *store.Store, s *present.Selection, d *present.Decoder) error {
	var write func(io.Writer) error
	switch suffix := strings.ToLower(filepath.Ext(name)); suffix {
	case ".npy":
		write = func(w io.Writer) error { return present.WriteNPY(ctx, w, s, d) }
	case ".csv":
		write = func(w io.Writer) error { return present.WriteCSV(ctx, w, st, s, d) }
	default:
		return usageError{fmt.Errorf("%s: no way to write %q; known are .npy and .csv", name, suffix)}
	}
	return writeWhole(name, write)
}

// writeWhole writes a file, which is there whole or not at all.
func writeWhole(name string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Close())
	if err == nil {
		err = errors.Join(os.Chmod(file.Name(), 0o644), os.Rename(file.Name(), name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
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
	quiet     bool
}

func newReadCommand() *cobra.Command {
	var opts readOptions
	cmd := &cobra.Command{
		Use:   "read OUT ARRAY...",
		Short: "Read a region of an array, or its statistics",
		Long: `Read a region of an array and print it as CSV or as statistics, or write it to a file. The suffix
of the file selects the format. .nc, .csv and .json can have several arrays; ARRAY may be a glob.

  .npy   NumPy; with --decode floats, and datetime64[ns] for times in a standard calendar
  .csv   one row for each element, with its coordinates
  .json  as xarray's Dataset.from_dict reads it, with coordinates and attributes
  .png   a plot of one or two dimensions, decoded
  .nc    netCDF classic (CDF-2, or CDF-5 if needed), with coordinates, bounds and attributes; numbers
         stay packed

--isel selects by index, as in Python: lat=3, lat=-1 (the last), time=0:10, time=::2, lat=::-1
(from the last to the first), 'time=[1,5,30]'. --sel selects by coordinate, as in xarray:

  lat=45.5               this value, which must exist
  lat=~50.3              the nearest number or time
  lat=-5:5               a range, both ends included, in either order
  lon=-10:10             if the longitudes are 0 to 360: 350 to 10, across the seam, in this order
  time=2010-02           all of February, in the calendar of the coordinate
  time=2010-01:2010-03   January to March
  station=Bergen:Oslo    a range of texts in alphabetical order; both must exist
  station=Oslo           a text; quote a text with a comma: '"station=Oslo, Blindern"'

A dimension with one selected index is dropped from the result.`,
		Example: `  varve read sst.varve sst --stat
  varve read sst.varve sst --isel time=0:10,lat=3 -o ten.npy
  varve read sst.varve sst --sel time=2010-01:2010-02,lat=-5:5 --decode -o tropics.csv
  varve read sst.varve sst --isel time=-1 -o latest.png
  varve read sst.varve sst --isel 'time=[1,5,30],lat=::-1' -o some.npy
  varve read sst.varve sst --sel time=2010 -o 2010.nc
  varve read sst.varve '*' --sel lat=-5:5 -o tropics.nc`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRead(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.addFlags(cmd)
	addSnapshot(cmd.Flags(), &opts.snapshot)
	cmd.Flags().Var((*indexTerms)(&opts.isel), "isel", "select by `index`: DIM=3, DIM=0:10, DIM=::-1 or DIM=[1,5,30]; separate several by commas")
	cmd.Flags().StringSliceVar(&opts.sel, "sel", nil, "select by `coordinate`: DIM=VALUE or DIM=FROM:TO, both included")
	cmd.Flags().BoolVar(&opts.stat, "stat", false, "print count, valid, min, max, mean and sum as JSON")
	cmd.Flags().BoolVar(&opts.decode, "decode", false, "apply scale_factor, add_offset, fill values and time units")
	cmd.Flags().StringVarP(&opts.output, "output", "o", "", "write to this `file`: .npy, .csv, .json, .png or .nc")
	cmd.Flags().BoolVar(&opts.quiet, "quiet", false, "print no progress")
	return cmd
}

func runRead(ctx context.Context, opts *readOptions, args []string, out, messages io.Writer) error {
	format, err := opts.format()
	if err != nil {
		return usageError{err}
	}
	if opts.output != "" {
		if err := checkReplaced(opts.output); err != nil {
			return err
		}
	}
	st, err := store.Open(ctx, args[0], opts.storeOptions())
	if err != nil {
		return err
	}
	defer st.Close()
	if opts.output != "" {
		if err := st.CheckReplaced(ctx, opts.output); err != nil {
			return err
		}
	}
	arrays, err := arraysNamed(st, args[1:])
	if err != nil {
		return err
	}
	selections, err := present.SelectAll(ctx, st, arrays, opts.isel, opts.sel)
	var wrong *present.SelectionError
	if errors.As(err, &wrong) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if opts.stat {
		if len(selections) > 1 {
			return usageError{fmt.Errorf("--stat is of one array; read %s and %s separately", arrays[0].Path(), arrays[1].Path())}
		}
		return printStatistics(ctx, out, selections[0], opts.decode)
	}
	o, err := format.Output(ctx, st, opts.decode, selections...)
	if err != nil {
		return err
	}
	if opts.output == "" {
		return o.Write(ctx, dataWriter(out))
	}
	shown := newProgressOf(messages, opts.quiet, "reading", "elements")
	defer shown.finish()
	for _, s := range selections {
		s.Progress = shown.update
	}
	return writeWhole(opts.output, func(w io.Writer) error { return o.Write(ctx, w) })
}

// arraysNamed returns the arrays with these names, which may be globs.
func arraysNamed(st *store.Store, names []string) (arrays []*store.Array, err error) {
	for _, name := range names {
		a, err := st.Array(name)
		if err == nil {
			arrays = append(arrays, a)
			continue
		}
		n := len(arrays)
		for _, a := range st.Arrays() {
			if ok, _ := path.Match(strings.Trim(name, "/"), strings.TrimPrefix(a.Path(), "/")); ok {
				arrays = append(arrays, a)
			}
		}
		if n == len(arrays) {
			if errors.Is(err, store.ErrNoArray) {
				_, err = findArray(st.Snapshot(), name) // its error lists the arrays
			}
			return nil, err
		}
	}
	return arrays, nil
}

// indexTerms is the value of --isel: terms that are separated by commas, except in brackets and in quotes. Quotes
// around a term are removed.
type indexTerms []string

// Set implements pflag.Value. A repeated flag adds terms.
func (l *indexTerms) Set(text string) error { return l.add(text) }

func (l *indexTerms) add(texts ...string) error {
	for _, text := range texts {
		depth, from, isQuoted := 0, 0, false
		for i, r := range text + "," {
			switch {
			case r == '"':
				isQuoted = !isQuoted
			case isQuoted:
			case r == '[':
				depth++
			case r == ']':
				depth--
			}
			if end := i == len(text); end || r == ',' && depth <= 0 && !isQuoted {
				*l, from = append(*l, strings.Trim(text[from:i], `"`)), i+1
			}
		}
	}
	return nil
}

// String implements pflag.Value.
func (l *indexTerms) String() string { return strings.Join(*l, ",") }

// Type implements pflag.Value.
func (l *indexTerms) Type() string { return "index" }

// Append, Replace and GetSlice implement pflag.SliceValue, so that a configuration file may have a list.
func (l *indexTerms) Append(text string) error { return l.add(text) }

// Replace implements pflag.SliceValue.
func (l *indexTerms) Replace(texts []string) error {
	*l = nil
	return l.add(texts...)
}

// GetSlice implements pflag.SliceValue.
func (l *indexTerms) GetSlice() []string { return *l }

// format returns the format of the output, by the options and the suffix of the file.
func (o *readOptions) format() (present.Format, error) {
	suffix, names := strings.ToLower(filepath.Ext(o.output)), present.FormatNames()
	if o.stat && o.output != "" {
		return present.Format{}, errors.New("--stat prints to standard output; remove -o")
	}
	if o.output == "" {
		suffix = ".csv"
	}
	f, ok := present.FormatOf(strings.TrimPrefix(suffix, "."))
	switch {
	case !ok:
		return f, fmt.Errorf("%s: unknown suffix %q; want .%s or .%s", o.output, suffix, strings.Join(names[:len(names)-1], ", ."), names[len(names)-1])
	case f.IsPacked && o.decode:
		return f, fmt.Errorf("a .%s file keeps numbers packed, with scale_factor and add_offset; remove --decode", f.Name)
	}
	return f, nil
}

func printStatistics(ctx context.Context, out io.Writer, s *present.Selection, decode bool) error {
	d, err := present.NewDecoder(s.Array, &present.DecoderOptions{Packed: !decode})
	if err != nil {
		return err
	}
	t, err := present.Measure(ctx, s, d)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(t)
}

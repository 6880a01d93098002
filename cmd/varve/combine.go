package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/readers/source"
)

// addChecksums declares the flag that stores checksums.
func addChecksums(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "checksum", false, "store a checksum of each chunk, which reads verify; reads all data once")
}

// combineOptions are the flags that check, build, append and scan share: which files, and how
// they make up arrays.
type combineOptions struct {
	match      string
	from       []string
	asset      string
	workers    int
	skipBroken bool
	quiet      bool
	config     string
	recipe     string
	curation   string
	optional   []report.Setting // of the recipe
	download   bool
	allow      []string
	keepScan   string
	formats    formatFlags

	concat, vars, drop  []string
	newDims, rename     []string
	broadcast, join     []string
	chunks, dtypes      []string
	repack, lossy       []string
	group, codecFrom    string
	missing, pad        string
	coords, overlap     string
	longitudes          string
	flip                []string
	units               string
	inline, valueBytes  int64
	tolerance           float64
	strict, rectilinear bool
	padded, keepForeign bool
	keepQuery           []string
	revises             bool // the command reads the sources of a manifest
}

// addSourceFlags declares the flags that choose files, and how they are read.
func (o *combineOptions) addSourceFlags(f *pflag.FlagSet) {
	o.addMatch(f)
	f.StringArrayVar(&o.from, "from", nil, "read the files of a saved STAC or CMR search too: a JSON `file`; can be repeated")
	f.StringVar(&o.asset, "asset", "", "choose the files of --from: an asset's `key`, a link's type, data or s3 (default data)")
	addReaders(f, &o.workers, "read this `number` of files at once")
	f.BoolVar(&o.skipBroken, "skip-broken", false, "leave out files that cannot be read, and list them")
	addFetch(f, &o.download)
	f.StringArrayVar(&o.allow, "allow", nil, "let files refer to other files below this `folder`, besides their own folder")
	o.valueBytes = manifest.DefaultValueBytes
	addNumber(f, &o.valueBytes, 1, "value-bytes", "store coordinates and texts of up to this many `bytes` a file in the manifest")
	f.StringArrayVar(&o.keepQuery, "keep-query", nil, "store this `parameter` of URLs, which selects data and is no secret; can be repeated")
	o.formats.addTo(f)
	f.BoolVar(&o.quiet, "quiet", false, "print errors only")
	f.StringVar(&o.config, "config", "", "read flags from this YAML `file`; flags of the command line take precedence")
}

// addRevisionFlags is addSourceFlags for the commands that read the sources of a manifest, which somebody else may have
// built.
func (o *combineOptions) addRevisionFlags(f *pflag.FlagSet) {
	o.addSourceFlags(f)
	o.revises = true
	f.Lookup("allow").Usage = "let OUT, and files that refer to others, read below this `place`, as VARVE_ALLOW does"
}

// addMatch declares the flag that chooses files in folders.
func (o *combineOptions) addMatch(f *pflag.FlagSet) {
	f.StringVar(&o.match, "match", "", "in folders, archives and --from, scan only files whose names match this `glob`")
}

// sourceArgs returns a check that a command has n arguments or more, the last of them a source. With --from it needs no source.
func sourceArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("from") {
			return cobra.MinimumNArgs(n-1)(cmd, args)
		}
		return cobra.MinimumNArgs(n)(cmd, args)
	}
}

// addKeepScan declares the flag that keeps the results of a scan if its command fails.
func (o *combineOptions) addKeepScan(f *pflag.FlagSet) {
	f.StringVar(&o.keepScan, "keep-scan", "", "store scans in this `folder` and reuse them, so that a stopped command can continue")
}

// longScan is the duration from which on a lost scan is reported.
const longScan = time.Minute

// sayKept prints whether the results of the scan of a failed command are kept.
func (o *combineOptions) sayKept(messages io.Writer, spent time.Duration) {
	switch {
	case spent == 0: // nothing was scanned
	case o.keepScan != "":
		fmt.Fprintf(messages, "the scan is kept in %s: run the same command again to continue\n", o.keepScan)
	case spent >= longScan:
		fmt.Fprintln(messages, "the scan is lost; with --keep-scan FOLDER the same command could have continued it")
	}
}

// addPlanFlags declares the flags of the planner.
func (o *combineOptions) addPlanFlags(f *pflag.FlagSet) {
	f.StringVar(&o.recipe, "recipe", "", "add the options of the recipe with this `name`; varve recipes lists them")
	f.StringVar(&o.curation, "curation", "", "change names and attributes as this YAML `file` says; it also applies to appended files")
	f.StringSliceVar(&o.concat, "concat", nil, "concatenate along these `dimensions`; DIM=files keeps each file in one piece")
	f.StringArrayVar(&o.newDims, "new-dim", nil, "add a dimension: `NAME=PATTERN` on file names, =attr:NAME, =var:NAME or =list:FILE")
	f.StringArrayVar(&o.broadcast, "broadcast", nil, "repeat a variable along a dimension that it lacks: `ARRAY=DIM`; ARRAY may be a glob")
	f.StringSliceVar(&o.vars, "vars", nil, "keep only variables that match these `globs`")
	f.StringSliceVar(&o.drop, "drop", nil, "drop variables that match these `globs`; @NAME is a group attribute")
	f.StringVar(&o.group, "group", "", "combine only this `group`, which becomes the root")
	f.StringArrayVar(&o.rename, "rename", nil, "rename a variable or dimension: `OLD=NEW`")
	f.StringVar(&o.missing, "missing", "fill", "choose what to do if some files lack a variable: `fill`, drop or refuse")
	f.StringVar(&o.pad, "pad", "", "pad files that are shorter along a dimension, with the fill value: `fill`")
	f.StringArrayVar(&o.join, "join", nil, "join coordinates that differ in part: `HOW` or DIM=HOW; exact (default), inner or outer")
	f.StringVar(&o.coords, "coords", "", "take the coordinates of the first file, if files differ: `first`")
	f.StringVar(&o.longitudes, "longitudes", "", "bring longitudes to this `range`: 0..360 or -180..180")
	f.StringSliceVar(&o.flip, "flip", nil, "read files backwards that run the other way along these `dimensions`; or DIM=increasing, =decreasing")
	f.StringVar(&o.units, "units", "", "combine numbers whose units differ: `convert` them, declare the first units, or drop the units")
	f.Float64Var(&o.tolerance, "tolerance", 0, "treat numeric coordinates as equal within this absolute tolerance (default 0)")
	f.StringVar(&o.overlap, "overlap", "", "choose the file that provides positions of several files: `first` or last")
	o.inline = plan.DefaultInline
	addNumber(f, &o.inline, 0, "inline", "store variables of up to this many `bytes` in the manifest")
	f.BoolVar(&o.keepForeign, "keep-foreign", false, "keep files that share no variable and no grid with the others, as arrays of their own")
	f.BoolVar(&o.strict, "strict", false, "fail if a chunk would be re-encoded")
	f.BoolVar(&o.rectilinear, "rectilinear", false, "declare rectilinear chunk grids, even if a regular grid is possible")
	f.BoolVar(&o.padded, "padded", false, "record padded chunks inside arrays, so that exports and servers can declare them")
	f.StringVar(&o.codecFrom, "codec-from", "", "declare the codecs and chunk shape of this `file`")
	f.StringArrayVar(&o.chunks, "chunk-edges", nil, "declare chunk lengths: `ARRAY:DIM=N` or ARRAY:DIM=N,N,N; ARRAY may be a glob")
	f.StringArrayVar(&o.dtypes, "dtype", nil, "declare this data type: `ARRAY=TYPE`; ARRAY may be a glob")
	f.StringArrayVar(&o.repack, "repack", nil, "pack all files like those with this scale_factor: `ARRAY=SCALE`; rounds the others")
	f.StringSliceVar(&o.lossy, "repack-lossy", nil, "let --repack change these `arrays` by more than half of the scale_factor")
}

// options returns the options of the flags. The list @- is read from stdin.
func (o *combineOptions) options(names []string, stdin io.Reader) (*ingest.Options, error) {
	opts := &ingest.Options{
		Sources:    ingest.Sources{Names: names, Match: o.match, Stdin: stdin, Searches: o.from, Asset: o.asset},
		Workers:    o.workers,
		SkipBroken: o.skipBroken,
		Allow:      o.allowed(),
		KeepScan:   o.keepScan,
		ValueBytes: o.valueBytes,
		Opener:     source.NewOpener(&source.Options{Download: o.download}),
		Writer:     "varve " + versionName(),
		Plan: plan.Options{
			Optional: o.optional, Vars: o.vars, Drop: o.drop, Group: o.group, Inline: &o.inline,
			Strict: o.strict, Rectilinear: o.rectilinear, Padded: o.padded, KeepForeign: o.keepForeign, KeepQuery: o.keepQuery, Tolerance: o.tolerance, RepackLossy: o.lossy,
		},
	}
	err := errors.Join(o.checkMatch(), o.formats.set(&opts.Plan),
		choose(&opts.Plan.Missing, "missing", o.missing, missings),
		choose(&opts.Plan.Pad, "pad", o.pad, pads),
		choose(&opts.Plan.Coords, "coords", o.coords, coords),
		choose(&opts.Plan.Longitudes, "longitudes", o.longitudes, longitudes),
		choose(&opts.Plan.Units, "units", o.units, units),
		choose(&opts.Plan.Overlap, "overlap", o.overlap, overlaps),
		o.addNames(&opts.Plan), o.addOverrides(&opts.Plan))
	if o.curation != "" && err == nil {
		opts.Plan.Curation, err = readCuration(o.curation)
	}
	if err = errors.Join(err, opts.Plan.Check()); err != nil {
		return nil, usageError{err}
	}
	if o.codecFrom != "" {
		if opts.Plan.CodecFrom, err = filepath.Abs(o.codecFrom); err != nil {
			return nil, usageError{err}
		}
	}
	return opts, nil
}

// allowed returns the places that the user allows.
func (o *combineOptions) allowed() []string {
	if !o.revises {
		return o.allow
	}
	return (&allowOptions{allow: o.allow}).storeOptions().Allow
}

// checkMatch returns an error if --match is no valid glob.
func (o *combineOptions) checkMatch() error {
	if _, err := path.Match(o.match, ""); err != nil {
		return fmt.Errorf("--match %s: no glob, such as *.nc: %w", o.match, err)
	}
	return nil
}

func (o *combineOptions) addNames(opts *plan.Options) error {
	for _, text := range o.rename {
		rename, err := plan.ParseRename(text)
		if err != nil {
			return err
		}
		opts.Rename = append(opts.Rename, rename)
	}
	for _, text := range o.concat {
		dim, apart, err := plan.ParseConcat(text)
		if err != nil {
			return err
		}
		opts.Concat = append(opts.Concat, dim)
		if apart {
			opts.Apart = append(opts.Apart, dim)
		}
	}
	for _, text := range o.repack {
		repack, err := plan.ParseRepack(text)
		if err != nil {
			return err
		}
		opts.Repack = append(opts.Repack, repack)
	}
	for _, text := range o.broadcast {
		broadcast, err := plan.ParseBroadcast(text)
		if err != nil {
			return err
		}
		opts.Broadcast = append(opts.Broadcast, broadcast)
	}
	for _, text := range o.flip {
		dim, to, err := plan.ParseFlip(text)
		if err != nil {
			return err
		}
		if opts.Flip == nil {
			opts.Flip = map[string]plan.Direction{}
		}
		opts.Flip[dim] = to
	}
	for _, text := range o.join {
		dim, how, err := plan.ParseJoin(text)
		if err != nil {
			return err
		}
		if opts.Join == nil {
			opts.Join = map[string]plan.Join{}
		}
		opts.Join[dim] = how
	}
	for _, text := range o.newDims {
		dim, list, err := plan.ParseNewDim(text)
		if err != nil {
			return err
		}
		if list != "" {
			if dim.Values, err = readLines(list); err != nil {
				return fmt.Errorf("--new-dim %s: %w", text, err)
			}
		}
		opts.NewDims = append(opts.NewDims, dim)
	}
	return nil
}

func readLines(name string) ([]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n"), nil
}

func (o *combineOptions) addOverrides(opts *plan.Options) error {
	for _, text := range o.chunks {
		where, list, ok := strings.Cut(text, "=")
		array, dim, found := cutLast(where, ":")
		if !ok || !found {
			return fmt.Errorf("--chunk-edges %s: want ARRAY:DIM=N or ARRAY:DIM=N,N,N", text)
		}
		var lengths []int64
		for word := range strings.SplitSeq(list, ",") {
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil || n < 1 {
				return fmt.Errorf("--chunk-edges %s: %q is no length", text, word)
			}
			lengths = append(lengths, n)
		}
		opts.Schemas = append(opts.Schemas, plan.Override{Array: array, Chunks: map[string][]int64{dim: lengths}})
	}
	for _, text := range o.dtypes {
		array, name, ok := cutLast(text, "=")
		if !ok {
			return fmt.Errorf("--dtype %s: want ARRAY=TYPE", text)
		}
		opts.Schemas = append(opts.Schemas, plan.Override{Array: array, Type: name})
	}
	return nil
}

func cutLast(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// interrupted is the error of a command that a signal ended.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

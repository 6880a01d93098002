package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"varve/manifest/ingest"
	"varve/manifest/repo"
	"varve/readers"
	"varve/readers/source"
)

// inspectOptions are the flags of the inspect command.
type inspectOptions struct {
	json     bool
	checksum bool
	values   bool
	download bool
	allow    []string
	match    string
}

func newInspectCommand() *cobra.Command {
	var opts inspectOptions
	cmd := &cobra.Command{
		Use:   "inspect SRC...",
		Short: "Show the contents and storage of source files",
		Long: `Show the contents of each source as ncdump -h would, with the storage of its variables: chunks,
filters, and whether varve can decode them. SRC is a file, a URL, a Zarr store, a manifest, or a
folder, whose files are all shown.

With --json, print one document a line for each source. HDF5 and netCDF files are described with
the terms of libhdf5 and netcdf-c.`,
		Example: `  varve inspect ocean.nc
  varve inspect archive/ --match '*.nc'
  varve inspect --json --checksum --values *.h5`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInspect(cmd.Context(), opts, args, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print one JSON document a line")
	cmd.Flags().BoolVar(&opts.checksum, "checksum", false, "list every chunk and hash the list (with --json)")
	cmd.Flags().BoolVar(&opts.values, "values", false, "read every value and hash it (with --json)")
	cmd.Flags().StringVar(&opts.match, "match", "", "show only files in folders and archives whose names match this `glob`")
	addFetch(cmd.Flags(), &opts.download)
	cmd.Flags().StringArrayVar(&opts.allow, "allow", nil, "let files refer to other files below this `folder`")
	return cmd
}

// runInspect prints each source. It continues after a source that cannot be read.
func runInspect(ctx context.Context, opts inspectOptions, names []string, out io.Writer) error {
	if !opts.json && (opts.checksum || opts.values) {
		return usageError{errors.New("--checksum and --values need --json")}
	}
	var failed error
	for _, name := range names {
		err := inspectName(ctx, opts, name, out)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// inspectName prints a source, a manifest, or all files of a folder or an archive.
func inspectName(ctx context.Context, opts inspectOptions, name string, out io.Writer) error {
	info, err := os.Stat(name)
	isFolder := err == nil && info.IsDir()
	if !isFolder && !source.HasPackedEnding(name) {
		return inspectSource(ctx, opts, name, out)
	}
	if isFolder && repo.IsFolder(name) {
		return inspectManifest(ctx, opts, name, out)
	}
	files, err := (&ingest.Sources{Names: []string{name}, Match: opts.match}).Expand(ctx)
	if err != nil {
		return err
	}
	if len(files) == 1 && sameFile(files[0], name) {
		return inspectSource(ctx, opts, name, out) // a Zarr store, for example
	}
	var failed error
	for _, file := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = errors.Join(failed, inspectSource(ctx, opts, file, out))
	}
	return failed
}

// sameFile reports whether two names are the same file or folder.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func inspectSource(ctx context.Context, opts inspectOptions, name string, out io.Writer) error {
	if opts.json {
		return inspectJSON(ctx, opts, name, out)
	}
	return inspectText(ctx, opts, name, out)
}

// inspectManifest prints a manifest as info does; its JSON has the keys that all sources have.
func inspectManifest(ctx context.Context, opts inspectOptions, name string, out io.Writer) error {
	if !opts.json {
		return runInfo(ctx, name, "", "", false, out)
	}
	doc := document{"file": shortName(name), "source": source.Shown(name), "kind": "varve", "status": "ok"}
	snapshot, err := loadSnapshot(ctx, name)
	if err != nil {
		doc["status"], doc["error"] = "error", err.Error()
	} else {
		arrays, describeErr := arraysJSON(snapshot.Arrays)
		err = describeErr
		doc["snapshot"], doc["sources"], doc["bytes"], doc["refs"], doc["arrays"] = snapshot.ID, snapshot.Sources, bytesOf(snapshot), snapshot.Refs, arrays
	}
	line, jsonErr := json.Marshal(doc)
	if jsonErr != nil {
		return errors.Join(err, jsonErr)
	}
	_, writeErr := out.Write(append(line, '\n'))
	return errors.Join(err, writeErr)
}

// damage keeps the first error about corrupt bytes. The damaged part is marked in the output, and the
// command ends with the error.
type damage struct{ first error }

func (d *damage) note(err error) {
	if d.first == nil && errors.Is(err, readers.ErrCorrupt) {
		d.first = &readers.PartialError{Err: err}
	}
}

// openSource opens a source, and returns a function that closes it.
func openSource(ctx context.Context, opts inspectOptions, name string) (*source.Source, func() error, error) {
	opener := source.NewOpener(&source.Options{Download: opts.download})
	opener.AllowPrivate(opts.allow...)
	src, err := opener.Open(ctx, name)
	if err != nil {
		return nil, nil, errors.Join(err, opener.Close())
	}
	return src, func() error { return errors.Join(src.Close(), opener.Close()) }, nil
}

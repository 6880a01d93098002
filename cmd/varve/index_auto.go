package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/points"
	"varve/manifest/report"
	"varve/readers/source"
)

// autoIndex is the flag of build, append, sync and refresh that makes access points of new chunks.
type autoIndex struct {
	value string
	had   bool // the manifest had access points before the command
}

const (
	indexAuto = "auto"
	indexNone = "none"
)

// addTo declares the flag. other says what the command does without it.
func (x *autoIndex) addTo(cmd *cobra.Command, other string) {
	cmd.Flags().StringVar(&x.value, "index", "", "store access points of large compressed chunks: `auto` or none (default "+other+")")
}

// check returns an error for a wrong value, before the command does anything. It notes whether the manifest has access
// points.
func (x *autoIndex) check(ctx context.Context, name string, isBuild bool) error {
	switch x.value {
	case "", indexAuto, indexNone:
	default:
		return usageError{fmt.Errorf("--index %s: want auto or none", x.value)}
	}
	if isBuild || x.value != "" {
		return nil
	}
	snap, err := loadSnapshot(ctx, name)
	x.had = err == nil && snap.Rows(manifest.Points) > 0
	return nil // the command itself reports a manifest that cannot be opened
}

// run makes the access points of a snapshot that the command published. It returns the snapshot with the points, and
// what to print.
func (x *autoIndex) run(cmd *cobra.Command, name string, snap *manifest.Snapshot, o *combineOptions) (*manifest.Snapshot, string, error) {
	hasNow := snap.Rows(manifest.Points) > 0
	if x.value == indexNone || x.value == "" && !x.had {
		return snap, "", nil
	}
	shown := newProgressOf(cmd.ErrOrStderr(), o.quiet, "indexing", "chunks")
	allowed := allowOptions{allow: o.allow, download: o.download}
	result, err := points.Make(cmd.Context(), name, &points.Options{
		// Arrays that the user left without access points stay so.
		Known: x.value == "" && hasNow,
		Store: *allowed.storeOptions(), Workers: o.workers, Writer: "varve " + versionName(), Progress: shown.update,
	})
	shown.finish()
	if err != nil {
		return snap, "", fmt.Errorf("%s: snapshot %s is published, but its access points are incomplete; run varve index: %w", source.Shown(name), snap.ID, err)
	}
	if result.Snapshot == nil {
		return snap, "", nil
	}
	return result.Snapshot, fmt.Sprintf("%s indexed, all access points take %s, snapshot %s\n", plural(result.Chunks, "chunk", "chunks"), report.Size(result.Bytes), result.Snapshot.ID), nil
}

// printIndexed prints what run returned, unless it is empty.
func printIndexed(out io.Writer, indexed string) error {
	_, err := io.WriteString(out, indexed)
	return err
}

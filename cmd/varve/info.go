package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/report/text"
	"varve/manifest/store"
)

func newInfoCommand() *cobra.Command {
	var asJSON, why bool
	var id string
	cmd := &cobra.Command{
		Use:   "info OUT [ARRAY [CHUNK]]",
		Short: "Show the dataset in a manifest, and its storage",
		Long: `Show the dataset in the manifest OUT as ncdump -h or xarray would: dimensions, coordinates with
their range and units, variables and attributes. Then show its storage: chunks, codecs and how
chunks are served. With ARRAY, show one array. With --why, list its chunks that are re-encoded, and the
reasons, or say it of one CHUNK. No source file is read.`,
		Example: `  varve info sst.varve
  varve info sst.varve /sst --json
  varve info sst.varve sst --why
  varve info sst.varve sst c/0/0/0 --why`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			array := ""
			if len(args) > 1 {
				array = args[1]
			}
			chunk := ""
			switch {
			case len(args) > 2 && !why:
				return usageError{errors.New("CHUNK needs --why")}
			case len(args) > 2:
				chunk = args[2]
			case why && array == "":
				return usageError{errors.New("--why needs the name of an array")}
			}
			if why {
				s, err := store.Open(cmd.Context(), args[0], &store.Options{Snapshot: id})
				if err != nil {
					return err
				}
				defer s.Close()
				return infoWhy(cmd.Context(), cmd.OutOrStdout(), s, array, chunk, asJSON)
			}
			return runInfo(cmd.Context(), args[0], id, array, asJSON, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	cmd.Flags().BoolVar(&why, "why", false, "say why chunks of ARRAY are re-encoded, or why CHUNK is")
	addSnapshot(cmd.Flags(), &id)
	return cmd
}

func runInfo(ctx context.Context, name, id, array string, asJSON bool, out io.Writer) error {
	s, err := store.Open(ctx, name, &store.Options{Snapshot: id})
	if err != nil {
		return err
	}
	defer s.Close()
	snapshot := s.Snapshot()
	arrays := snapshot.Arrays
	if array != "" {
		found, err := findArray(snapshot, array)
		if err != nil {
			return err
		}
		arrays = []manifest.Array{*found}
	}
	if asJSON {
		return infoJSON(out, snapshot, arrays)
	}
	if array == "" {
		fmt.Fprintf(out, "%s  %s, %s, %s refs, %s\nsnapshot %s  %s  %s\n\n", printable(name), countSources(snapshot), countArrays(snapshot),
			report.Thousands(snapshot.Refs), onDisk(snapshot), snapshot.ID, snapshot.Created.Format(time.RFC3339), printable(snapshot.Message))
		if text := faultsText(name, snapshot); text != "" {
			fmt.Fprintln(out, text)
		}
	}
	if err := printDataset(ctx, out, s, arrays, array == ""); err != nil {
		return err
	}
	fmt.Fprintln(out, "Storage:")
	return printArrays(out, arrays)
}

// loadSnapshot reads the current snapshot of a manifest.
func loadSnapshot(ctx context.Context, name string) (*manifest.Snapshot, error) {
	repository, err := repo.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer repository.Close()
	id, err := repository.Current(ctx)
	if err != nil {
		return nil, err
	}
	return repository.Load(ctx, id)
}

func infoJSON(out io.Writer, s *manifest.Snapshot, arrays []manifest.Array) error {
	described, err := arraysJSON(arrays)
	if err != nil {
		return err
	}
	return printJSON(out, struct {
		Snapshot string      `json:"snapshot"`
		Sources  int64       `json:"sources"`
		Bytes    int64       `json:"bytes"`
		Refs     int64       `json:"refs"`
		Faults   []string    `json:"faults,omitempty"`
		Arrays   []arrayJSON `json:"arrays"`
	}{s.ID, s.Sources, bytesOf(s), s.Refs, text.Faults(ingest.Faults(s)), described})
}

// findArray finds an array by its path, with or without the first slash.
func findArray(s *manifest.Snapshot, path string) (*manifest.Array, error) {
	want := "/" + strings.Trim(path, "/")
	for i := range s.Arrays {
		if s.Arrays[i].Path == want {
			return &s.Arrays[i], nil
		}
	}
	paths := arrayPaths(s)
	return nil, usageError{fmt.Errorf("no array %s.%s The arrays are %s", printable(want), printable(plan.DidYouMean(want, paths)), printable(strings.Join(paths, ", ")))}
}

// onDisk describes the size of a manifest, and the part of it that compacted chunks take.
func onDisk(s *manifest.Snapshot) string {
	text := report.Size(bytesOf(s)) + " on disk"
	chunks := int64(0)
	for _, table := range s.Tables {
		if table.Kind == manifest.Chunks {
			chunks += table.Bytes
		}
	}
	if chunks > 0 {
		text += ", including " + report.Size(chunks) + " of compacted chunks"
	}
	return text
}

// bytesOf returns the size of the tables of a snapshot.
func bytesOf(s *manifest.Snapshot) (n int64) {
	for _, table := range s.Tables {
		n += table.Bytes
	}
	return n
}

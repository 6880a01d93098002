package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

func newInfoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info OUT [ARRAY]",
		Short: "Show what a virtual dataset holds",
		Long:  "Show the arrays of a manifest, or one of them: dimensions, edges of chunks, codecs, and how its\nchunks are served; the number of sources and the snapshot.",
		Example: `  varve info sst.varve
  varve info sst.varve /sst --json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			array := ""
			if len(args) > 1 {
				array = args[1]
			}
			return runInfo(cmd.Context(), args[0], array, asJSON, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func runInfo(ctx context.Context, name, array string, asJSON bool, out io.Writer) error {
	snapshot, err := loadSnapshot(ctx, name)
	if err != nil {
		return err
	}
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
		fmt.Fprintf(out, "%s  %s, %s, %s refs, %s\nsnapshot %s  %s  %s\n\n", name, countSources(snapshot), countArrays(snapshot),
			report.Thousands(snapshot.Refs), onDisk(snapshot), snapshot.ID, snapshot.Created.Format(time.RFC3339), snapshot.Message)
		if text := mendedText(name, snapshot); text != "" {
			fmt.Fprintln(out, text)
		}
	}
	return printArrays(out, arrays)
}

// loadSnapshot reads the current snapshot of a manifest.
func loadSnapshot(ctx context.Context, name string) (*manifest.Snapshot, error) {
	repo, err := manifest.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	id, err := repo.Current(ctx)
	if err != nil {
		return nil, err
	}
	return repo.Load(ctx, id)
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
		Mended   []string    `json:"mended,omitempty"`
		Arrays   []arrayJSON `json:"arrays"`
	}{s.ID, s.Sources, bytesOf(s), s.Refs, plan.Mended(s), described})
}

// findArray finds an array by its path, with or without the slash in front.
func findArray(s *manifest.Snapshot, path string) (*manifest.Array, error) {
	want := "/" + strings.Trim(path, "/")
	for i := range s.Arrays {
		if s.Arrays[i].Path == want {
			return &s.Arrays[i], nil
		}
	}
	paths := make([]string, len(s.Arrays))
	for i := range s.Arrays {
		paths[i] = s.Arrays[i].Path
	}
	return nil, usageError{fmt.Errorf("there is no array %s; there are %s", want, strings.Join(paths, ", "))}
}

// onDisk says what a manifest takes on disk, and how much of that are re-encoded chunks.
func onDisk(s *manifest.Snapshot) string {
	text := report.Size(bytesOf(s)) + " on disk"
	chunks := int64(0)
	for _, table := range s.Tables {
		if table.Kind == manifest.Chunks {
			chunks += table.Bytes
		}
	}
	if chunks > 0 {
		text += ", of these patches " + report.Size(chunks)
	}
	return text
}

// bytesOf is what the tables of a snapshot take on disk.
func bytesOf(s *manifest.Snapshot) (n int64) {
	for _, table := range s.Tables {
		n += table.Bytes
	}
	return n
}

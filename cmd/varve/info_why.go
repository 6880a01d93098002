package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/report"
	"varve/manifest/report/text"
	"varve/manifest/store"
	"varve/readers/source"
)

// mostWhys is the number of chunks that info --why lists as text.
const mostWhys = 1000

// chunkWhy is a chunk, and why it is re-encoded.
type chunkWhy struct {
	Chunk   string            `json:"chunk"`
	Kind    string            `json:"kind"`
	Reasons []manifest.Reason `json:"reasons"`
	Sources []string          `json:"sources"`
}

// infoWhy prints why chunks of an array are re-encoded: one chunk, or all that are.
func infoWhy(ctx context.Context, out io.Writer, s *store.Store, path, key string, asJSON bool) error {
	found, err := findArray(s.Snapshot(), path)
	if err != nil {
		return err
	}
	a, err := s.Array(found.Path)
	if err != nil {
		return err
	}
	list := []chunkWhy{}
	add := func(l *manifest.Location) error {
		one, err := whyOf(ctx, s, a, l)
		list = append(list, one)
		return err
	}
	if key != "" {
		coords, err := chunkCoords(a, key)
		if err != nil {
			return err
		}
		at, err := a.Locate(ctx, coords)
		if err == nil {
			err = add(&at)
		}
		if err != nil {
			return err
		}
	} else {
		for l, err := range a.Locations(ctx, grid.Whole(a.Grid().Counts())) {
			if err == nil && l.Kind == manifest.Reencoded && (asJSON || len(list) < mostWhys) {
				err = add(l)
			}
			if err != nil {
				return err
			}
		}
	}
	if asJSON {
		return printJSON(out, struct {
			Array  string     `json:"array"`
			Counts countsJSON `json:"counts"`
			Chunks []chunkWhy `json:"chunks"`
		}{found.Path, countsJSON(found.Chunks), list})
	}
	for _, c := range list {
		words := make([]string, len(c.Reasons))
		for i, r := range c.Reasons {
			words[i] = text.Reason(r)
		}
		line := c.Chunk + "  " + c.Kind
		if len(words) > 0 {
			line += ": " + strings.Join(words, ", ")
		}
		if len(c.Sources) > 0 {
			line += "; of " + printable(strings.Join(c.Sources, ", "))
		}
		fmt.Fprintln(out, line)
	}
	if n := found.Chunks.Reencoded; key == "" {
		all := found.Chunks.Verbatim + found.Chunks.Prefix + n + found.Chunks.Missing
		if n > int64(len(list)) {
			fmt.Fprintf(out, "and %s more; --json lists all\n", report.Thousands(n-int64(len(list))))
		}
		fmt.Fprintf(out, "%s of %s chunks are re-encoded\n", report.Thousands(n), report.Thousands(all))
	}
	return nil
}

func whyOf(ctx context.Context, s *store.Store, a *store.Array, l *manifest.Location) (out chunkWhy, err error) {
	out = chunkWhy{Chunk: string(a.Schema().Keys.Append(nil, l.Coords)), Kind: l.Kind.String(), Reasons: []manifest.Reason{}, Sources: []string{}}
	coords := slices.Clone(l.Coords)
	if l.Kind == manifest.Reencoded {
		if out.Reasons, err = a.Why(ctx, coords); err != nil {
			return out, err
		}
	}
	rows, err := a.Origins(ctx, coords)
	if err != nil {
		return out, err
	}
	for _, row := range rows {
		src, err := s.Source(ctx, row)
		if err != nil {
			return out, err
		}
		out.Sources = append(out.Sources, source.Shown(src.URL))
	}
	return out, nil
}

// chunkCoords parses a chunk: its key, such as c/2/0/1, or 2/0/1.
func chunkCoords(a *store.Array, key string) (coords []int64, err error) {
	for word := range strings.SplitSeq(strings.TrimPrefix(strings.Trim(key, "/"), "c/"), "/") {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, usageError{fmt.Errorf("chunk %s: want numbers, such as c/2/0/1", printable(key))}
		}
		coords = append(coords, n)
	}
	if _, ok := a.Grid().Number(coords); !ok {
		return nil, usageError{fmt.Errorf("no chunk %s: %s has %v chunks along its dimensions", printable(key), printable(a.Path()), a.Grid().Counts())}
	}
	return coords, nil
}

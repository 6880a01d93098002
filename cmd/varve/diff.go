package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/diff"
	"varve/manifest/repo"
	"varve/readers/source"
)

func newDiffCommand() *cobra.Command {
	var opts resultOptions
	cmd := &cobra.Command{
		Use:   "diff OUT OLD [NEW]",
		Short: "Show what changed between two snapshots",
		Long: `Compare two snapshots of the manifest OUT: the arrays and groups that were added (+), removed (-)
or changed (~), with their metadata before and after, and the sources. OLD and NEW are ids of
"varve history", their first digits, or tags. NEW is the current snapshot by default. No source is
read. The text shortens long values; --json has all.`,
		Example: `  varve diff sst.varve v1
  varve diff sst.varve 5c6b1f0a v1 --json`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDiff(cmd.Context(), args, &opts, cmd.OutOrStdout())
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runDiff(ctx context.Context, args []string, opts *resultOptions, out io.Writer) (err error) {
	repository, err := repo.Open(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repository.Close()) }()
	old, err := repository.Find(ctx, args[1])
	if err != nil {
		return err
	}
	var now string
	if len(args) > 2 {
		now, err = repository.Find(ctx, args[2])
	} else {
		now, err = repository.Current(ctx)
	}
	if err != nil {
		return err
	}
	c, err := diff.Between(ctx, repository, old, now)
	if err != nil {
		return err
	}
	return opts.print(out, diffJSONOf(c), describeDiff(args[0], c))
}

// diffJSON is the JSON of the diff command.
type diffJSON struct {
	Old     string          `json:"old"`
	New     string          `json:"new"`
	Nodes   items[nodeJSON] `json:"nodes"`
	Sources struct {
		Added    items[string] `json:"added"`
		Removed  items[string] `json:"removed"`
		Replaced items[string] `json:"replaced"`
	} `json:"sources"`
}

type nodeJSON struct {
	Path   string           `json:"path"`
	Kind   diff.Kind        `json:"kind"`
	Fields items[fieldJSON] `json:"fields"`
}

type fieldJSON struct {
	Name string          `json:"name"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

func diffJSONOf(c *diff.Changes) diffJSON {
	doc := diffJSON{Old: c.Old.ID, New: c.New.ID}
	for _, n := range c.Nodes {
		fields := items[fieldJSON]{}
		for _, f := range n.Fields {
			fields = append(fields, fieldJSON(f))
		}
		doc.Nodes = append(doc.Nodes, nodeJSON{n.Path, n.Kind, fields})
	}
	doc.Sources.Added, doc.Sources.Removed, doc.Sources.Replaced = allShown(c.Sources.Added), allShown(c.Sources.Removed), allShown(c.Sources.Replaced)
	return doc
}

// allShown returns names of sources without secrets.
func allShown(names []string) (shown []string) {
	for _, name := range names {
		shown = append(shown, source.Shown(name))
	}
	return shown
}

// The limits of what the text of a difference shows.
const (
	shownValue   = 60 // bytes of a value
	shownSources = 10 // sources of each kind
)

var diffMarks = map[diff.Kind]string{diff.Added: "+", diff.Removed: "-", diff.Changed: "~"}

func describeDiff(name string, c *diff.Changes) string {
	if c.IsEmpty() {
		return printable(name) + ": the snapshots have the same arrays and sources\n"
	}
	var b strings.Builder
	for _, n := range c.Nodes {
		fmt.Fprintf(&b, "%s %s\n", diffMarks[n.Kind], printable(n.Path))
		for _, f := range n.Fields {
			fmt.Fprintf(&b, "    %s: %s → %s\n", printable(f.Name), shownJSON(f.Old), shownJSON(f.New))
		}
	}
	for _, s := range []struct {
		kind  string
		names []string
	}{{"added", c.Sources.Added}, {"removed", c.Sources.Removed}, {"replaced", c.Sources.Replaced}} {
		if len(s.names) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s %s:\n", plural(int64(len(s.names)), "source", "sources"), s.kind)
		for _, name := range s.names[:min(len(s.names), shownSources)] {
			fmt.Fprintf(&b, "    %s\n", printable(source.Shown(name)))
		}
		if more := len(s.names) - shownSources; more > 0 {
			fmt.Fprintf(&b, "    … and %d more\n", more)
		}
	}
	return b.String()
}

// shownJSON returns a value for people.
func shownJSON(value json.RawMessage) string {
	if value == nil {
		return "none"
	}
	text := []rune(string(value))
	if len(text) > shownValue {
		return string(text[:shownValue]) + "…"
	}
	return string(text)
}

package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/repo"
)

// dimensionFlags are the flags whose values begin with a dimension of OUT, such as time=0:10.
var dimensionFlags = []string{"isel", "sel", "chunks", "shards"}

// manifestFirst are the commands whose first argument is OUT, and that the shell completes as a folder.
// The value is the meaning of the second argument.
var manifestFirst = map[string]string{
	"index": "array", "info": "array", "read": "array", "restore": "snapshot",
	"append": "", "compact": "", "gc": "", "history": "", "relocate": "", "verify": "",
	"icechunk": "", "kerchunk": "", "table": "", "zarr": "",
}

// completeFlags registers completions for the arguments and flags of a command and its subcommands.
func completeFlags(c *cobra.Command) {
	for _, sub := range c.Commands() {
		completeFlags(sub)
	}
	for name, values := range wordsOfFlags() {
		if c.Flags().Lookup(name) != nil {
			// An error would mean that the flag does not exist.
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	second, ok := manifestFirst[c.Name()]
	if !ok {
		return
	}
	for _, name := range dimensionFlags {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, completeDimension)
		}
	}
	if second == "" {
		return // files and folders, which the shell knows
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return nil, cobra.ShellCompDirectiveFilterDirs
		case len(args) > 1:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case second == "snapshot":
			return completeSnapshot(c.Context(), args[0]), cobra.ShellCompDirectiveNoFileComp
		}
		snapshot, err := loadSnapshot(c.Context(), args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return arrayPaths(snapshot), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSnapshot returns the ids of the snapshots of a manifest, with their messages, and the tags.
func completeSnapshot(ctx context.Context, name string) (ids []string) {
	repository, err := repo.Open(ctx, name)
	if err != nil {
		return nil
	}
	defer repository.Close()
	for s, err := range repository.Log(ctx) {
		if err != nil {
			break
		}
		ids = append(ids, s.ID[:12]+"\t"+s.Message)
	}
	tags, err := repository.Tags(ctx)
	if err != nil {
		return ids
	}
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		ids = append(ids, tag+"\ttag of "+tags[tag][:12])
	}
	return ids
}

// completeDimension returns the dimensions of OUT, or of the array if one is given, each with "=".
func completeDimension(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return nil, directive
	}
	snapshot, err := loadSnapshot(c.Context(), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	arrays := snapshot.Arrays
	if len(args) > 1 {
		if a, err := findArray(snapshot, args[1]); err == nil {
			arrays = []manifest.Array{*a}
		}
	}
	// A word may hold several selections: complete the last one.
	before := word[:strings.LastIndex(word, ",")+1]
	var names []string
	for i := range arrays {
		for _, dim := range arrays[i].Schema.Dims() {
			names = append(names, before+dim+"=")
		}
	}
	slices.Sort(names)
	return slices.Compact(names), directive
}

// arrayPaths returns the paths of the arrays of a snapshot.
func arrayPaths(s *manifest.Snapshot) []string {
	paths := make([]string, len(s.Arrays))
	for i := range s.Arrays {
		paths[i] = s.Arrays[i].Path
	}
	return paths
}

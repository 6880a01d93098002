package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"varve/manifest/repo"
)

// tagOptions are the flags of the tag command.
type tagOptions struct {
	resultOptions
	force, remove bool
}

func newTagCommand() *cobra.Command {
	var opts tagOptions
	cmd := &cobra.Command{
		Use:   "tag OUT [TAG [SNAPSHOT]]",
		Short: "Name a snapshot, so that it is kept",
		Long: `Give a snapshot of the manifest OUT the name TAG: the current one, or SNAPSHOT, an id of
"varve history" or its first digits. "varve gc" keeps snapshots with tags, and every command that
takes a snapshot also takes a tag. Without TAG, the tags are listed.`,
		Example: `  varve tag sst.varve v1
  varve tag sst.varve v1 5c6b1f0a --force
  varve tag sst.varve
  varve tag sst.varve v1 --delete`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTag(cmd.Context(), args[0], args[1:], &opts, cmd.OutOrStdout())
		},
	}
	opts.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&opts.force, "force", false, "take TAG away from another snapshot")
	cmd.Flags().BoolVar(&opts.remove, "delete", false, "remove TAG; its snapshot stays until varve gc")
	return cmd
}

// tagJSON is a tag in the JSON of the tag command.
type tagJSON struct {
	Tag      string `json:"tag"`
	Snapshot string `json:"snapshot"`
}

func runTag(ctx context.Context, name string, args []string, opts *tagOptions, out io.Writer) error {
	switch {
	case opts.remove && len(args) != 1:
		return usageError{errors.New("--delete needs a TAG, and no SNAPSHOT")}
	case opts.force && (len(args) == 0 || opts.remove):
		return usageError{errors.New("--force is for a TAG that is given to a snapshot")}
	}
	repository, err := repo.Open(ctx, name)
	if err != nil {
		return err
	}
	defer repository.Close()
	if len(args) == 0 {
		return listTags(ctx, repository, opts, out)
	}
	tag := args[0]
	if opts.remove {
		if err := repository.Untag(ctx, tag); err != nil {
			return err
		}
		return opts.print(out, tagJSON{Tag: tag}, fmt.Sprintf("%s: tag %s removed\n", name, tag))
	}
	var id string
	if len(args) > 1 {
		id, err = repository.Find(ctx, args[1])
	} else {
		id, err = repository.Current(ctx)
	}
	if err != nil {
		return err
	}
	err = repository.Tag(ctx, tag, id, opts.force)
	if errors.Is(err, repo.ErrTagExists) {
		err = fmt.Errorf("%w; --force takes it away", err)
	}
	if err != nil {
		return err
	}
	return opts.print(out, tagJSON{tag, id}, fmt.Sprintf("%s: %s is snapshot %s\n", name, tag, id))
}

func listTags(ctx context.Context, repository *repo.Repository, opts *tagOptions, out io.Writer) error {
	tags, err := repository.Tags(ctx)
	if err != nil {
		return err
	}
	rows, text := items[tagJSON]{}, ""
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		rows = append(rows, tagJSON{tag, tags[tag]})
		text += fmt.Sprintf("%s  %s\n", tags[tag], tag)
	}
	return opts.print(out, rows, cmp.Or(text, repository.Name()+": no tags\n"))
}

// tagsBySnapshot returns the tags of each snapshot.
func tagsBySnapshot(ctx context.Context, repository *repo.Repository) (map[string][]string, error) {
	tags, err := repository.Tags(ctx)
	if err != nil {
		return nil, err
	}
	of := map[string][]string{}
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		of[tags[tag]] = append(of[tags[tag]], tag)
	}
	return of, nil
}

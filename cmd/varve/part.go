package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"varve/manifest/present"
	"varve/manifest/store"
)

// partOptions are the flags of exports of a part of a dataset.
type partOptions struct{ part present.Part }

// addFlags declares the flags. A part cannot be combined with the flags in without, which update an earlier export.
func (o *partOptions) addFlags(cmd *cobra.Command, without ...string) {
	cmd.Flags().StringSliceVar(&o.part.Vars, "vars", nil, "export only these `arrays`, which may be globs, and their coordinates")
	cmd.Flags().Var((*indexTerms)(&o.part.Index), "isel", "export only these `indices`: DIM=3, DIM=0:10 or DIM=[1,5,30]; separate several by commas")
	cmd.Flags().StringSliceVar(&o.part.Label, "sel", nil, "export only these `coordinates`: DIM=VALUE, DIM=~NEAREST or DIM=FROM:TO, both included")
	for _, other := range without {
		for _, name := range []string{"vars", "isel", "sel"} {
			cmd.MarkFlagsMutuallyExclusive(name, other)
		}
	}
}

// cut returns a store with the part. Closing st closes it.
func (o *partOptions) cut(ctx context.Context, st *store.Store) (*store.Store, error) {
	s, err := o.part.Cut(ctx, st)
	var wrong *present.SelectionError
	if errors.As(err, &wrong) {
		return nil, usageError{err}
	}
	return s, err
}

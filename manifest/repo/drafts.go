package repo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"varve/manifest"
)

// SaveDraft stores an unfinished snapshot and its tables under a name, and replaces an earlier draft
// of that name. Only LoadDraft returns it, and GC removes it. NewTable says how long its tables are
// safe from GC.
func (r *Repository) SaveDraft(ctx context.Context, name string, snap *manifest.Snapshot) error {
	if err := r.startWriting(ctx); err != nil {
		return err
	}
	snap.Varve = manifest.Version
	data, err := snap.Encode()
	if err != nil {
		return err
	}
	return r.finish(ctx, draftName(name), snap, data)
}

// LoadDraft returns the snapshot that SaveDraft stored, also if another process stored it. If there is none,
// the error is an fs.ErrNotExist. GC keeps the draft and its tables until the Repository is closed.
func (r *Repository) LoadDraft(ctx context.Context, name string) (*manifest.Snapshot, error) {
	if err := r.startWriting(ctx); err != nil {
		return nil, err
	}
	data, err := readAll(ctx, r.files, draftName(name))
	if err != nil {
		return nil, err
	}
	snap, err := manifest.DecodeSnapshot(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path(draftName(name)), err)
	}
	return snap, nil
}

// Drafts returns the names of the stored drafts that begin with a prefix, sorted.
func (r *Repository) Drafts(ctx context.Context, prefix string) (names []string, err error) {
	entries, err := r.files.list(ctx, draftFolder)
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.name, draftExtension)
		if ok && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// RemoveDraft removes the draft that SaveDraft stored, if there is one.
func (r *Repository) RemoveDraft(ctx context.Context, name string) error {
	_, err := r.files.remove(ctx, draftName(name))
	return err
}

const (
	draftFolder    = "drafts"
	draftExtension = ".json"
)

func draftName(name string) string { return draftFolder + "/" + name + draftExtension }

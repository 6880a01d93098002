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
	if err := snap.SetVersion(); err != nil {
		return err
	}
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
	data, err := r.files.Read(ctx, draftName(name), maxDocument)
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
	for e, err := range r.files.List(ctx, draftFolder) {
		if err != nil {
			return nil, err
		}
		name, ok := strings.CutSuffix(e.Name, draftExtension)
		if ok && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// RemoveDraft removes the draft that SaveDraft stored, if there is one.
func (r *Repository) RemoveDraft(ctx context.Context, name string) error {
	_, err := r.files.Remove(ctx, draftName(name))
	return err
}

const (
	draftFolder    = "drafts"
	draftExtension = ".json"
)

func draftName(name string) string { return draftFolder + "/" + name + draftExtension }

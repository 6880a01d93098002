package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"

	"varve/manifest"
)

// maxTags is the number of tags that a repository can have. All are in the file current, which every reader reads.
const maxTags = 1000

var (
	// ErrTagExists is returned by Tag if another snapshot has the tag.
	ErrTagExists = errors.New("another snapshot has the tag")
	// ErrNoTag is returned by Untag if no snapshot has the tag.
	ErrNoTag = errors.New("no snapshot has the tag")
)

// A tag must not look like the beginning of an ID.
var (
	tagName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	idPrefix = regexp.MustCompile(`^[0-9a-f]+$`)
)

// Tags returns the tagged snapshots, by their tags.
func (r *Repository) Tags(ctx context.Context) (map[string]string, error) {
	p, err := r.pointer(ctx)
	return p.Tags, err
}

// Tag gives a snapshot of the history a name. GC keeps the snapshot. replace takes the tag away from another snapshot.
func (r *Repository) Tag(ctx context.Context, tag, id string, replace bool) error {
	if !tagName.MatchString(tag) || idPrefix.MatchString(tag) {
		return fmt.Errorf("%s: %.120q cannot be a tag: it needs 1 to 100 letters, digits, dots, dashes and underscores, begins with a letter or a digit, "+
			"and must not look like the ID of a snapshot: %w", r.name, tag, errors.ErrUnsupported)
	}
	return r.changeTags(ctx, func(tags map[string]string, current string) error {
		if old, ok := tags[tag]; ok && old != id && !replace {
			return fmt.Errorf("%s: %w: %s is %.12s", r.name, ErrTagExists, tag, old)
		}
		tags[tag] = id
		if len(tags) > maxTags {
			return fmt.Errorf("%s: a manifest has at most %d tags: remove some: %w", r.name, maxTags, errors.ErrUnsupported)
		}
		snap, err := r.Load(ctx, id)
		if err != nil {
			return err
		}
		return r.checkPresent(ctx, snap, current)
	})
}

// Untag removes a tag. The snapshot stays until GC removes it.
func (r *Repository) Untag(ctx context.Context, tag string) error {
	return r.changeTags(ctx, func(tags map[string]string, _ string) error {
		if _, ok := tags[tag]; !ok {
			return fmt.Errorf("%s: %w: %.120q", r.name, ErrNoTag, tag)
		}
		delete(tags, tag)
		return nil
	})
}

// changeTags replaces the tags.
func (r *Repository) changeTags(ctx context.Context, change func(tags map[string]string, current string) error) error {
	return r.change(ctx, func(p *pointer) error {
		p.Tags = maps.Clone(p.Tags)
		if p.Tags == nil {
			p.Tags = map[string]string{}
		}
		return change(p.Tags, p.Snapshot)
	})
}

// change replaces current by a copy that change has changed, and that names the same snapshot. It calls change again if another
// process replaced current in the meantime.
func (r *Repository) change(ctx context.Context, change func(*pointer) error) error {
	if err := r.startWriting(ctx); err != nil {
		return err
	}
	err := ErrConflict
	for attempt := 0; attempt < pointerAttempts && errors.Is(err, ErrConflict); attempt++ {
		err = r.tryChange(ctx, change)
	}
	if r.writers.Load() > 0 {
		return err
	}
	return errors.Join(err, r.stopWriting())
}

func (r *Repository) tryChange(ctx context.Context, change func(*pointer) error) error {
	// A GC that starts after this moment changes current, so swapCurrent fails.
	since, err := r.state(ctx)
	if err != nil {
		return err
	}
	p, err := r.decode(since)
	if err != nil {
		return err
	}
	next := p
	next.Varve, next.Sweeping = manifest.Version, false
	if err := change(&next); err != nil {
		return err
	}
	if maps.Equal(next.Tags, p.Tags) && next.Policy == p.Policy {
		return nil
	}
	return r.files.swapCurrent(ctx, since, &next)
}

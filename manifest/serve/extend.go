package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/change"
)

// extension compares two snapshots. A snapshot extends an older one if a client that has read the documents of the
// older one can use all chunks of the newer one:
//
//   - every old array still exists;
//   - every old chunk has the same edges, coordinates, encoding and elements.
//
// The newer snapshot may have more elements after the old end, for example in the last chunk of a growing
// coordinate. Clients that have the old document ignore them.
//
// Hierarchies are compared separately, because they have different chunk grids, and format 2 does not contain
// all arrays.
type extension struct {
	old, now *site
	moved    func(ctx context.Context, path string) (why string, err error)
	known    map[string]string // results of moved, by array path
}

func newExtension(old, now *site) *extension {
	return &extension{old, now, now.data.Since(old.data), map[string]string{}}
}

// check returns why the newer snapshot does not extend the older one in a hierarchy, or "" if it does. It
// returns an error if the snapshots cannot be compared now.
func (x *extension) check(ctx context.Context, k hierarchy) (why string, err error) {
	if !slices.Equal(x.old.shadows(), x.now.shadows()) {
		return "arrays or groups with the name of a view were added or removed", nil
	}
	for _, n := range x.old.nodes {
		if n.unlisted == nil && x.now.isUnlisted(n.path) {
			return "/" + n.path + " now has the name of another address", nil
		}
	}
	old, err := x.old.view(k)
	if err != nil {
		return "", nil // no client has read this hierarchy
	}
	now, err := x.now.view(k)
	if err != nil {
		return err.Error(), nil
	}
	for _, path := range slices.Sorted(maps.Keys(old.arrays)) {
		is := now.arrays[path]
		if is == nil {
			return "/" + path + " is no longer in this view", nil
		}
		if why, err = x.array(ctx, old.arrays[path], is); why != "" || err != nil {
			return why, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(old.documents)) {
		if now.documents[key] == nil {
			return k.prefix() + key + " no longer exists", nil
		}
	}
	return "", nil
}

func (x *extension) array(ctx context.Context, was, is *served) (why string, err error) {
	path := was.Path()
	if why, err = change.OtherEncoding(was.Schema(), is.Schema()); why != "" || err != nil {
		return path + ": " + why, err
	}
	ok, filled := change.Chunks(was.Grid(), is.Grid())
	if !ok {
		return path + ": its chunks changed, or it is shorter", nil
	}
	if filled && codec.HasShards(is.Schema().Codecs) {
		return path + ": its last shard has new elements, and clients read a shard in parts", nil
	}
	why, known := x.known[path]
	if !known {
		var damage *manifest.DamageError
		if why, err = x.moved(ctx, path); errors.As(err, &damage) {
			why, err = "cannot compare: "+err.Error(), nil // a damaged manifest cannot be compared later either
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		x.known[path] = why
	}
	if why != "" {
		why = path + ": " + why
	}
	return why, nil
}

// isGone reports whether an error says that files of the manifest are missing.
func isGone(err error) bool {
	var damage *manifest.DamageError
	return errors.As(err, &damage) && damage.Damage == manifest.FileMissing
}

// isUnlisted reports whether a node is omitted from the groups' lists.
func (s *site) isUnlisted(path string) bool {
	n, ok := s.node(path)
	return ok && n.unlisted != nil
}

// shadows returns the sorted paths of nodes whose names hide keys of the other hierarchies.
func (s *site) shadows() (paths []string) {
	for _, n := range s.nodes {
		for k := inV2; k < hierarchies; k++ {
			if strings.HasPrefix(n.path+"/", k.prefix()) {
				paths = append(paths, n.path)
			}
		}
	}
	return paths
}

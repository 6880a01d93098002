package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/change"
	"varve/zarrjson"
)

// A snapshot extends another if whoever has read documents of the older one may be given any
// chunk of the newer one: every array is still there, every chunk that it had has the edges and
// the coordinates that it had, is encoded alike, and holds the same elements. It may hold more
// of them behind the end that the array had, as the last chunk of a growing coordinate does;
// clients that know the older document take the same part of it as before.
//
// That is asked of each hierarchy by itself, since they cut arrays differently and format 2 does
// not have all of them.
type extension struct {
	old, now *site
	moved    func(ctx context.Context, path string) (why string, err error)
	known    map[string]string // what moved said
}

func newExtension(old, now *site) *extension {
	return &extension{old, now, now.data.Since(old.data), map[string]string{}}
}

// check returns why the newer snapshot does not extend the older one in a hierarchy; empty if it
// does. An error says that it could not be found out.
func (x *extension) check(ctx context.Context, k hierarchy) (why string, err error) {
	if !slices.Equal(x.old.shadows(), x.now.shadows()) {
		return "other arrays or groups are called as a hierarchy is", nil
	}
	for _, n := range x.old.nodes {
		if n.unlisted == nil && x.now.isUnlisted(n.path) {
			return "/" + n.path + ": clients would take it for another", nil
		}
	}
	old, err := x.old.view(k)
	if err != nil {
		return "", nil // nobody has read anything of it
	}
	now, err := x.now.view(k)
	if err != nil {
		return err.Error(), nil
	}
	for _, path := range slices.Sorted(maps.Keys(old.arrays)) {
		is := now.arrays[path]
		if is == nil {
			return "/" + path + ": this view has no such array any more", nil
		}
		if why, err = x.array(ctx, old.arrays[path], is); why != "" || err != nil {
			return why, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(old.documents)) {
		if now.documents[key] == nil {
			return "there is no " + k.prefix() + key + " any more", nil
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
		return path + ": it is cut into other chunks, or shorter", nil
	}
	if filled && isSharded(is.Schema()) {
		return path + ": there is more in its last shard, of which clients read a piece after another", nil
	}
	why, known := x.known[path]
	if !known {
		var damage *manifest.DamageError
		if why, err = x.moved(ctx, path); errors.As(err, &damage) {
			why, err = "it cannot be compared: "+err.Error(), nil // nor later
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

// isSharded reports whether clients read chunks of an array by pieces.
func isSharded(schema *zarrjson.Array) bool {
	for _, c := range schema.Codecs {
		if c.Name == "sharding_indexed" {
			return true
		}
	}
	return false
}

// isGone reports whether an error is about tables that are no longer there.
func isGone(err error) bool {
	var damage *manifest.DamageError
	return errors.As(err, &damage) && damage.Damage == manifest.FileMissing
}

// isUnlisted reports whether a node is in no list of a group.
func (s *site) isUnlisted(path string) bool {
	n, ok := s.node(path)
	return ok && n.unlisted != nil
}

// shadows are the nodes that go before keys of the other hierarchies, in order.
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

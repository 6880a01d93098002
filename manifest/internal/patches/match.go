package patches

import (
	"maps"
	"path"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/change"
)

// former returns the array of an older snapshot that was made of the same variables, whatever its name was then, or nil. If
// there are several, it is the one with the same name.
func former(old *manifest.Snapshot, now *manifest.Array) *manifest.Array {
	var found *manifest.Array
	count := 0
	for i := range old.Arrays {
		was := &old.Arrays[i]
		if !slices.Equal(was.Variables, now.Variables) {
			continue
		}
		if was.Path == now.Path {
			return was
		}
		found, count = was, count+1
	}
	if count > 1 {
		return nil
	}
	return found
}

// isSameReading reports whether equal tiles give equal bytes in two arrays, whose dimensions may have other names.
func isSameReading(was, now *manifest.Array) (bool, error) {
	if !hasSameAxes(was, now) {
		return false, nil
	}
	named, schema := *now, *now.Schema
	named.Dims, named.Renamed, named.Unnamed = was.Dims, was.Renamed, was.Unnamed
	schema.DimensionNames = was.Schema.DimensionNames
	named.Schema = &schema
	why, err := change.OtherReading(was, &named)
	return why == "" && err == nil, err
}

// hasSameAxes reports whether both arrays match each dimension of a source with the same axis. A path that only one of them
// knows is the name of a dimension in the other's curation, not of one in a source: otherwise the other array could not have
// been planned.
func hasSameAxes(was, now *manifest.Array) bool {
	if len(was.Dims) != len(now.Dims) || len(was.Unnamed) != len(now.Unnamed) {
		return false
	}
	for k := range was.Dims {
		if slices.Index(was.Dims, was.Dims[k]) != slices.Index(now.Dims, now.Dims[k]) {
			return false
		}
	}
	for k := range was.Unnamed {
		if slices.Index(was.Dims, was.Unnamed[k]) != slices.Index(now.Dims, now.Unnamed[k]) {
			return false
		}
	}
	paths := slices.Concat(slices.Collect(maps.Keys(was.Renamed)), slices.Collect(maps.Keys(now.Renamed)), was.Dims, now.Dims)
	for _, path := range paths {
		a, b := axisOf(was, path), axisOf(now, path)
		if a >= 0 && b >= 0 && a != b {
			return false
		}
	}
	return true
}

// axisOf returns the axis of an array for a dimension of a source, or -1.
func axisOf(a *manifest.Array, dim string) int {
	if renamed, ok := a.Renamed[dim]; ok {
		dim = renamed
	}
	return slices.Index(a.Dims, dim)
}

// renameMerged returns the lengths of merged chunks of an older snapshot, by the names that dimensions have in a newer one.
func renameMerged(old, now *manifest.Snapshot) map[string]int64 {
	if len(old.Merged) == 0 {
		return old.Merged
	}
	renamed := map[string]string{}
	for i := range now.Arrays {
		was := former(old, &now.Arrays[i])
		if was == nil || len(was.Dims) != len(now.Arrays[i].Dims) {
			continue
		}
		for k, dim := range was.Dims {
			renamed[dim] = now.Arrays[i].Dims[k]
		}
	}
	out := map[string]int64{}
	for name, length := range old.Merged {
		is := name
		for _, dim := range slices.Sorted(maps.Keys(renamed)) {
			if dim == name {
				is = renamed[dim]
				break
			}
			if path.Base(dim) == name {
				is = path.Base(renamed[dim])
			}
		}
		out[is] = length
	}
	return out
}

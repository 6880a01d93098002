// Package diff compares snapshots of a manifest: their groups and arrays as Zarr clients see them, and their sources.
package diff

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/zarrjson"
)

// Changes are the differences between two snapshots.
type Changes struct {
	Old, New *manifest.Snapshot
	Nodes    []Node // groups and arrays that differ, by path
	Sources  Sources
}

// Kind says how a group or array differs.
type Kind string

// The kinds of differences.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Node is a group or array that differs.
type Node struct {
	Path   string
	Kind   Kind
	Fields []Field // of its Zarr metadata, if it was changed
}

// Field is a field of Zarr metadata that differs, such as shape, or an attribute, such as attributes.units.
type Field struct {
	Name     string
	Old, New json.RawMessage // nil if the field is missing
}

// Sources are the names of sources that differ.
type Sources struct {
	Added, Removed []string
	Replaced       []string // of the same name, but with another size, modification time or ETag
}

// IsEmpty reports whether the snapshots have the same dataset and sources.
func (c *Changes) IsEmpty() bool {
	return len(c.Nodes)+len(c.Sources.Added)+len(c.Sources.Removed)+len(c.Sources.Replaced) == 0
}

// Between compares two snapshots of a repository.
func Between(ctx context.Context, r *repo.Repository, old, new string) (*Changes, error) {
	before, err := r.Load(ctx, old)
	if err != nil {
		return nil, err
	}
	after, err := r.Load(ctx, new)
	if err != nil {
		return nil, err
	}
	c := &Changes{Old: before, New: after}
	if c.Nodes, err = nodesBetween(before, after); err != nil {
		return nil, err
	}
	c.Sources, err = sourcesBetween(ctx, r, before, after)
	return c, err
}

func nodesBetween(old, new *manifest.Snapshot) (nodes []Node, err error) {
	before, err := documents(old)
	if err != nil {
		return nil, err
	}
	after, err := documents(new)
	if err != nil {
		return nil, err
	}
	paths := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		a, b := before[path], after[path]
		switch {
		case a == nil:
			nodes = append(nodes, Node{Path: path, Kind: Added})
		case b == nil:
			nodes = append(nodes, Node{Path: path, Kind: Removed})
		default:
			if fields := fieldsBetween(a, b); len(fields) > 0 {
				nodes = append(nodes, Node{Path: path, Kind: Changed, Fields: fields})
			}
		}
	}
	return nodes, nil
}

// document has the fields of a node's Zarr metadata. Each attribute is a field.
type document map[string]json.RawMessage

func documents(s *manifest.Snapshot) (map[string]document, error) {
	all := map[string]document{}
	for _, g := range s.Groups {
		d := document{"node_type": json.RawMessage(`"group"`)}
		if err := d.addAttributes(g.Attributes.JSON()); err != nil {
			return nil, fmt.Errorf("%s: %w", g.Path, err)
		}
		all[g.Path] = d
	}
	for i := range s.Arrays {
		a := &s.Arrays[i]
		d := document{}
		text, err := a.Schema.Encode(zarrjson.Compact)
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err == nil {
			err = d.addAttributes(d["attributes"])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path, err)
		}
		delete(d, "attributes")
		all[a.Path] = d
	}
	return all, nil
}

func (d document) addAttributes(text []byte) error {
	var attributes map[string]json.RawMessage
	if len(text) > 0 {
		if err := json.Unmarshal(text, &attributes); err != nil {
			return err
		}
	}
	for name, value := range attributes {
		d["attributes."+name] = value
	}
	return nil
}

func fieldsBetween(old, new document) (fields []Field) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(new))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		a, hasOld := old[name]
		b, hasNew := new[name]
		if hasOld != hasNew || !bytes.Equal(compact(a), compact(b)) {
			fields = append(fields, Field{name, compact(a), compact(b)})
		}
	}
	return fields
}

// compact returns JSON without white space, so that equal values are equal texts.
func compact(value json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return value
	}
	return b.Bytes()
}

func sourcesBetween(ctx context.Context, r *repo.Repository, old, new *manifest.Snapshot) (s Sources, err error) {
	before, err := filesOf(ctx, r, old)
	if err != nil {
		return s, err
	}
	after, err := filesOf(ctx, r, new)
	if err != nil {
		return s, err
	}
	known := make(map[string]*manifest.File, len(before))
	for _, f := range before {
		known[f.URL] = f
	}
	for _, f := range after {
		was := known[f.URL]
		switch {
		case was == nil:
			s.Added = append(s.Added, f.URL)
		case was.Size != f.Size || was.ETag != f.ETag || !was.Modified.Equal(f.Modified):
			s.Replaced = append(s.Replaced, f.URL)
		}
		delete(known, f.URL)
	}
	for _, f := range before {
		if known[f.URL] != nil {
			s.Removed = append(s.Removed, f.URL)
		}
	}
	return s, nil
}

// filesOf returns the sources of a snapshot.
func filesOf(ctx context.Context, r *repo.Repository, s *manifest.Snapshot) (files []*manifest.File, err error) {
	t, err := table.Open(s.Tables, table.InRepository(r), table.NewCache(0))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return t.Files(ctx, manifest.NewShared())
}

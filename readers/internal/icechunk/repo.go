// Package icechunk reads Icechunk repositories of formats 1 and 2: versions of a Zarr hierarchy,
// whose chunks are objects of the repository, byte ranges of other files, or inline.
//
//	repo                 format 2: branches, tags and snapshots
//	refs/branch.main/ref.json, refs/tag.v1/ref.json
//	                     format 1: {"snapshot": "VY76P925PRY57WFEK410"}
//	snapshots/ID         nodes: path, zarr.json, and for arrays manifests with the part of
//	                     the array that they cover
//	manifests/ID         arrays: refs, in order
//	chunks/ID            stored chunks
//
// Package file reads the encoding that all files but chunks and ref.json share.
//
// Names, fields and types follow the Icechunk specification 2.1 and its schemas. As in
// Icechunk, refs outside the part that a snapshot assigns to a manifest are ignored. Refs that are
// out of order are an error; Icechunk reads fill values for them.
package icechunk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"varve/readers"
	"varve/readers/icechunk/file"
	"varve/readers/internal/zarrtree"
	"varve/readers/source"
)

// Format is the readers.Reader of repositories.
type Format struct {
	// Version is the branch, tag or snapshot id to read; "" is the branch main.
	Version string
	// Allow lists folders whose files may be read, besides the folder that contains the repository.
	Allow []string
	// Containers are the places of named containers, each as NAME=PLACE. Locations such as vcc://NAME/x.nc are relative to them.
	Containers []string
	// KeepShards makes shards the chunks of sharded arrays.
	KeepShards bool
}

// Info describes the format.
func Info() readers.Format {
	return readers.Format{
		Name: "Icechunk", Detect: Format{}.Detect, Options: []readers.Option{zarrtree.KeepShards, container},
		New: func(c *readers.Config) readers.Reader {
			return Format{Allow: c.Allow, Containers: c.Settings.Files(container.Name), KeepShards: c.Settings.Switch(zarrtree.KeepShards.Name)}
		},
	}
}

const (
	repoKey = "repo"
	mainRef = "refs/branch.main/ref.json"
)

// Detect reports whether a folder is a repository.
func (Format) Detect(ctx context.Context, src *source.Source) (bool, error) {
	if !src.IsFolder() {
		return false, ctx.Err()
	}
	repo, err := src.Member(ctx, repoKey)
	if errors.Is(err, fs.ErrNotExist) {
		ref, err := src.ReadMember(ctx, mainRef, maxRef)
		// Without the branch main, the folder is not a repository of format 1.
		if errors.Is(err, fs.ErrNotExist) || err != nil {
			return false, ignoreAbsent(err)
		}
		_, err = parseRef(ref)
		return err == nil, nil
	}
	if err != nil {
		return false, err
	}
	n := min(repo.Size(), int64(len(file.Magic)))
	head, err := repo.View(ctx, 0, int(n))
	is := string(head) == file.Magic
	return is, errors.Join(err, repo.Close())
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open reads a snapshot.
func (f Format) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	r, err := openRepo(ctx, src)
	if err != nil {
		return nil, err
	}
	id, err := r.find(ctx, f.Version)
	if err != nil {
		return nil, &readers.Error{Source: src.Name(), Offset: -1, Err: err}
	}
	folder := src.Name()
	if path, err := source.LocalPath(folder); err == nil {
		folder = filepath.Dir(filepath.Clean(path))
	}
	places, err := containersOf(f.Containers)
	if err != nil {
		return nil, err
	}
	return r.dataset(ctx, id, &chunks{src: src, folders: append([]string{folder}, f.Allow...), places: places}, f.KeepShards)
}

// repo is an open repository.
type repo struct {
	Branches map[string]string // snapshot ids by name; nil in format 1, which looks names up
	Tags     map[string]string

	src  *source.Source
	isV1 bool
}

// Limits of a repository, which has an entry for each commit ever made.
const (
	maxRef       = 4 << 10
	maxSnapshots = 1 << 22
)

// openRepo reads the branches and tags of a repository.
func openRepo(ctx context.Context, src *source.Source) (*repo, error) {
	if !src.IsFolder() {
		return nil, fmt.Errorf("%s: not an Icechunk repository: it is a file, not a folder", src.Name())
	}
	r := &repo{src: src}
	f, err := readFile(ctx, src, repoKey, file.Repo)
	if errors.Is(err, fs.ErrNotExist) {
		r.isV1 = true
		_, err := r.readRef(ctx, mainRef)
		return r, err
	}
	if err != nil {
		return nil, err
	}
	r.read(f)
	if f.Err() != nil {
		return nil, &readers.Error{Source: src.MemberName(repoKey), Offset: -1, Err: f.Err()}
	}
	return r, nil
}

// readFile returns the buffer in a file of the repository.
func readFile(ctx context.Context, src *source.Source, key string, want file.Kind) (*file.Buffer, error) {
	data, err := src.ReadMember(ctx, key, file.MaxSize)
	if err != nil {
		return nil, err
	}
	f, err := file.Unpack(data, want)
	if err != nil {
		return nil, &readers.Error{Source: src.MemberName(key), Offset: 0, Err: err}
	}
	return f, nil
}

// read reads the Repo table.
func (r *repo) read(f *file.Buffer) {
	t := f.Root()
	snapshots := t.Vector(4, 4)
	if snapshots.N > maxSnapshots {
		f.Fail(fmt.Errorf("%d snapshots: %w", snapshots.N, errors.ErrUnsupported))
	}
	r.Tags, r.Branches = refs(t.Vector(1, 4), snapshots), refs(t.Vector(2, 4), snapshots)
}

// refs reads a vector of Ref tables.
func refs(v, snapshots file.Vector) map[string]string {
	out := map[string]string{}
	for i := range v.N {
		t := v.Table(i)
		name, at := t.Text(0), uint64(t.U32(1))
		if at >= snapshots.N {
			t.Fail(readers.Corruptf("%.80q refers to snapshot %d of %d", name, at, snapshots.N))
		}
		if t.Err() != nil {
			break
		}
		out[name] = file.Name(snapshots.Table(at).Struct(0, 12))
	}
	return out
}

// find returns the snapshot id of a branch, a tag or an id.
func (r *repo) find(ctx context.Context, version string) (string, error) {
	if version == "" {
		version = "main"
	}
	if r.isV1 {
		// Format 1 has a file for each branch and tag.
		return r.findRef(ctx, version)
	}
	for _, names := range []map[string]string{r.Branches, r.Tags} {
		if id, ok := names[version]; ok {
			return id, nil
		}
	}
	if isID(version) {
		return version, nil
	}
	return "", fmt.Errorf("no branch, tag or snapshot is named %.80q", version)
}

// isID reports whether text is a snapshot id.
func isID(text string) bool {
	return len(text) == 20 && strings.Trim(text, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}

// findRef is find for format 1. A deleted tag has a file ref.json.deleted.
func (r *repo) findRef(ctx context.Context, version string) (string, error) {
	for _, key := range []string{"refs/branch." + version + "/ref.json", "refs/tag." + version + "/ref.json"} {
		if strings.Contains(version, "/") || !fs.ValidPath(key) {
			break
		}
		// Tags are immutable, so a deletion is recorded in a second file.
		if _, err := r.src.ReadMember(ctx, key+".deleted", maxRef); err == nil {
			continue
		}
		if id, err := r.readRef(ctx, key); !errors.Is(err, fs.ErrNotExist) {
			return id, err
		}
	}
	if isID(version) {
		return version, nil
	}
	return "", fmt.Errorf("no branch, tag or snapshot is named %.80q", version)
}

func (r *repo) readRef(ctx context.Context, key string) (string, error) {
	doc, err := r.src.ReadMember(ctx, key, maxRef)
	if err != nil {
		return "", err
	}
	id, err := parseRef(doc)
	if err != nil {
		return "", &readers.Error{Source: r.src.MemberName(key), Offset: 0, Err: err}
	}
	return id, nil
}

func parseRef(doc []byte) (string, error) {
	var ref struct{ Snapshot string }
	if err := json.Unmarshal(doc, &ref); err != nil || !isID(ref.Snapshot) {
		return "", readers.Corruptf(`found %.80q (want {"snapshot": an id of 20 characters})`, doc)
	}
	return ref.Snapshot, nil
}

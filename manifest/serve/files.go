package serve

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"varve/manifest"
	"varve/manifest/netcdffile"
)

// Snapshot is an open snapshot of a manifest, whose contents are read as files. The caller closes it.
type Snapshot struct {
	h *Handler
	s *site
}

// ErrNoFile is returned for a manifest, a file or a folder that does not exist. A chunk that is all fill value is no file.
var ErrNoFile = errors.New("no such file")

// Entry is a file or folder of a snapshot's Zarr hierarchy.
type Entry struct {
	Name     string // within its folder
	IsFolder bool
	Size     int64 // of a file; List does not set it
}

// Names returns the names of the manifests. A name is that of the folder, without its extension.
func (h *Handler) Names() []string {
	names := make([]string, len(h.places))
	for i, p := range h.places {
		names[i] = strings.TrimSuffix(p.fileName(), netcdfExtension)
	}
	return names
}

// OpenSnapshot opens a snapshot of a manifest by its ID, or the newest if the ID is empty. The error for a manifest
// that does not exist is ErrNoFile.
func (h *Handler) OpenSnapshot(ctx context.Context, name, id string) (*Snapshot, error) {
	for i, n := range h.Names() {
		if n != name {
			continue
		}
		p := h.places[i]
		if id == "" {
			id = p.outlook.Load().newest
		}
		s, err := h.shelf.enter(ctx, p, id)
		if err != nil {
			return nil, err
		}
		return &Snapshot{h, s}, nil
	}
	return nil, ErrNoFile
}

// Close ends the use of the snapshot.
func (v *Snapshot) Close() { v.s.leave(v.h.opts.Log) }

// ID returns the ID of the snapshot.
func (v *Snapshot) ID() string { return v.s.data.Snapshot().ID }

// Created returns when the snapshot was made.
func (v *Snapshot) Created() time.Time { return v.s.data.Snapshot().Created }

// NetCDF returns the dataset as a netCDF file. It can be read until the snapshot is closed.
func (v *Snapshot) NetCDF(ctx context.Context) (*netcdffile.File, error) {
	return v.h.netcdfOf(ctx, v.s)
}

// ReadNetCDF fills b with bytes of a file that NetCDF returned, within the limits of concurrent work.
func (v *Snapshot) ReadNetCDF(ctx context.Context, f *netcdffile.File, b []byte, off int64) error {
	return v.s.readFile(ctx, f, b, off)
}

// Find returns the entry at a path of the Zarr hierarchy in format 3. A path that does not exist is ErrNoFile.
func (v *Snapshot) Find(ctx context.Context, path string) (Entry, error) {
	e := Entry{Name: path[strings.LastIndexByte(path, '/')+1:]}
	doc, a, coords := v.s.v3.lookUp(path)
	switch {
	case doc != nil:
		e.Size = int64(len(doc.plain.data))
		return e, nil
	case a != nil:
		var err error
		e.Size, err = v.s.chunkSize(ctx, a, coords)
		return e, err
	case path == "" || v.s.isFolder(path):
		e.IsFolder = true
		return e, nil
	}
	return e, ErrNoFile
}

func (s *site) chunkSize(ctx context.Context, a *served, coords []int64) (int64, error) {
	l, err := a.Locate(ctx, coords)
	switch {
	case err != nil:
		return 0, err
	case l.Kind == manifest.Missing:
		return 0, ErrNoFile
	case l.Kind == manifest.Reencoded:
		data, err := s.madeChunk(ctx, a, coords)
		return int64(len(data)), err
	case l.Source < 0:
		return int64(len(l.Inline)), nil
	}
	return l.Size, nil
}

// madeChunk returns a re-encoded chunk, or ErrNoFile if it is all fill value.
func (s *site) madeChunk(ctx context.Context, a *served, coords []int64) ([]byte, error) {
	data, done, err := s.reencode(ctx, a, coords)
	if err != nil {
		return nil, err
	}
	done()
	if data == nil {
		return nil, ErrNoFile
	}
	return data, nil
}

// isFolder reports whether keys begin with a path and a slash.
func (s *site) isFolder(path string) bool {
	if n, ok := s.node(path); ok && n.path == path {
		return true
	}
	// Folders of chunks: with more coordinates, the path is a chunk.
	for range maxRank {
		path += "/0"
		if _, a, _ := s.v3.lookUp(path); a != nil {
			return true
		}
	}
	return false
}

// maxRank is more than the dimensions of any array of the formats that varve reads.
const maxRank = 64

// Read reads bytes of the file at a path.
func (v *Snapshot) Read(ctx context.Context, path string, b []byte, off int64) (n int, err error) {
	doc, a, coords := v.s.v3.lookUp(path)
	var data []byte
	switch {
	case doc != nil:
		data = doc.plain.data
	case a == nil:
		return 0, ErrNoFile
	default:
		l, err := a.Locate(ctx, coords)
		if err != nil {
			return 0, err
		}
		switch {
		case l.Kind == manifest.Missing:
			return 0, ErrNoFile
		case l.Kind == manifest.Reencoded:
			data, err = v.s.madeChunk(ctx, a, coords)
		case l.Source < 0:
			data = l.Inline
		default:
			length := min(int64(len(b)), max(l.Size-off, 0))
			data, err = a.ReadStored(ctx, &l, min(off, l.Size), length)
			off = 0
		}
		if err != nil {
			return 0, err
		}
	}
	return copy(b, data[min(off, int64(len(data))):]), nil
}

// List yields the entries of a folder. An error ends the sequence.
func (v *Snapshot) List(ctx context.Context, folder string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if n, ok := v.s.node(folder); ok {
			if !yield(Entry{Name: "zarr.json"}, nil) {
				return
			}
			for _, below := range v.s.nodes {
				if below.path != "" && parentOf(below.path) == n.path && !yield(Entry{Name: strings.TrimPrefix(below.path[len(n.path):], "/"), IsFolder: true}, nil) {
					return
				}
			}
			if n.array == nil {
				return
			}
		}
		v.s.listChunks(ctx, folder, yield)
	}
}

// listChunks yields the chunks in a folder, and the folders of chunks.
func (s *site) listChunks(ctx context.Context, folder string, yield func(Entry, error) bool) {
	path := folder
	for path != "" && s.v3.arrays[path] == nil {
		path = parentOf(path)
	}
	a := s.v3.arrays[path]
	if a == nil || a.Grid().Chunks() == 0 {
		return
	}
	if a.keys.Sep() != '/' {
		s.listAll(ctx, a, yield)
		return
	}
	// One level of folders is the prefix, if keys have one, and each other level is an axis.
	rank := a.Grid().Rank()
	levels := strings.Split(string(a.keys.Append(nil, make([]int64, rank))), "/")
	below := strings.TrimPrefix(folder[len(path):], "/")
	at := 0
	if below != "" {
		at = strings.Count(below, "/") + 1
	}
	if at >= len(levels) {
		return
	}
	e := Entry{Name: levels[at], IsFolder: at < len(levels)-1}
	axis := at - (len(levels) - rank)
	if axis < 0 {
		s.yieldChunk(ctx, folder, e, yield)
		return
	}
	for i := range a.Grid().Counts()[axis] {
		if e.Name = strconv.FormatInt(i, 10); !s.yieldChunk(ctx, folder, e, yield) {
			return
		}
	}
}

// yieldChunk yields an entry of a folder, unless it is a chunk that does not exist. It reports whether to go on.
func (s *site) yieldChunk(ctx context.Context, folder string, e Entry, yield func(Entry, error) bool) bool {
	if _, a, coords := s.v3.lookUp(folder + "/" + e.Name); a != nil && !e.IsFolder {
		l, err := a.Locate(ctx, coords)
		if err != nil {
			yield(e, err)
			return false
		}
		if l.Kind == manifest.Missing {
			return true
		}
	}
	return yield(e, nil)
}

// listAll yields all chunks of an array whose keys are in one folder.
func (s *site) listAll(ctx context.Context, a *served, yield func(Entry, error) bool) {
	coords := make([]int64, a.Grid().Rank())
	for n := range a.Grid().Chunks() {
		a.Grid().Coords(n, coords)
		l, err := a.Locate(ctx, coords)
		if err == nil && l.Kind == manifest.Missing {
			continue
		}
		if !yield(Entry{Name: string(a.keys.Append(nil, coords))}, err) || err != nil {
			return
		}
	}
}

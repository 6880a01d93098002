package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"varve/codec"
	"varve/grid"
	"varve/readers"
	"varve/zarrjson"
)

// build writes the archive as a Zarr: chunks that are stored as the face declares as
// they are, the others rebuilt.
func (m *mosaic) build(ctx context.Context, store string) (string, error) {
	group := &zarrjson.Group{Consolidated: &zarrjson.Consolidated{}}
	var err error
	if group.Attributes, err = texts(m.title); err != nil {
		return "", err
	}
	verbatim, rebuilt := 0, 0
	for _, a := range m.arrays {
		for _, t := range a.tiles {
			copied, made, err := a.writeTile(ctx, t, filepath.Join(store, a.name))
			if err != nil {
				return "", fmt.Errorf("%s: %s: %w", t.src.Name(), a.name, err)
			}
			verbatim, rebuilt = verbatim+copied, rebuilt+made
		}
		raw, err := a.doc.Encode(zarrjson.Indented)
		if err != nil {
			return "", err
		}
		if err := writeNew(filepath.Join(store, a.name, "zarr.json"), raw); err != nil {
			return "", err
		}
		group.Consolidated.Members = append(group.Consolidated.Members, zarrjson.Member{Path: a.name, Node: zarrjson.Node{Array: a.doc}})
	}
	raw, err := group.Encode(zarrjson.Indented)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("build   %s\n        %d chunks as they are stored, %d rebuilt", store, verbatim, rebuilt), writeNew(filepath.Join(store, "zarr.json"), raw)
}

// writeTile writes the chunks of one tile and counts them.
func (a *mosaicArray) writeTile(ctx context.Context, t *tile, dir string) (verbatim, rebuilt int, err error) {
	walk, err := a.grid.WalkRegion(t.region)
	if err != nil {
		return 0, 0, err
	}
	stored, err := a.storedChunks(ctx, t)
	if err != nil {
		return 0, 0, err
	}
	for walk.Next() {
		key := string(a.doc.Keys.Append(nil, walk.Coords))
		raw := stored[key]
		if raw != nil {
			verbatim++
		} else if raw, err = a.rebuild(t, walk.Chunk); err != nil {
			return 0, 0, err
		} else {
			rebuilt++
		}
		if err := writeNew(filepath.Join(dir, key), raw); err != nil {
			return 0, 0, err
		}
	}
	return verbatim, rebuilt, nil
}

// storedChunks reads the chunks of a tile that need no rebuilding, by their new keys.
func (a *mosaicArray) storedChunks(ctx context.Context, t *tile) (map[string][]byte, error) {
	chunks := map[string][]byte{}
	if !a.verbatim(t) {
		return chunks, nil
	}
	first, err := a.grid.Dim(0).Find(t.region.Origin[0])
	if err != nil {
		return nil, err
	}
	for ref, err := range t.v.Storage.Refs(ctx) {
		if err != nil {
			return nil, err
		}
		if ref.Mask != 0 {
			continue
		}
		coords := make([]int64, len(ref.Index))
		for k, i := range ref.Index {
			coords[k] = int64(i)
		}
		coords[0] += first
		raw := make([]byte, ref.Size)
		if _, err := t.src.ReadAt(ctx, raw, ref.Offset); err != nil {
			return nil, err
		}
		chunks[string(a.doc.Keys.Append(nil, coords))] = raw
	}
	return chunks, nil
}

// rebuild encodes a chunk as the face declares it, from the tile's elements.
func (a *mosaicArray) rebuild(t *tile, c grid.Chunk) ([]byte, error) {
	p, err := codec.New(a.doc.Codecs, a.doc.Form(c.Codec))
	if err != nil {
		return nil, err
	}
	chunk := codec.NewElems(p.Form())
	into := grid.Window[byte]{Data: chunk.Fixed, Region: grid.Region{Origin: c.Origin, Shape: c.Codec}}
	from := grid.Window[byte]{Data: t.values, Region: t.region}
	if err := grid.Copy(into, from, c.Region, int64(p.Form().Type.Size)); err != nil {
		return nil, err
	}
	return p.Encode(nil, chunk)
}

// writeNew writes a file that must not be there yet, and its folders.
func writeNew(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// readStored reads a selection of an array in a Zarr on disk.
func readStored(dir string, selectors ...grid.Selector) ([]byte, *grid.Indexer, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "zarr.json"))
	if err != nil {
		return nil, nil, err
	}
	doc, err := zarrjson.ParseArray(raw)
	if err != nil {
		return nil, nil, err
	}
	g, err := doc.Grid()
	if err != nil {
		return nil, nil, err
	}
	x, err := grid.Basic(g, selectors...)
	if err != nil {
		return nil, nil, err
	}
	out := codec.NewElems(doc.Form(x.Shape()))
	for c := x.Project(); c.Next(); {
		if err := gatherChunk(dir, doc, &c.Projection, out.Fixed); err != nil {
			return nil, nil, fmt.Errorf("%s: chunk %v: %w", dir, c.Coords, err)
		}
	}
	return out.Fixed, x, nil
}

func gatherChunk(dir string, doc *zarrjson.Array, c *grid.Projection, out []byte) error {
	p, err := codec.New(doc.Codecs, doc.Form(c.Codec))
	if err != nil {
		return err
	}
	stored, err := os.ReadFile(filepath.Join(dir, string(doc.Keys.Append(nil, c.Coords))))
	if err != nil {
		return err
	}
	chunk := codec.NewElems(p.Form())
	if err := p.Decode(chunk, stored); err != nil {
		return err
	}
	return grid.Gather(c, out, grid.Window[byte]{Data: chunk.Fixed, Region: grid.Whole(c.Codec)}, int64(p.Form().Type.Size))
}

// readDemo reads a week that lies in two files.
func readDemo(store string) (string, error) {
	raw, x, err := readStored(filepath.Join(store, "t2m"), grid.Range(56, 63), grid.All(), grid.All())
	if err != nil {
		return "", err
	}
	sum, n := 0.0, len(raw)/4
	for i := range n {
		sum += float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
	return fmt.Sprintf("read    t2m[56:63], the last days of February and the first of March: shape %v, mean %.3f degC", x.Shape(), sum/float64(n)), nil
}

// verify compares every element of the Zarr with the file it came from.
func (m *mosaic) verify(ctx context.Context, store string) (string, error) {
	elements := 0
	for _, a := range m.arrays {
		for _, t := range a.tiles {
			got, _, err := readStored(filepath.Join(store, a.name), grid.Range(t.region.Origin[0], t.region.End(0)))
			if err != nil {
				return "", err
			}
			want, err := t.v.ReadAll(ctx, 1<<20)
			if err != nil {
				return "", err
			}
			if !bytes.Equal(got, want.Data) {
				return "", fmt.Errorf("%s differs from %s: %w", a.name, t.src.Name(), readers.ErrCorrupt)
			}
			elements += len(got) / a.doc.DataType.Type().Size
		}
	}
	return fmt.Sprintf("verify  %d elements, each as in its file", elements), nil
}

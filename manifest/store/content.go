package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/plan"
	"varve/manifest/scan"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// VerifySource reads a source again, and compares its checksums, except those that codecs of chunks store:
//
//   - of its metadata and indexes,
//   - of the compressed file or the archive that it is in,
//   - of blocks of data, such as DATASUM of FITS and the CRC-32 of members of a Zarr store in a zip file.
func (s *Store) VerifySource(ctx context.Context, row int64) (err error) {
	r, err := s.tables.Source(ctx, row)
	if err != nil {
		return err
	}
	settings, err := s.settings()
	if err != nil {
		return err
	}
	opened, err := openRetrying(ctx, s.sources, func() (*source.Source, error) { return s.openWhole(ctx, row) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	err = opened.Verify(ctx)
	switch {
	case err != nil:
	case r.Hidden:
		err = scan.VerifyNamed(ctx, opened, r.Format, s.opener, settings)
	default:
		err = s.verifyMetadata(ctx, opened, r, settings)
	}
	if err != nil && !strings.Contains(err.Error(), r.URL) {
		err = fmt.Errorf("%s: %w", r.URL, err)
	}
	return err
}

// settings returns the options of formats with which the sources were scanned. It leaves out those of formats that this program
// does not have: it opens no source of them.
func (s *Store) settings() (readers.Settings, error) {
	built := plan.Options{}
	if s.snapshot.Options != nil {
		if err := json.Unmarshal(s.snapshot.Options, &built); err != nil {
			return nil, fmt.Errorf("options of snapshot %s: %w", s.snapshot.ID, err)
		}
	}
	own := readers.Settings{}
	for _, o := range formats.Options() {
		if value, isSet := built.Formats[o.Name]; isSet {
			own[o.Name] = value
		}
	}
	return own, nil
}

func (s *Store) verifyMetadata(ctx context.Context, opened *source.Source, r *table.SourceRow, settings readers.Settings) error {
	h, err := s.tables.Header(ctx, r.Header)
	groups := &manifest.GroupAttributes{}
	if err == nil && r.Groups != "" {
		groups, err = s.Tables().Groups(ctx, r.Groups)
	}
	if err != nil {
		return err
	}
	return scan.Verify(ctx, opened, h, groups, s.opener, settings)
}

// openWhole opens a source, which may be a folder, or a prefix of an object store. These have no size and no ETag.
func (s *Store) openWhole(ctx context.Context, row int64) (*source.Source, error) {
	src, err := s.Source(ctx, row)
	if err != nil {
		return nil, err
	}
	if source.IsObject(src.URL) && src.Size == 0 && src.ETag == "" && !source.IsPacked(src.URL) {
		return s.opener.Open(ctx, src.URL)
	}
	path, err := source.LocalPath(src.URL)
	if err != nil || src.Size > 0 || s.patches.isFile(row) {
		return s.openScanned(ctx, row, src)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return s.openScanned(ctx, row, src)
	}
	if err := s.access.checkFolder(src, path); err != nil {
		return nil, err
	}
	return source.OpenFolder(ctx, path)
}

// chunkSums decodes the stored chunks of a variable to compare the checksums that its codecs store.
type chunkSums struct {
	v        *manifest.Variable
	grid     *grid.Grid
	pipeline *codec.Pipeline // of the shape of the last chunk
	coords   []int64
}

// newChunkSums returns nil if no codec of the variable stores a checksum.
func newChunkSums(v *manifest.Variable) *chunkSums {
	if !hasChecksum(v) {
		return nil
	}
	g, err := v.Grid()
	if err != nil {
		return nil // its chunks have no rows
	}
	return &chunkSums{v: v, grid: g, coords: make([]int64, g.Rank())}
}

// hasChecksum reports whether codecs of the variable's chunks store checksums.
func hasChecksum(v *manifest.Variable) bool {
	return v.Unreadable == "" && codec.HasChecksum(v.Storage.Codecs)
}

// of returns the pipeline of a chunk, by its number in the variable's grid.
func (c *chunkSums) of(number int64, ref manifest.Ref) (*codec.Pipeline, error) {
	c.grid.Coords(number, c.coords)
	chunk, ok := c.grid.Chunk(c.coords)
	if !ok {
		return nil, fmt.Errorf("chunk %d: %w: the grid has %d", number, codec.ErrCorrupt, c.grid.Chunks())
	}
	if c.pipeline == nil || !slices.Equal(c.pipeline.Form().Shape, chunk.Codec) {
		p, err := codec.New(c.v.Storage.Codecs, codec.Form{Type: c.v.Type, Shape: slices.Clone(chunk.Codec), Fill: c.v.Fill.Value})
		if err != nil {
			return nil, err
		}
		c.pipeline = p
	}
	mask := ref.Mask
	if c.v.Storage.RawEdges && !slices.Equal(chunk.Shape, chunk.Codec) {
		mask = ^uint32(0) // the format stores such chunks without filters
	}
	if mask == 0 {
		return c.pipeline, nil
	}
	return c.pipeline.Skip(mask).WithCheck(ref.Mask), nil
}

// verifyDecoding decodes a stored chunk, and drops the elements.
func (s *Store) verifyDecoding(p *codec.Pipeline, stored []byte) error {
	form := p.Form()
	if err := errors.Join(form.CheckSize(), form.CheckGrowth(int64(len(stored)))); err != nil {
		return err
	}
	e, room := s.elems(form)
	defer room.release()
	return p.Decode(e, stored)
}

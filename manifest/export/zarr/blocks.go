package zarr

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"varve/grid"
	"varve/manifest/internal/home"
	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

// blockFolder has the temporary blocks between the two passes of a copy. The first pass reads each box of stored chunks once and writes
// a file with a block for each box of the copy that shares elements with it. The second pass reads each block once:
//
//	DIR/0-12   array 0, box 12 of stored chunks:  block, checksum, block, checksum, …
//	block      the elements that both boxes have, in C order, not compressed
//	checksum   CRC-32C of the block(4)
//
// Blocks are in C order of the boxes of the copy, so the position of each is computed. The name of the folder is random, and in the
// state of the copy, so that a stopped copy finds the files that it has already written.
type blockFolder struct {
	home home.Home
	note blocksNote
}

// blocksNote is the content of the file blocks in the copy's state.
type blocksNote struct {
	Folder string `json:"folder"`
	Plan   string `json:"plan"` // a digest of what determines the content of the files
}

const (
	blocksName   = "/blocks" // in the folder of the journal
	blocksPrefix = "varve-blocks-"
	checksumSize = 4
	// slabBytes is the size of the parts in which blocks are read and written.
	slabBytes = 4 << 20
)

// blockFile is the layout of a file of blocks.
type blockFile struct {
	key    string
	region grid.Region // of the stored chunks, as far as they are copied
	boxes  grid.Region // the boxes of the copy that have a block, by their coordinates
	unit   int64
}

// file returns the file of a box of stored chunks.
func (t *target) file(p *passes, at []int64) (f blockFile, err error) {
	region, err := p.from.grid.RegionOf(p.from.chunks(at))
	if err != nil {
		return f, err
	}
	region.Intersect(region, p.region)
	number := int64(0)
	for k, n := range p.from.counts() {
		number = number*n + at[k]
	}
	f = blockFile{key: fmt.Sprintf("%d-%d", t.number, number), region: region, unit: t.unit()}
	f.boxes, err = p.to.meets(region)
	return f, err
}

// count returns the number of blocks.
func (f *blockFile) count() int64 {
	n, _ := f.boxes.Elements()
	return n
}

// size returns the size of the file.
func (f *blockFile) size() int64 {
	n, _ := f.region.Elements()
	return n*f.unit + f.count()*checksumSize
}

// position returns the position of the block with the part of f's region that the box at some coordinates has.
func (f *blockFile) position(at []int64, part grid.Region) int64 {
	elements, number, before := int64(0), int64(0), int64(1)
	for k := range at {
		rest := before * (part.Origin[k] - f.region.Origin[k])
		for _, n := range f.region.Shape[k+1:] {
			rest *= n
		}
		elements += rest
		before *= part.Shape[k]
		number = number*f.boxes.Shape[k] + at[k] - f.boxes.Origin[k]
	}
	return elements*f.unit + number*checksumSize
}

// openBlocks opens the folder of the temporary blocks, if an array needs it. It removes the blocks of a copy that was stopped and
// whose boxes or place were others.
func (c *copier) openBlocks(ctx context.Context) (*blockFolder, error) {
	digest := sha256.New()
	digest.Write(c.journalHead())
	needed := false
	for _, t := range c.arrays {
		if t.passes != nil && t.passes.from != nil {
			needed = true
			fmt.Fprintln(digest, t.number, t.passes.from.area, t.passes.from.step, t.passes.from.lengths(), t.passes.to.area, t.passes.to.step)
		}
	}
	plan := hex.EncodeToString(digest.Sum(nil))
	name, isObject := blocksPrefix+strings.ToLower(rand.Text()), source.IsObject(c.opts.Temporary)
	var err error
	if isObject {
		name = strings.TrimSuffix(c.opts.Temporary, "/") + "/" + name
	} else if name, err = filepath.Abs(filepath.Join(cmp.Or(c.opts.Temporary, os.TempDir()), name)); err != nil {
		return nil, err
	}
	b, err := c.findBlocks(ctx)
	if err != nil {
		return nil, err
	}
	isElsewhere := func() bool { return c.opts.Temporary != "" && filepath.Dir(b.note.Folder) != filepath.Dir(name) }
	if b != nil && (!needed || b.note.Plan != plan || isElsewhere()) {
		if err := c.removeBlocks(ctx, b); err != nil {
			return nil, err
		}
		b = nil
	}
	if b != nil || !needed {
		return b, nil
	}
	// The name is noted before the folder exists, so that no stopped copy leaves a folder that nobody knows.
	b = &blockFolder{note: blocksNote{Folder: name, Plan: plan}}
	if !c.isShared() {
		note, err := json.Marshal(b.note)
		if err == nil {
			err = c.home.Put(ctx, c.blocksKey(), note, home.Durable)
		}
		if err != nil {
			return nil, err
		}
	}
	if !isObject {
		if err := os.Mkdir(name, 0o700); err != nil {
			return nil, c.temporaryError(err)
		}
	}
	b.home, err = home.Open(ctx, name)
	return b, err
}

func (c *copier) blocksKey() string { return path.Dir(c.home.journal) + blocksName }

// isShared reports whether another process may write the same slice at the same time, because an object store has no locks. Then each
// has blocks of its own, and a stopped slice leaves its blocks.
func (c *copier) isShared() bool { return c.home.prefix != nil && !c.opts.Slice.IsWhole() }

// temporaryError adds to an error of a temporary file how to choose another place.
func (c *copier) temporaryError(err error) error {
	if c.opts.Temporary == "" {
		return atomicfile.TemporaryError(err)
	}
	return fmt.Errorf("temporary blocks: %w", err)
}

// findBlocks returns the blocks of a stopped copy, or nil.
func (c *copier) findBlocks(ctx context.Context) (*blockFolder, error) {
	if c.isShared() {
		return nil, nil
	}
	data, err := c.home.Read(ctx, c.blocksKey(), 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b := &blockFolder{}
	// A folder with another name is not removed, whoever wrote the file.
	if err := json.Unmarshal(data, &b.note); err != nil || !strings.HasPrefix(path.Base(strings.ReplaceAll(b.note.Folder, `\`, "/")), blocksPrefix) {
		return nil, fmt.Errorf("%s: is not a note of temporary blocks; remove it", c.home.Name(c.blocksKey()))
	}
	if !source.IsObject(b.note.Folder) {
		info, err := os.Lstat(b.note.Folder)
		if err != nil || !info.IsDir() {
			return nil, nil // another machine has it, or it was removed
		}
	}
	b.home, err = home.Open(ctx, b.note.Folder)
	return b, err
}

// removeBlocks removes the temporary blocks, if there are any.
func (c *copier) removeBlocks(ctx context.Context, b *blockFolder) error {
	if b == nil {
		return nil
	}
	err := b.home.Clear(ctx)
	if !source.IsObject(b.note.Folder) {
		err = errors.Join(err, os.Remove(b.note.Folder))
	}
	if err == nil && !c.isShared() {
		_, err = c.home.Remove(ctx, c.blocksKey())
	}
	return b.home.Close(err)
}

// writeBlocks writes the file of a box of stored chunks, unless it exists.
func (b *box) writeBlocks(ctx context.Context, at []int64) error {
	f, err := b.target.file(b.passes, at)
	if err != nil {
		return err
	}
	if id, err := b.blocks.home.Stat(ctx, f.key); err == nil && id.Size == f.size() {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return b.temporaryError(err)
	}
	b.region = f.region
	if err := b.readSource(ctx); err != nil {
		return err
	}
	defer b.free()
	err = b.blocks.home.Write(ctx, f.key, home.Whole, func(to io.Writer) error { return b.encodeBlocks(ctx, &f, to) })
	if err != nil {
		return b.temporaryError(err)
	}
	return nil
}

// encodeBlocks writes the blocks of a file.
func (b *box) encodeBlocks(ctx context.Context, f *blockFile, to io.Writer) error {
	slab := make([]byte, 0, max(slabBytes, f.unit))
	for at := range indices(f.boxes) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part, err := b.passes.part(at, f.region)
		if err != nil {
			return err
		}
		sum := uint32(0)
		for rows := range split(part, slabBytes/f.unit) {
			n, _ := rows.Elements()
			slab = slab[:n*f.unit]
			if err := grid.Copy(grid.Window[byte]{Data: slab, Region: rows}, grid.Window[byte]{Data: b.elems.Fixed, Region: b.region}, rows, f.unit); err != nil {
				return err
			}
			sum = crc32.Update(sum, castagnoli, slab)
			if _, err := to.Write(slab); err != nil {
				return err
			}
		}
		if _, err := to.Write(binary.LittleEndian.AppendUint32(nil, sum)); err != nil {
			return err
		}
	}
	return nil
}

// part returns the elements of a region that a box of the copy has.
func (p *passes) part(at []int64, region grid.Region) (grid.Region, error) {
	part, err := p.to.grid.RegionOf(p.to.chunks(at))
	if err == nil {
		part.Intersect(part, region)
	}
	return part, err
}

// readBlocks reads the elements of a box of the copy from all files that have a block of it.
func (b *box) readBlocks(ctx context.Context) error {
	files, err := b.passes.from.meets(b.region)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.passes.workers)
	for at := range indices(files) {
		f, err := b.target.file(b.passes, at)
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, g.Wait())
		}
		g.Go(func() error {
			if err := b.readBlock(ctx, &f); err != nil {
				return b.temporaryError(fmt.Errorf("%s: %w", b.blocks.home.Name(f.key), err))
			}
			return nil
		})
	}
	return g.Wait()
}

// readBlock reads a block.
func (b *box) readBlock(ctx context.Context, f *blockFile) (err error) {
	part := f.region.Clone()
	part.Intersect(part, b.region)
	file, err := b.blocks.home.Open(ctx, f.key, f.size())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	n, err := part.Elements()
	if err != nil {
		return err
	}
	in := io.NewSectionReader(file, f.position(b.at, part), n*f.unit+checksumSize)
	sum := uint32(0)
	slab := make([]byte, min(max(slabBytes, f.unit), n*f.unit))
	for rows := range split(part, slabBytes/f.unit) {
		n, _ := rows.Elements()
		slab = slab[:n*f.unit]
		if _, err := io.ReadFull(in, slab); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli, slab)
		if err := grid.Copy(grid.Window[byte]{Data: b.elems.Fixed, Region: b.region}, grid.Window[byte]{Data: slab, Region: rows}, rows, f.unit); err != nil {
			return err
		}
	}
	var stored [checksumSize]byte
	if _, err := io.ReadFull(in, stored[:]); err != nil {
		return err
	}
	if !bytes.Equal(stored[:], binary.LittleEndian.AppendUint32(nil, sum)) {
		_, err := b.blocks.home.Remove(ctx, f.key)
		return errors.Join(errors.New("a temporary block was damaged after it was written: its checksum differs; run the command again"), err)
	}
	return nil
}

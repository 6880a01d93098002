package zarr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/export/internal/names"
	"varve/manifest/internal/home"
)

// destination is the folder or object-store prefix of a copy. A folder is locked, and a prefix claimed, because all copies use
// the same keys for chunks. A slice locks only its own folder, and claims nothing: another process may write the same slice, and
// writes the same.
type destination struct {
	home.Home
	prefix  *home.Prefix // nil in a folder
	lock    io.Closer    // nil in a prefix, and if the file system has no locks
	journal string       // key of the journal, which segments extend in a prefix
	how     home.How     // how files of chunks are written
	// hasOld is true if a chunk of fill values may have a file of an earlier copy.
	hasOld bool
}

// openDestination opens the destination, and returns the context for writing to it.
func openDestination(ctx context.Context, dest string, o *Options) (*destination, context.Context, error) {
	h, err := home.Open(ctx, dest)
	if err != nil {
		return nil, nil, err
	}
	d := &destination{Home: h, journal: journalOf(o.Slice), hasOld: true}
	if p, ok := h.(*home.Prefix); ok {
		d.prefix, d.hasOld = p, o.Append
		if _, err = d.isEmpty(ctx); err == nil && o.Slice.IsWhole() {
			ctx, err = p.Claim(ctx)
		}
	} else {
		err = d.openFolder(ctx, h.(*home.Folder), o)
	}
	if err != nil {
		return nil, nil, h.Close(err)
	}
	return d, ctx, nil
}

// openFolder makes and locks a folder, so that no other process writes the same files.
func (d *destination) openFolder(ctx context.Context, f *home.Folder, o *Options) error {
	f.Drafts = path.Dir(d.journal) + "/drafts"
	if o.Append {
		d.how = home.Whole
	}
	locked := f.Name("")
	if err := os.MkdirAll(locked, 0o777); err != nil { // the destination may be a file or a pipe
		return err
	}
	if !o.Slice.IsWhole() {
		if _, err := d.isEmpty(ctx); err != nil {
			return err
		}
		locked = f.Name(sliceFolder(o.Slice))
		if err := os.MkdirAll(locked, 0o777); err != nil {
			return err
		}
	}
	real, err := filepath.EvalSymlinks(locked)
	if err == nil {
		d.lock, err = home.LockFolder(real)
	}
	if err != nil {
		return fmt.Errorf("another export is writing to it; try again later: %w", err)
	}
	return nil
}

// close releases the destination. err is the error of the copy.
func (d *destination) close(err error) error {
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return d.Close(err)
}

// dirty notes that the copy is about to change a prefix.
func (d *destination) dirty() {
	if d.prefix != nil {
		d.prefix.Dirty()
	}
}

// Files of the copy itself.
const (
	stateFolder = home.StateFolder
	journalName = stateFolder + "/journal"
	stateName   = stateFolder + "/copy.json"

	slicePrefix  = stateFolder + "/slice-" // of the folder of a slice, which has
	sliceJournal = "/journal"
	sliceDone    = "/done" // written after the files of the journal were verified
)

// sliceFolder returns the folder of a slice.
func sliceFolder(s manifest.Slice) string {
	return fmt.Sprintf("%s%d-of-%d", slicePrefix, s.Number, s.Of)
}

// journalOf returns the key of the journal of a slice, or of the whole.
func journalOf(s manifest.Slice) string {
	if s.IsWhole() {
		return journalName
	}
	return sliceFolder(s) + sliceJournal
}

// foreign returns the error for a destination that is not a copy by varve.
func foreign(name string) error {
	return fmt.Errorf("%s exists and is not a copy by varve; export to another folder: %w", name, manifest.ErrForeign)
}

// isEmpty reports whether nothing exists at the destination. It fails for anything except a copy by varve.
func (d *destination) isEmpty(ctx context.Context) (bool, error) {
	names, err := home.Top(ctx, d)
	if err != nil || len(names) == 0 || slices.Contains(names, stateFolder+"/") {
		return len(names) == 0, err
	}
	for _, err := range d.Walk(ctx, stateFolder+"/") { // Top does not return all names
		return false, err
	}
	return false, foreign(d.Name(""))
}

// takes fails if the destination cannot have files with these keys.
func (d *destination) takes(keys []string) error {
	if d.prefix != nil {
		return nil
	}
	return names.Check(d.Name(stateFolder), keys)
}

// maxDocument bounds the size of documents.
const maxDocument = 1 << 30

// check compares a file with its record; size 0 means that there must be no file. Objects are complete, and the store has
// checked their MD5.
func (d *destination) check(ctx context.Context, key string, r record) error {
	if r.size == 0 && !d.hasOld {
		return nil
	}
	if d.prefix == nil {
		return d.checkFile(ctx, key, r)
	}
	id, err := d.Stat(ctx, key)
	if errors.Is(err, fs.ErrNotExist) && r.size == 0 {
		return nil
	}
	if err == nil && id.Size != r.size {
		err = otherSize(d.Name(key), r.size, id.Size)
	}
	return err
}

// checkFile is check in a folder. It reads the file, unless a slice has done so.
func (d *destination) checkFile(ctx context.Context, key string, r record) (err error) {
	file, err := d.Open(ctx, key, -1)
	if errors.Is(err, fs.ErrNotExist) && r.size == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if file.Size() != r.size {
		return otherSize(d.Name(key), r.size, file.Size())
	}
	if r.isVerified {
		return nil
	}
	sum, err := copyRange(io.Discard, file, 0, r.size)
	if err == nil && sum != r.sum {
		err = errors.New("the checksum differs from the written data; copy again")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name(key), err)
	}
	return nil
}

func otherSize(name string, want, is int64) error {
	return fmt.Errorf("%s: %d bytes were written, but the file has %d; copy again", name, want, is)
}

// replace writes a document, unless it has not changed.
func (d *destination) replace(ctx context.Context, key string, data []byte) error {
	return home.PutChanged(ctx, d, key, data, home.Whole)
}

// version returns the version that publish replaces; empty if none exists, or in a folder, which is locked.
func (d *destination) version(ctx context.Context, key string) (string, error) {
	if d.prefix == nil {
		return "", nil
	}
	return d.prefix.Version(ctx, key)
}

// publish replaces the document through which readers find the others.
func (d *destination) publish(ctx context.Context, key string, data []byte, version string) error {
	if d.prefix == nil {
		return d.replace(ctx, key, data)
	}
	if same, err := home.Holds(ctx, d, key, data); same || err != nil {
		return err
	}
	return d.prefix.Publish(ctx, key, bytes.NewReader(data), version)
}

// remove removes the file that an earlier copy has of a chunk.
func (d *destination) remove(ctx context.Context, key string) error {
	if !d.hasOld {
		return nil
	}
	_, err := d.Remove(ctx, key)
	return err
}

// clear removes everything: first the documents by which readers and varve find a copy, last the folder that allows varve to
// remove it.
func (d *destination) clear(ctx context.Context) error {
	d.dirty()
	return d.Clear(ctx, stateName, d.first(journalName), "zarr.json", ".zmetadata")
}

// slices returns the folders of the journals of slices.
func (d *destination) slices(ctx context.Context) (list []string, err error) {
	for e, err := range d.List(ctx, stateFolder) {
		if err != nil {
			return nil, err
		}
		if key := stateFolder + "/" + e.Name; e.Folder && strings.HasPrefix(key, slicePrefix) {
			list = append(list, key)
		}
	}
	return list, nil
}

// records returns the journal of a slice, or nil if there is none.
func (d *destination) records(ctx context.Context, slice string) (all []byte, err error) {
	key := slice + sliceJournal
	for {
		data, err := d.Read(ctx, d.segment(key, int64(len(all))), maxDocument)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if all = append(all, data...); d.prefix == nil {
			return all, nil
		}
	}
}

// begun returns the first n bytes of the journal, or nil if there is none.
func (d *destination) begun(ctx context.Context, n int) (head []byte, err error) {
	file, err := d.Open(ctx, d.first(d.journal), -1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return io.ReadAll(io.NewSectionReader(file, 0, int64(n)))
}

// open opens or creates the journal.
func (d *destination) open(ctx context.Context) (*journal, error) {
	if d.prefix != nil {
		return d.openSegments(ctx)
	}
	name := d.Name(d.journal)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	return &journal{file: file}, nil
}

// removeJournal removes the journal. If it is the journal of the whole, it removes those of slices as well. In a prefix, the
// first segment goes first, because it marks the journal's existence.
func (d *destination) removeJournal(ctx context.Context) error {
	if d.journal == journalName {
		found, err := d.slices(ctx)
		if err == nil {
			err = home.RemoveAll(ctx, d, d.Walk(ctx, slicePrefix))
		}
		if err != nil {
			return err
		}
		for _, s := range append(found, path.Dir(d.journal)+"/drafts") {
			if err := d.removeFolder(s); err != nil {
				return err
			}
		}
	}
	if _, err := d.Remove(ctx, d.first(d.journal)); err != nil || d.prefix == nil {
		return err
	}
	return home.RemoveAll(ctx, d, d.Walk(ctx, d.journal+"-"))
}

// removeFolder removes a folder. Object stores have none.
func (d *destination) removeFolder(key string) error {
	if d.prefix != nil {
		return nil
	}
	return os.RemoveAll(d.Name(key))
}

// Package zipfile reads the directory of a zip file.
//
//	entries   header "PK\3\4" of 30 bytes, name, extra field, bytes         4.3.7
//	          header, name, extra field, bytes
//	directory "PK\1\2", 46 bytes an entry, name, extra field, comment        4.3.12
//	end       "PK\6\6" of 56 bytes, its locator "PK\6\7" of 20 bytes         4.3.14, 4.3.15
//	          "PK\5\6" of 22 bytes, comment of up to 65,535                  4.3.16
//
// The numbers are sections of APPNOTE.TXT 6.3.10. A zip64 end record exists if a number does not
// fit in the short one. The last of several entries with the same name counts. For example, a file
// with one stored entry "a" of 5 bytes has the entry at 0 (36 bytes), the directory at 36 (47
// bytes) and the end at 83.
//
// Stored entries are byte ranges of the file, and deflated ones are DEFLATE streams (RFC 1951).
package zipfile

import (
	"bufio"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"varve/codec"
)

// Sizes, signatures and limits of the parts of a zip file.
const (
	entrySize   = 46
	headerSize  = 30
	endSize     = 22
	locatorSize = 20
	end64Size   = 56
	maxComment  = 1<<16 - 1

	entryMark, headerMark           = "PK\x01\x02", "PK\x03\x04"
	endMark, locatorMark, end64Mark = "PK\x05\x06", "PK\x06\x07", "PK\x06\x06"
	escape16, escape32              = 1<<16 - 1, 1<<32 - 1
	zip64Extra                      = 1
	flagEncrypted                   = 1
	methodStored, methodDeflated    = 0, 8
	maxDirectory                    = 512 << 20
	maxExpansion                    = 1032 // largest expansion of deflate
)

// File is the zip file.
type File interface {
	Name() string
	Size() int64
	View(ctx context.Context, off int64, n int) ([]byte, error)
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
}

// Entry is a file in the archive.
type Entry struct {
	Name   string
	Size   uint64 // size of its content
	Stored uint64 // size of its bytes in the archive
	CRC    uint32 // CRC-32 of its content

	header uint64 // offset of its header
	method uint16
	flags  uint16
}

// Directory is the directory of an archive.
type Directory struct {
	entries []Entry // sorted by name, without folders
	start   uint64  // offset of the directory; all entries are before it
}

// IsZip reports whether a file starts like a zip file with entries.
func IsZip(ctx context.Context, src File) (bool, error) {
	if src.Size() < endSize {
		return false, ctx.Err()
	}
	head, err := src.View(ctx, 0, len(headerMark))
	return string(head) == headerMark, err
}

// Open reads the directory of an archive.
func Open(ctx context.Context, src File) (*Directory, error) {
	d := &Directory{}
	end, err := findEnd(ctx, src)
	if err != nil {
		return nil, err
	}
	if end.size > maxDirectory {
		return nil, fmt.Errorf("zip directory has %d bytes (limit %d): %w", end.size, maxDirectory, errors.ErrUnsupported)
	}
	d.start = end.start
	b := make([]byte, end.size)
	if _, err := src.ReadAt(ctx, b, int64(end.start)); err != nil {
		return nil, err
	}
	return d, d.read(b, end)
}

// ending is the position of the directory according to the end record.
type ending struct{ start, size, count uint64 }

// findEnd finds the end record, which is followed only by its comment.
func findEnd(ctx context.Context, src File) (ending, error) {
	n := min(src.Size(), endSize+maxComment)
	tail, err := src.View(ctx, src.Size()-n, int(n))
	if err != nil {
		return ending{}, err
	}
	// Search backwards: the comment may contain the signature too, but then its length does not
	// match.
	for at := len(tail) - endSize; at >= 0; at-- {
		if string(tail[at:at+4]) == endMark && at+endSize+int(binary.LittleEndian.Uint16(tail[at+20:])) == len(tail) {
			return readEnd(ctx, src, tail[at:], uint64(src.Size()-n)+uint64(at))
		}
	}
	return ending{}, corruptf("zip file has no end record: it is truncated; fetch it again")
}

func readEnd(ctx context.Context, src File, b []byte, at uint64) (ending, error) {
	le := binary.LittleEndian
	disk, first := le.Uint16(b[4:]), le.Uint16(b[6:])
	e := ending{start: uint64(le.Uint32(b[16:])), size: uint64(le.Uint32(b[12:])), count: uint64(le.Uint16(b[10:]))}
	if e.count == escape16 || e.size == escape32 || e.start == escape32 {
		long, there, err := readEnd64(ctx, src, at)
		if err != nil {
			return e, err
		}
		if there {
			return long, check(&long, at)
		}
	}
	// With zip64 these fields may be all ones, so they are checked after it.
	if disk != 0 || first != 0 {
		return e, fmt.Errorf("zip file in several parts: %w", errors.ErrUnsupported)
	}
	err := check(&e, at)
	return e, err
}

// readEnd64 reads the zip64 end record, if its locator is before the short end record.
func readEnd64(ctx context.Context, src File, at uint64) (e ending, there bool, err error) {
	if at < locatorSize {
		return e, false, nil
	}
	b, err := src.View(ctx, int64(at-locatorSize), locatorSize)
	if err != nil || string(b[:4]) != locatorMark {
		return e, false, err
	}
	le := binary.LittleEndian
	where := le.Uint64(b[8:])
	if where > at-locatorSize || at-locatorSize-where < end64Size {
		return e, false, corruptf("zip64 end record: offset %d is out of range", where)
	}
	if b, err = src.View(ctx, int64(where), end64Size); err != nil {
		return e, false, err
	}
	if string(b[:4]) != end64Mark {
		return e, false, corruptf("zip64 end record: not found at offset %d", where)
	}
	return ending{start: le.Uint64(b[48:]), size: le.Uint64(b[40:]), count: le.Uint64(b[32:])}, true, nil
}

// check checks that the directory is before its end record.
func check(e *ending, at uint64) error {
	if e.start > at || e.size > at-e.start || e.count > e.size/entrySize {
		return corruptf("zip directory: %d entries in %d bytes at offset %d do not fit before offset %d", e.count, e.size, e.start, at)
	}
	return nil
}

// read decodes the directory.
func (d *Directory) read(b []byte, end ending) error {
	d.entries = make([]Entry, 0, end.count)
	for range end.count {
		e, n, err := readEntry(b)
		if err != nil {
			return fmt.Errorf("zip entry %d: %w", len(d.entries), err)
		}
		b = b[n:]
		if e.header > end.start || e.Stored > end.start-e.header || end.start-e.header-e.Stored < headerSize {
			return corruptf("zip entry %.80q: %d bytes at offset %d overlap the directory at %d", e.Name, e.Stored, e.header, end.start)
		}
		// unzip also writes such files in the folder where it runs.
		e.Name = strings.TrimPrefix(strings.TrimLeft(e.Name, "/"), "./")
		// Folders and names such as ../x are left out.
		if fs.ValidPath(e.Name) {
			d.entries = append(d.entries, e)
		}
	}
	slices.SortStableFunc(d.entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	// The sort is stable, so the last entry of a name is the one appended last.
	last := d.entries[:0]
	for i, e := range d.entries {
		if i+1 == len(d.entries) || d.entries[i+1].Name != e.Name {
			last = append(last, e)
		}
	}
	d.entries = last
	return nil
}

// readEntry decodes one entry of the directory and returns its length.
func readEntry(b []byte) (e Entry, length int, err error) {
	if len(b) < entrySize || string(b[:4]) != entryMark {
		return e, 0, corruptf("not a directory entry, %d bytes before the end", len(b))
	}
	le := binary.LittleEndian
	names, extra, comment := int(le.Uint16(b[28:])), int(le.Uint16(b[30:])), int(le.Uint16(b[32:]))
	if length = entrySize + names + extra + comment; length > len(b) {
		return e, 0, corruptf("entry has %d of %d bytes", length, len(b))
	}
	e = Entry{
		Name: string(b[entrySize : entrySize+names]), Size: uint64(le.Uint32(b[24:])), Stored: uint64(le.Uint32(b[20:])),
		header: uint64(le.Uint32(b[42:])), CRC: le.Uint32(b[16:]), method: le.Uint16(b[10:]), flags: le.Uint16(b[8:]),
	}
	return e, length, e.widen(b[entrySize+names : entrySize+names+extra])
}

// widen reads numbers that do not fit in the entry from its extra field (4.5.3).
func (e *Entry) widen(extra []byte) error {
	le := binary.LittleEndian
	for len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return nil // fields of other programs need not be valid
		}
		field := extra[4 : 4+n]
		extra = extra[4+n:]
		if id != zip64Extra {
			continue
		}
		for _, number := range []*uint64{&e.Size, &e.Stored, &e.header} {
			if *number != escape32 {
				continue
			}
			if len(field) < 8 {
				return corruptf("extra field of %q is too short", e.Name)
			}
			*number, field = le.Uint64(field), field[8:]
		}
		return nil
	}
	return nil
}

// IsDeflated reports whether the bytes of an entry are compressed.
func (e *Entry) IsDeflated() bool { return e.method == methodDeflated }

// CheckSize returns an error if no compressor makes so few bytes of the content.
func (e *Entry) CheckSize() error {
	if e.Size/maxExpansion > e.Stored {
		return corruptf("zip entry %q: %d bytes cannot be deflated to %d", e.Name, e.Size, e.Stored)
	}
	return nil
}

// Entries returns the entries, sorted by name, without folders. They must not be changed.
func (d *Directory) Entries() []Entry { return d.entries }

// Find returns the entry with a name, or nil.
func (d *Directory) Find(name string) *Entry {
	i, ok := slices.BinarySearchFunc(d.entries, name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return nil
	}
	return &d.entries[i]
}

// Locate reads the header of an entry from the zip file and returns the offset of its bytes. It refuses an entry that is encrypted, or
// compressed by another method than deflate.
func (d *Directory) Locate(ctx context.Context, src File, e *Entry) (int64, error) {
	switch {
	case e.flags&flagEncrypted != 0:
		return 0, fmt.Errorf("zip entry %q is encrypted: %w", e.Name, errors.ErrUnsupported)
	case e.method != methodStored && e.method != methodDeflated:
		return 0, fmt.Errorf("zip entry %q: compression method %d (supported: 0, stored, and 8, deflated): %w", e.Name, e.method, errors.ErrUnsupported)
	case e.method == methodStored && e.Size != e.Stored:
		return 0, corruptf("zip entry %q: %d bytes are stored as %d", e.Name, e.Size, e.Stored)
	}
	b, err := src.View(ctx, int64(e.header), headerSize)
	if err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	offset := e.header + headerSize + uint64(le.Uint16(b[26:])) + uint64(le.Uint16(b[28:]))
	if string(b[:4]) != headerMark || offset > d.start || e.Stored > d.start-offset {
		return 0, corruptf("zip entry %q: no header before %d bytes at offset %d", e.Name, e.Stored, e.header)
	}
	return int64(offset), nil
}

// Verify reads an entry, and compares its size and CRC-32 with those in the directory.
func (d *Directory) Verify(ctx context.Context, src File, e *Entry) error {
	offset, err := d.Locate(ctx, src, e)
	if err != nil {
		return err
	}
	r, in := e.content(ctx, src, offset, verifyBytes)
	sum := crc32.NewIEEE()
	size, err := io.Copy(sum, io.LimitReader(r, int64(min(e.Size, math.MaxInt64-1))+1))
	switch {
	case in.failed != nil:
		return in.failed
	case err != nil:
		return corruptf("zip entry %q at offset %d: %w", e.Name, offset, err)
	case uint64(size) != e.Size:
		return corruptf("zip entry %q at offset %d has not the %d bytes that the directory says; fetch the file again", e.Name, offset, e.Size)
	}
	return e.CheckSum(sum.Sum32(), offset)
}

// Read returns the first n bytes of an entry. offset is what Locate returned. If these are all, it compares their number and CRC-32
// with the directory.
func (e *Entry) Read(ctx context.Context, src File, offset int64, n uint64) ([]byte, error) {
	room, n := uint64(partBytes), min(n, e.Size)
	if n == e.Size {
		room = max(e.Stored, 1)
	}
	r, in := e.content(ctx, src, offset, int(room))
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	if err == nil && n == e.Size {
		if _, err = io.ReadFull(r, make([]byte, 1)); errors.Is(err, io.EOF) {
			return b, e.CheckSum(crc32.ChecksumIEEE(b), offset)
		} else if err == nil {
			err = errors.New("content is longer than its size")
		}
	}
	switch {
	case in.failed != nil:
		return nil, in.failed
	case err != nil:
		return nil, corruptf("zip entry %q at offset %d: %w", e.Name, offset, err)
	}
	return b, nil
}

// partBytes is the size of the reads for a part of an entry.
const partBytes = 4 << 10

// content returns the content of an entry, and the reader of its stored bytes, of which it reads room bytes at once.
func (e *Entry) content(ctx context.Context, src File, offset int64, room int) (io.Reader, *stored) {
	in := &stored{ctx: ctx, src: src, at: offset, to: offset + int64(e.Stored)}
	r := io.Reader(bufio.NewReaderSize(in, room))
	if e.IsDeflated() {
		r = flate.NewReader(r)
	}
	return r, in
}

// CheckSum compares the CRC-32 of the content of an entry with that in the directory.
func (e *Entry) CheckSum(sum uint32, offset int64) error {
	if sum == e.CRC {
		return nil
	}
	return corruptf("zip entry %q at offset %d: CRC-32 is %08x, but the directory has %08x; fetch the file again", e.Name, offset, sum, e.CRC)
}

// verifyBytes is the size of the reads of Verify.
const verifyBytes = 1 << 20

// stored reads the bytes of an entry.
type stored struct {
	ctx    context.Context
	src    File
	at, to int64
	failed error
}

func (s *stored) Read(p []byte) (int, error) {
	p = p[:min(int64(len(p)), s.to-s.at)]
	if len(p) == 0 {
		return 0, io.EOF
	}
	n, err := s.src.ReadAt(s.ctx, p, s.at)
	s.at, s.failed = s.at+int64(n), err
	return n, err
}

// HasDocument reports whether there is an entry with one of these names.
func (d *Directory) HasDocument(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return d.Find(name) != nil })
}

// Below returns the entries below a folder.
func (d *Directory) Below(key string) []Entry {
	if key == "" {
		return d.entries
	}
	from, _ := slices.BinarySearchFunc(d.entries, key+"/", func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	to, _ := slices.BinarySearchFunc(d.entries, key+"0", func(e Entry, name string) int { return strings.Compare(e.Name, name) }) // '0' follows '/' in ASCII
	return d.entries[from:to]
}

// corruptf returns an error that wraps codec.ErrCorrupt.
func corruptf(format string, args ...any) error {
	return &corruption{fmt.Errorf(format, args...)}
}

type corruption struct{ err error }

func (c *corruption) Error() string   { return c.err.Error() }
func (c *corruption) Unwrap() []error { return []error{c.err, codec.ErrCorrupt} }

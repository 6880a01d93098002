package zarr

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"varve/manifest"
)

// journal records the copied chunks, so that a stopped copy can continue, and their checksums, so that it can
// be verified.
//
//	"varve copy 1
//
// "  identity(32)  records…
//
//	record   array(4)  size(8)  chunk(8)  CRC-32C of the file(4)  CRC-32C of the record so far(4)
//
// A record is written after its file. Records after a damaged one are ignored. A chunk of fill values has no
// file and size 0.
type journal struct {
	mu   sync.Mutex
	file *os.File
	away *segments // copies the journal to an object store; nil for a local one
	head int64
	done [][]uint64 // by array, one bit per chunk
}

const (
	journalMagic = "varve copy 1\n"
	recordSize   = 28
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is an entry of a journal.
type record struct {
	array uint32
	chunk int64
	size  int64
	sum   uint32

	isVerified bool // not stored: only the size is left to compare
}

func (r record) append(b []byte) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, r.array)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.size))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.chunk))
	b = binary.LittleEndian.AppendUint32(b, r.sum)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

func parseRecord(b []byte) (r record, ok bool) {
	if crc32.Checksum(b[:recordSize-4], castagnoli) != binary.LittleEndian.Uint32(b[recordSize-4:]) {
		return r, false
	}
	return record{
		array: binary.LittleEndian.Uint32(b),
		size:  int64(binary.LittleEndian.Uint64(b[4:])),
		chunk: int64(binary.LittleEndian.Uint64(b[12:])),
		sum:   binary.LittleEndian.Uint32(b[20:]),
	}, true
}

// identity returns a digest that is equal for copies with the same snapshot, arrays and documents.
func (c *copier) identity() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintln(h, c.snapshot.ID)
	for _, t := range c.arrays {
		fmt.Fprintln(h, t.spec.Path, t.fresh)
	}
	for _, d := range c.documents {
		fmt.Fprintln(h, d.key, len(d.data))
		h.Write(d.data)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// journalHead returns the beginning of the copy's journal.
func (c *copier) journalHead() []byte { return journalHead(c.identity()) }

func journalHead(identity [sha256.Size]byte) []byte {
	return append([]byte(journalMagic), identity[:]...)
}

// begin starts a journal, or reads the records if it belongs to the same copy. chunks has the number of
// chunks per array.
func (j *journal) begin(ctx context.Context, identity [sha256.Size]byte, chunks []int64) error {
	head, f := journalHead(identity), j.file
	j.head = int64(len(head))
	for _, n := range chunks {
		j.done = append(j.done, make([]uint64, (n+63)/64))
	}
	fresh, err := j.check(head)
	if err == nil && fresh {
		err = errors.Join(f.Truncate(0), writeAt(f, head, 0))
	}
	var records int64
	if err == nil {
		records, err = j.each(func(r record) error { j.note(r); return nil })
	}
	if err == nil {
		err = f.Truncate(j.head + records*recordSize)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekEnd)
	}
	if err == nil && j.away != nil {
		err = j.away.begin(ctx, f)
	}
	return err
}

func writeAt(f *os.File, b []byte, at int64) error {
	_, err := f.WriteAt(b, at)
	return err
}

// check reports whether the journal is new. It fails if the journal belongs to another copy.
func (j *journal) check(head []byte) (fresh bool, err error) {
	got := make([]byte, len(head))
	n, err := j.file.ReadAt(got, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if n < len(head) && bytes.HasPrefix(head, got[:n]) {
		return true, nil
	}
	if !bytes.Equal(got, head) {
		return false, errOtherCopy()
	}
	return false, nil
}

// errOtherCopy returns the error for a destination that has an unfinished copy of something else.
func errOtherCopy() error {
	return &manifest.ExistsError{Name: "the unfinished copy", Why: "is of another snapshot or has other options; finish it first"}
}

// each calls do with every valid record and returns their number.
func (j *journal) each(do func(record) error) (n int64, err error) {
	return j.eachOf(io.NewSectionReader(j.file, j.head, math.MaxInt64-j.head), do)
}

// eachOf is each for the records of another journal of the same copy.
func (j *journal) eachOf(records io.Reader, do func(record) error) (n int64, err error) {
	in := bufio.NewReaderSize(records, 1<<16)
	var b [recordSize]byte
	for ; ; n++ {
		if _, err := io.ReadFull(in, b[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		r, ok := parseRecord(b[:])
		if !ok || int(r.array) >= len(j.done) || uint64(r.chunk) >= uint64(64*len(j.done[r.array])) {
			return n, nil
		}
		if err := do(r); err != nil {
			return n, err
		}
	}
}

func (j *journal) note(r record) { j.done[r.array][r.chunk/64] |= 1 << (r.chunk % 64) }

// has reports whether a chunk is copied.
func (j *journal) has(array int, chunk int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done[array][chunk/64]>>(chunk%64)&1 != 0
}

// add records copied chunks.
func (j *journal) add(ctx context.Context, records []record) error {
	if err := j.write(records); err != nil || j.away == nil {
		return err
	}
	return j.away.keep(ctx, j.file)
}

func (j *journal) write(records []record) error {
	b := make([]byte, 0, recordSize*len(records))
	for _, r := range records {
		b = r.append(b)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(b); err != nil {
		return err
	}
	for _, r := range records {
		j.note(r)
	}
	return nil
}

// close closes the journal of a copy that ended with err. It stores the last records if somebody needs the journal.
func (j *journal) close(ctx context.Context, err error, isNeeded bool) error {
	if j.away == nil {
		return errors.Join(err, j.file.Close())
	}
	// ctx may be cancelled, but the records save work in the next attempt.
	if isNeeded && !j.away.isLost() {
		const patience = 10 * time.Second
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err = errors.Join(err, j.away.save(ctx, j.file))
	}
	return errors.Join(err, j.away.temporary.Close())
}

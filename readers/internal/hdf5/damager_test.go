package hdf5

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve/readers/lookup3"
	"varve/readers/source"
)

// damager changes bytes of a file's metadata and updates the checksums, so that these do not reveal
// the change.
type damager struct {
	content   []byte
	random    *rand.Rand
	kinds     [][]byteRange   // where metadata are, by kind of structure
	checksums []checksumRange // the shortest first: a checksum may cover others
}

// byteRange is the part of a file that one structure occupies.
type byteRange struct{ from, to int }

// checksumRange is a checksum. It covers the bytes between two offsets, with zeros in place of itself.
type checksumRange struct{ from, to, at int }

func (s checksumRange) of(content []byte) uint32 {
	if s.at >= s.to {
		return lookup3.Sum(content[s.from:s.to])
	}
	covered := bytes.Clone(content[s.from:s.to])
	clear(covered[s.at-s.from:][:4])
	return lookup3.Sum(covered)
}

func (s checksumRange) holds(content []byte) bool {
	return max(s.to, s.at+4) <= len(content) && s.of(content) == binary.LittleEndian.Uint32(content[s.at:])
}

func (s checksumRange) repair(content []byte) {
	binary.LittleEndian.PutUint32(content[s.at:], s.of(content))
}

// newDamager finds structures by their signatures and checksums, and messages by their object
// headers.
func newDamager(content []byte) *damager {
	d := &damager{content: content}
	d.findChecksums()
	covered := make([]byteRange, len(d.checksums))
	for i, s := range d.checksums {
		covered[i] = byteRange{s.from, s.to}
	}
	d.kinds = [][]byteRange{covered, d.oldStructures(), d.messages()}
	d.kinds = slices.DeleteFunc(d.kinds, func(list []byteRange) bool { return len(list) == 0 })
	return d
}

const longestSealed = 20000

func (d *damager) findChecksums() {
	for _, signature := range []string{
		"OHDR", "OCHK", "BTHD", "BTIN", "BTLF", "FRHP", "FHIB", "FAHD", "FADB",
		"EAHD", "EAIB", "EASB", "EADB", "SMTB", "SMLI", "\x89HDF", "MDCI",
	} {
		for _, from := range places(d.content, signature) {
			s, ok := d.checksumFrom(from)
			for ok {
				d.checksums = append(d.checksums, s)
				if ok = strings.HasSuffix(signature, "DB"); ok { // pages may follow
					s, ok = d.pageAfter(s)
				}
			}
		}
	}
	for _, from := range places(d.content, "FHDB") {
		d.addBlockChecksum(from)
	}
	slices.SortFunc(d.checksums, func(a, b checksumRange) int { return (a.to - a.from) - (b.to - b.from) })
}

// places returns all offsets of a byte sequence.
func places(content []byte, what string) []int {
	var list []int
	for at := 0; ; at++ {
		n := bytes.Index(content[at:], []byte(what))
		if n < 0 {
			return list
		}
		at += n
		list = append(list, at)
	}
}

// checksumFrom finds the end of the bytes that a checksum covers by trying every length.
func (d *damager) checksumFrom(from int) (checksumRange, bool) {
	for to := from + 6; to-from <= longestSealed && to+4 <= len(d.content); to++ {
		if s := (checksumRange{from, to, to}); s.holds(d.content) {
			return s, true
		}
	}
	return checksumRange{}, false
}

// pageAfter returns the next page of a data block. A page that was never written has the length of
// the one before.
func (d *damager) pageAfter(s checksumRange) (checksumRange, bool) {
	if page, ok := d.checksumFrom(s.at + 4); ok {
		return page, true
	}
	n := s.at + 4 - s.from
	page := checksumRange{s.from + 2*n, s.to + 2*n, s.at + 2*n}
	return page, page.holds(d.content)
}

// addBlockChecksum records the checksum of a direct block of a fractal heap, which is in the block's prefix.
func (d *damager) addBlockChecksum(from int) {
	for at := from + 5 + 2; at <= from+5+8+8; at++ {
		for size := 1 << 8; size <= 1<<16; size *= 2 {
			if s := (checksumRange{from, from + size, at}); s.holds(d.content) {
				d.checksums = append(d.checksums, s)
				return
			}
		}
	}
}

// oldStructures returns the offsets of structures that have a signature but no checksum.
func (d *damager) oldStructures() []byteRange {
	var list []byteRange
	for signature, n := range map[string]int{"\x89HDF": 96, "TREE": 160, "SNOD": 168, "HEAP": 96, "GCOL": 160} {
		for _, from := range places(d.content, signature) {
			list = append(list, byteRange{from, min(from+n, len(d.content))})
		}
	}
	slices.SortFunc(list, func(a, b byteRange) int { return a.from - b.from })
	return list
}

// messages returns the messages of all object headers, with their prefixes.
func (d *damager) messages() []byteRange {
	ctx := context.Background()
	f, err := OpenFile(ctx, source.New("whole", memory(d.content)))
	if err != nil {
		return nil
	}
	tree, err := f.Tree(ctx)
	if err != nil {
		return nil
	}
	var list []byteRange
	for addr := range tree.byAddr {
		h, err := f.readHeader(ctx, addr)
		if err != nil {
			continue
		}
		for _, m := range h.messages {
			if to := int(m.addr) + len(m.data); to <= len(d.content) && m.kind != msgNull {
				list = append(list, byteRange{int(m.addr) - h.prefixSize(), to})
			}
		}
	}
	slices.SortFunc(list, func(a, b byteRange) int { return a.from - b.from })
	return list
}

// damaged returns the file after the given number of changes.
func (d *damager) damaged(changes int) []byte {
	r := d.random
	b := bytes.Clone(d.content)
	for range changes {
		s := d.anywhere()
		at := s.from + r.IntN(s.to-s.from)
		if r.IntN(2) == 0 {
			at = s.from + r.IntN(min(s.to-s.from, 40))
		}
		d.change(b, at)
	}
	d.updateChecksums(b)
	return b
}

// updateChecksums updates all checksums.
func (d *damager) updateChecksums(b []byte) {
	for _, s := range d.checksums {
		s.repair(b)
	}
}

func (d *damager) anywhere() byteRange {
	list := d.kinds[d.random.IntN(len(d.kinds))]
	return list[d.random.IntN(len(list))]
}

func (d *damager) change(b []byte, at int) {
	r := d.random
	switch r.IntN(8) {
	case 0:
		b[at] = byte(r.IntN(256))
	case 1:
		b[at] ^= 1 << r.IntN(8)
	case 2:
		b[at]++
	case 3:
		b[at]--
	case 4:
		b[at] = byte(r.IntN(2) * 255)
	case 5:
		other := d.anywhere()
		copy(b[at:min(at+8, len(b))], d.content[other.from:])
	default:
		d.changeNumber(b, at)
	}
}

// changeNumber writes a number of several bytes that is likely to be significant.
func (d *damager) changeNumber(b []byte, at int) {
	r := d.random
	n := 2 << r.IntN(3)
	if at+n > len(b) {
		return
	}
	var word [8]byte
	copy(word[:], b[at:at+n])
	v := binary.LittleEndian.Uint64(word[:])
	values := []uint64{0, 1, v + 1, v - 1, 2 * v, v / 2, 1 << 31, 1 << 63, ^uint64(0), uint64(len(b)), uint64(d.anywhere().from), v ^ 0x100, v + 8}
	binary.LittleEndian.PutUint64(word[:], values[r.IntN(len(values))])
	copy(b[at:], word[:n])
}

// damagers returns a damager for each sample file, by name. Its random numbers come from
// VARVE_SEED; by default they depend on the sample only.
func damagers(t *testing.T) map[string]*damager {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtureDir, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	seed := numberFrom(t, "VARVE_SEED", 1)
	list := map[string]*damager{}
	for _, name := range files {
		if ext := filepath.Ext(name); ext == ".h5" || ext == ".nc" {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			d := newDamager(b)
			d.random = rand.New(rand.NewPCG(seed, uint64(lookup3.Sum([]byte(filepath.Base(name))))))
			list[filepath.Base(name)] = d
		}
	}
	t.Logf("VARVE_SEED=%d, %d samples", seed, len(list))
	return list
}

// numberFrom returns the number in an environment variable, or usual if it is not set.
func numberFrom(t *testing.T, name string, usual uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestDamaged reads VARVE_TRIES versions of each sample with changed metadata: reading must not
// panic, must end, and must not use much memory.
func TestDamaged(t *testing.T) {
	const seconds, memory = time.Minute, 256 << 20
	samples := damagers(t)
	read := 0
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		for i := range numberFrom(t, "VARVE_TRIES", 20) {
			content := samples[name].damaged(1 + int(i%3))
			ctx, cancel := context.WithTimeout(t.Context(), seconds)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := readEverything(ctx, content)
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; errors.Is(err, context.DeadlineExceeded) || grown > memory {
				t.Errorf("%s, try %d: %v, %d bytes of memory", name, i, err, grown)
			}
			cancel()
			if err == nil {
				read++
			}
		}
	}
	if read < 3*len(samples) {
		t.Errorf("%d damaged files are read, want at least %d", read, 3*len(samples))
	}
}

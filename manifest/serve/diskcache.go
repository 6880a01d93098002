package serve

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve/readers/source/atomicfile"
)

// diskCache keeps chunks in files of a folder, the most recently used ones, up to a number of bytes: chunks that were
// downloaded or re-encoded. The key of a chunk is its entity tag, and the version of the program, which may encode otherwise
// or have an error that another has not. Equal tags mean equal bytes, also after the server was started again. A nil cache
// has nothing and keeps nothing.
//
//	FOLDER/2c/2c26b46b68ffc68f…    the bytes of a chunk, and their CRC-32C
//
// Only one server may use a folder. The cache removes no files but its own.
type diskCache struct {
	dir     string
	version string
	limit   int64
	log     *slog.Logger

	mu      sync.Mutex
	used    int64
	files   map[string]*list.Element // of *diskFile, by name
	order   list.List                // the most recently used file is in front
	failed  bool                     // whether the last write failed: the log has it once
	results *prometheus.CounterVec   // of looking for chunks
}

// diskFile is a file of a diskCache.
type diskFile struct {
	name string // in hexadecimal digits, without the folder
	size int64
}

const (
	diskNameLength = 2 * sha256.Size
	diskSumLength  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newDiskCache opens the cache in a folder, with the chunks that an earlier server has left there.
func newDiskCache(opts *Options, m *metrics) (*diskCache, error) {
	dir := opts.DiskCache
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c := &diskCache{dir: dir, version: opts.Version, limit: opts.DiskCacheBytes, log: opts.Log, files: map[string]*list.Element{}, results: m.disk}
	type left struct {
		diskFile
		used time.Time
	}
	var all []left
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() && c.path(d.Name()) == path {
			all = append(all, left{diskFile{d.Name(), info.Size()}, info.ModTime()})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the disk cache: %w", err)
	}
	slices.SortFunc(all, func(a, b left) int { return a.used.Compare(b.used) })
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range all {
		c.add(f.name, f.size)
	}
	return c, nil
}

// path returns the path of a file, or "" if the name is not one of the cache.
func (c *diskCache) path(name string) string {
	if len(name) != diskNameLength || strings.Trim(name, "0123456789abcdef") != "" {
		return ""
	}
	return filepath.Join(c.dir, name[:2], name)
}

func (c *diskCache) name(etag string) string {
	sum := sha256.Sum256([]byte(c.version + "\x00" + etag))
	return hex.EncodeToString(sum[:])
}

// size returns the number of bytes of a chunk, or -1 if the cache does not have it.
func (c *diskCache) size(etag string) int64 {
	if c == nil {
		return -1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.files[c.name(etag)]
	if !ok {
		c.results.WithLabelValues("missed").Inc()
		return -1
	}
	return e.Value.(*diskFile).size - diskSumLength
}

// get returns the bytes of a chunk, or nil if the cache does not have them or they are damaged.
func (c *diskCache) get(etag string) []byte {
	name := c.name(etag)
	path := c.path(name)
	stored, err := os.ReadFile(path)
	if n := len(stored) - diskSumLength; err == nil && n >= 0 && binary.LittleEndian.Uint32(stored[n:]) == crc32.Checksum(stored[:n], castagnoli) {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // the order after the next start; without it the order is that of writing
		c.mu.Lock()
		if e, ok := c.files[name]; ok {
			c.order.MoveToFront(e)
		}
		c.mu.Unlock()
		c.results.WithLabelValues("found").Inc()
		return stored[:n:n]
	}
	c.results.WithLabelValues("damaged").Inc()
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.files[name]; ok {
		c.remove(e)
	}
	return nil
}

// put keeps the bytes of a chunk. A chunk that needs a large part of the cache is not kept.
func (c *diskCache) put(etag string, data []byte) {
	if c == nil || int64(len(data)) > c.limit/4 {
		return
	}
	name := c.name(etag)
	stored := binary.LittleEndian.AppendUint32(slices.Concat(data), crc32.Checksum(data, castagnoli))
	path := c.path(name)
	err := os.Mkdir(filepath.Dir(path), 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = atomicfile.WriteBytes(path, atomicfile.Volatile, stored)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if !c.failed {
			c.log.Warn("the disk cache cannot be written", "error", err)
		}
		c.failed = true
		return
	}
	c.failed = false
	if e, ok := c.files[name]; ok { // two requests made the chunk
		c.used -= c.order.Remove(e).(*diskFile).size
	}
	c.add(name, int64(len(stored)))
}

// add adds a file, and removes the least recently used ones beyond the limit.
func (c *diskCache) add(name string, size int64) {
	c.files[name] = c.order.PushFront(&diskFile{name, size})
	for c.used += size; c.used > c.limit && c.order.Len() > 1; {
		c.remove(c.order.Back())
	}
}

func (c *diskCache) remove(e *list.Element) {
	f := c.order.Remove(e).(*diskFile)
	delete(c.files, f.name)
	c.used -= f.size
	if err := os.Remove(c.path(f.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("a file of the disk cache cannot be removed", "error", err)
	}
}

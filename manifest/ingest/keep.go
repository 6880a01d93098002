package ingest

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/scan"
	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

// keeping is a scan whose results survive a failed build. It scans sources in blocks, and stores
// each block as a scan part in a folder before it begins the next:
//
//	folder/scan-KEY-TIME-ID.parquet    KEY: digest of the scan options and the program
//
// The next build takes unchanged sources from there. Sources that name other files are not kept,
// because their parts do not show whether these files have changed.
type keeping struct {
	*job
	sink   *refSink
	opener *source.Opener
	all    int64 // the number of sources
	done   int64
	broken []scan.Broken
}

// Limits for a block. A long block loses more if the scan stops; a short one makes
// the workers wait more often for the last source.
const (
	leastBlock = 16 // sources
	shortBlock = 10 * time.Second
	longBlock  = 30 * time.Second
)

// identitiesAtATime is the number of concurrent requests for the identity of a source. Each takes
// one round trip.
const identitiesAtATime = 32

// scanKept scans the sources, except those with unchanged results in the folder.
func (j *job) scanKept(ctx context.Context, names []string, sink *refSink) error {
	k := &keeping{job: j, sink: sink, opener: j.opts.Opener, all: int64(len(names))}
	// One opener for all blocks keeps connections open between them.
	if k.opener == nil {
		k.opener = source.NewOpener(nil)
		defer k.opener.Close()
	}
	if source.IsURL(j.opts.KeepScan) {
		return fmt.Errorf("%s: scans can be kept only in a local folder: %w", source.Shown(j.opts.KeepScan), errors.ErrUnsupported)
	}
	if err := os.MkdirAll(j.opts.KeepScan, 0o777); err != nil {
		return fmt.Errorf("folder for kept scans: %w", err)
	}
	left, err := k.takeKept(ctx, names)
	k.progress(0)
	for n := leastBlock; err == nil && len(left) > 0; {
		block := left[:min(n, len(left))]
		left = left[len(block):]
		began := time.Now()
		err = k.scanBlock(ctx, block)
		switch spent := time.Since(began); {
		case spent < shortBlock:
			n *= 2
		case spent > longBlock:
			n = max(n/2, leastBlock)
		}
	}
	if err == nil && len(k.broken) > 0 && !j.opts.SkipBroken {
		err = &scan.BrokenError{Broken: k.broken}
	}
	j.broken = append(j.broken, k.broken...)
	return err
}

// scanBlock scans a block of sources into a part, and adds the part to the build. It keeps the
// part unless the sources name other files, or unless a scan with more variables would fail.
func (k *keeping) scanBlock(ctx context.Context, names []string) error {
	base := k.opts.keptPrefix() + time.Now().UTC().Format("20060102T150405.000000") + "-" + rand.Text()[:8]
	err := atomicfile.Write(filepath.Join(k.opts.KeepScan, base+".parquet"), atomicfile.Durable, func(file *os.File) error {
		found, err := k.scanInto(ctx, file, names)
		if err != nil {
			return err
		}
		k.done += int64(len(names))
		k.broken = append(k.broken, found.Broken...)
		if len(found.Files) == 0 {
			return errNotKept
		}
		if err := k.takePart(ctx, file.Name(), k.sink); err != nil {
			return err
		}
		if found.LedOn || found.Spared {
			return errNotKept
		}
		return nil
	})
	if errors.Is(err, errNotKept) {
		return nil
	}
	return err
}

// errNotKept removes the draft of a part whose sources are scanned again by the next build.
var errNotKept = errors.New("the part is not kept")

// scanInto scans sources into a part.
func (k *keeping) scanInto(ctx context.Context, file *os.File, names []string) (*scan.Result, error) {
	buffer := bufio.NewWriterSize(file, bufferBytes)
	part := table.NewPart(buffer)
	o := k.opts.scan(part)
	o.Opener, o.SkipBroken = k.opener, true // broken sources are reported together, after all blocks
	o.Progress = func(p scan.Progress) { k.progress(p.Done) }
	found, err := scan.Scan(ctx, names, o)
	if err != nil {
		return nil, err
	}
	return found, errors.Join(part.Close(found.Files, nil), buffer.Flush())
}

// progress reports how many sources are done.
func (k *keeping) progress(more int) {
	if k.opts.Progress != nil {
		k.opts.Progress(k.done+int64(more), k.all)
	}
}

// keptBegin is the prefix of the names of all kept parts.
const keptBegin = "scan-"

// keyBytes is the size of the digest in the names of kept parts.
const keyBytes = 6

// keptPrefix returns the prefix of parts that were scanned with the same options and program.
func (opts *Options) keptPrefix() string {
	how := fmt.Sprintf("%q %d %d %q %q %q", opts.Writer, manifest.Generation, opts.ValueBytes, opts.Allow, opts.Plan.Formats, opts.Plan.KeepQuery)
	sum := sha256.Sum256([]byte(how))
	return fmt.Sprintf("%s%x-", keptBegin, sum[:keyBytes])
}

// isKept reports whether a file has the name of a kept part.
func isKept(name string) bool {
	rest, found := strings.CutPrefix(filepath.Base(name), keptBegin)
	key, _, cut := strings.Cut(rest, "-")
	sum, err := hex.DecodeString(key)
	return found && cut && err == nil && len(sum) == keyBytes
}

// others returns the parts without kept ones, which may be among the sources if the folder is.
func (j *job) others(parts []string) []string {
	folder, err := filepath.Abs(j.opts.KeepScan)
	if j.opts.KeepScan == "" || err != nil {
		return parts
	}
	return slices.DeleteFunc(parts, func(name string) bool {
		return filepath.Dir(name) == folder && strings.HasPrefix(filepath.Base(name), keptBegin)
	})
}

// takeKept adds the kept results of sources, and returns the sources that are left to scan.
func (k *keeping) takeKept(ctx context.Context, names []string) (left []string, err error) {
	entries, err := os.ReadDir(k.opts.KeepScan)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]int, len(names))
	for _, name := range names {
		// A source may be given twice, which is refused later with a better message.
		wanted[name]++
	}
	taken := map[string]int{}
	for _, entry := range entries {
		if err := k.removeStale(entry); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(entry.Name(), k.opts.keptPrefix()) || filepath.Ext(entry.Name()) != ".parquet" {
			continue
		}
		name := filepath.Join(k.opts.KeepScan, entry.Name())
		err := k.withPart(ctx, name, func(part *table.Part, files []*manifest.File) error {
			keep, err := k.fresh(ctx, files, wanted)
			if err != nil {
				return err
			}
			for i, f := range files {
				if keep[i] {
					taken[f.URL]++
					k.done++
				}
			}
			return k.copyPart(ctx, part, files, keep, k.sink)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w; remove this file, and its sources are scanned again", name, err)
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		taken[name]--
		return taken[name] >= 0
	}), nil
}

// staleDraft is the age from which nobody writes a draft any more. A block takes less than a
// minute, unless a single source takes longer.
const staleDraft = 24 * time.Hour

// removeStale removes the draft of a process that was killed.
func (k *keeping) removeStale(entry os.DirEntry) error {
	if name := strings.TrimLeft(entry.Name(), "."); name == entry.Name() || !strings.HasPrefix(name, keptBegin) {
		return nil
	}
	info, err := entry.Info()
	if err != nil || time.Since(info.ModTime()) < staleDraft {
		return nil // another process renamed it in the meantime, or may still write it
	}
	return removed(filepath.Join(k.opts.KeepScan, entry.Name()))
}

// fresh reports which files of a part are wanted and unchanged. It decrements wanted for each.
func (k *keeping) fresh(ctx context.Context, files []*manifest.File, wanted map[string]int) ([]bool, error) {
	keep, asked := make([]bool, len(files)), make([]bool, len(files))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(max(identitiesAtATime, runtime.GOMAXPROCS(0)))
	for i, f := range files {
		if wanted[f.URL] == 0 {
			continue
		}
		asked[i] = true
		wanted[f.URL]--
		group.Go(func() error {
			keep[i] = k.isUnchanged(within, f.Source)
			return within.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, f := range files {
		if asked[i] && !keep[i] {
			wanted[f.URL]++
		}
	}
	return keep, nil
}

// isUnchanged reports whether a source has the identity with which it was scanned. A source that
// cannot be read counts as changed, so that the scan reports it; so does a folder, which has no
// identity.
func (k *keeping) isUnchanged(ctx context.Context, s manifest.Source) bool {
	now, err := k.identityOf(ctx, s.URL)
	return err == nil && now != source.Identity{} && s.Identity().Check(now) == nil
}

func (k *keeping) identityOf(ctx context.Context, url string) (id source.Identity, err error) {
	url = source.Outer(url)
	// A stat is much cheaper than opening the file, and there may be a million files.
	if path, err := source.LocalPath(url); err == nil {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() {
			id = source.Identity{Size: info.Size(), Modified: info.ModTime()}
		}
		return id, err
	}
	src, err := k.opener.Open(ctx, url)
	if err != nil {
		return id, err
	}
	return src.Identity(), src.Close()
}

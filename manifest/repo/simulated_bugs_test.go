package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"varve/manifest"
)

// bug is a mistake that is put into a repository, or into a store, to show that the simulation finds it.
type bug struct {
	name  string
	homes []string
	files func(w *world, f files) files
	world func(w *world)
	gc    func(o *operation, keep int) error
}

var (
	inObjects = []string{"s3", "s3 with KMS", "gs", "az"}
	inFolders = []string{"posix"}
)

// bugs are mistakes that each lose data in some schedule.
var bugs = []bug{
	{name: "the store ignores the condition on current", homes: inObjects, world: func(w *world) {
		w.store.ignoresConditions = func(key string) bool { return strings.HasSuffix(key, "/"+currentName) }
	}},
	{name: "a writer takes the version of current after it has checked its files", homes: inObjects, files: func(_ *world, f files) files {
		return &lateVersion{f.(*objects)}
	}},
	{name: "gc neither marks current nor looks for writers", homes: inObjects, files: func(_ *world, f files) files {
		return &noMark{f.(*objects)}
	}},
	{name: "writers ignore the mark of a gc", homes: inObjects, files: func(_ *world, f files) files {
		return &ignoredMark{f.(*objects)}
	}},
	{name: "gc removes files after its mark is too old", homes: inObjects, files: func(_ *world, f files) files {
		return &endlessMark{f.(*objects)}
	}},
	{name: "the mark of a gc counts for no time", homes: inObjects, files: func(_ *world, f files) files {
		return &impatient{f.(*objects)}
	}},
	{name: "a lost answer is taken for success", homes: inObjects, files: func(_ *world, f files) files {
		return &hopeful{f.(*objects)}
	}},
	{name: "current is replaced before the tables are stored", homes: append(inFolders, inObjects...), files: func(_ *world, f files) files {
		return &early{files: f}
	}},
	{name: "gc reads the history before it keeps writers off", homes: append(inFolders, inObjects...), gc: earlyHistory},
	{name: "gc forgets tags", homes: append(inFolders, inObjects...), gc: forgetfulGC},
	{name: "gc keeps one snapshot too few", homes: append(inFolders, inObjects...), gc: func(o *operation, keep int) error {
		_, err := o.r.GC(o.ctx, &GCOptions{Keep: max(1, keep-1)})
		return err
	}},
	{name: "gc does not wait for writers", homes: inFolders, files: func(_ *world, f files) files { return &noGCLock{f} }},
	{name: "writers do not keep gc off", homes: inFolders, files: func(_ *world, f files) files { return &noWriterLock{f} }},
	{name: "current is replaced without a lock", homes: inFolders, world: func(w *world) { w.disk.ignoresLocks = true }},
	{name: "files are not flushed", homes: inFolders, world: func(w *world) { w.disk.ignoresSync = true }},
	{name: "names are not flushed", homes: inFolders, world: func(w *world) { w.disk.ignoresFolderSync = true }},
	{name: "current is compared before it is locked", homes: inFolders, files: func(_ *world, f files) files { return &earlyCompare{f.(*folder)} }},
}

// lateVersion reads the version of current only when it replaces it, so it does not notice a gc that ran before.
type lateVersion struct{ *objects }

func (f *lateVersion) swapCurrent(ctx context.Context, _ pointerState, old, new []byte) error {
	since, err := f.objects.waitForGC(ctx)
	if err != nil {
		return err
	}
	return f.objects.swapCurrent(ctx, since, old, new)
}

type noMark struct{ *objects }

func (*noMark) lockForGC(context.Context) (func() error, error) {
	return func() error { return nil }, nil
}

func (f *noMark) keep(ctx context.Context, old, new []byte) error {
	since, err := f.readCurrent(ctx)
	if err != nil {
		return err
	}
	return f.swapCurrent(ctx, since, old, new)
}

type ignoredMark struct{ *objects }

func (f *ignoredMark) waitForGC(ctx context.Context) (pointerState, error) { return f.readCurrent(ctx) }

func (f *ignoredMark) holdOffGC(ctx context.Context) (func() error, error) {
	l, err := f.lease(ctx, writerLease)
	if err != nil {
		return nil, err
	}
	return func() error { return l.Release(false) }, nil
}

// endlessMark removes files however old its mark is.
type endlessMark struct{ *objects }

func (f *endlessMark) remove(ctx context.Context, names ...string) (int, error) {
	for n, name := range names {
		if err := f.place.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
	}
	return len(names), nil
}

// impatient removes the mark of any gc at once.
type impatient struct{ *objects }

func (f *impatient) waitForGC(ctx context.Context) (pointerState, error) {
	old := func(context.Context) (time.Time, error) { return time.Now().Add(2 * sweepLife), nil }
	return f.waitForGCUsing(ctx, old)
}

func (f *impatient) holdOffGC(ctx context.Context) (func() error, error) {
	_, err := f.waitForGC(ctx)
	return func() error { return nil }, err
}

// remove removes files although the mark was taken away, as a gc does that looks at its mark only at first.
func (f *impatient) remove(ctx context.Context, names ...string) (int, error) {
	return (&endlessMark{f.objects}).remove(ctx, names...)
}

// hopeful takes a lost answer for success.
type hopeful struct{ *objects }

func (f *hopeful) swapCurrent(ctx context.Context, since pointerState, old, new []byte) error {
	err := f.objects.swapCurrent(context.WithValue(ctx, onlyOnce{}, true), since, old, new)
	if err != nil && !errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// early publishes the snapshot first, and stores its tables when current names it.
type early struct {
	files
	tables []namedDraft
}

func (f *early) finish(ctx context.Context, drafts ...namedDraft) error {
	f.tables = drafts[1:]
	return f.files.finish(ctx, drafts[0])
}

func (f *early) swapCurrent(ctx context.Context, since pointerState, old, new []byte) error {
	if err := f.files.swapCurrent(ctx, since, old, new); err != nil {
		return err
	}
	return f.files.finish(ctx, f.tables...)
}

// earlyHistory is a gc that first lists the needed files and then stops writers, so it misses files that were added in between.
func earlyHistory(o *operation, keep int) error {
	kept, err := o.r.choose(o.ctx, &GCOptions{Keep: keep})
	if err != nil {
		return err
	}
	needed, err := o.r.needed(o.ctx, kept)
	if err != nil {
		return err
	}
	release, err := o.r.files.lockForGC(o.ctx)
	if err != nil {
		return err
	}
	var done Collected
	for _, name := range []string{snapshotFolder, "tables", "patches", "drafts"} {
		if err := o.r.sweep(o.ctx, name, needed, false, &done); err != nil {
			return errors.Join(err, release())
		}
	}
	return release()
}

// forgetfulGC is a gc that does not look at tags.
func forgetfulGC(o *operation, keep int) error {
	release, err := o.r.files.lockForGC(o.ctx)
	if err != nil {
		return err
	}
	var kept []*manifest.Entry
	for e, err := range o.r.Log(o.ctx) {
		if err != nil {
			return errors.Join(err, release())
		}
		if kept = append(kept, e); len(kept) == keep {
			break
		}
	}
	needed, err := o.r.needed(o.ctx, kept)
	if err != nil {
		return errors.Join(err, release())
	}
	var done Collected
	return errors.Join(o.r.sweep(o.ctx, snapshotFolder, needed, false, &done), release())
}

type noGCLock struct{ files }

func (*noGCLock) lockForGC(context.Context) (func() error, error) {
	return func() error { return nil }, nil
}

type noWriterLock struct{ files }

func (*noWriterLock) holdOffGC(context.Context) (func() error, error) {
	return func() error { return nil }, nil
}

// earlyCompare compares current with what it should be, and then locks it.
type earlyCompare struct{ *folder }

func (f *earlyCompare) swapCurrent(ctx context.Context, _ pointerState, old, new []byte) error {
	now, err := readAll(ctx, f.folder, currentName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if string(now) != string(old) {
		return ErrConflict
	}
	release, err := f.wait(ctx, "current", exclusive)
	if err != nil {
		return err
	}
	return errors.Join(writeAll(ctx, f.folder, currentName, new), release())
}

// telling are seeds that found bugs. They are tried first, to save time.
var telling = []uint64{1, 2, 4, 5, 19, 20, 28, 35, 390, 593, 996, 1967}

// TestSimulationFindsBugs puts bugs into repositories and stores. The simulation must find each in every kind of home.
func TestSimulationFindsBugs(t *testing.T) {
	simulatedEnvironment(t)
	most := setting("VARVE_SCHEDULES", 3000)
	for _, b := range bugs {
		for _, home := range b.homes {
			if home != "posix" && home != "s3" && os.Getenv("VARVE_SCHEDULES") == "" {
				continue // the stores differ little; the long run covers them
			}
			t.Run(b.name+" in "+home, func(t *testing.T) {
				s := &simulation{home: home, bug: b}
				for n := range most + uint64(len(telling)) {
					seed := n + 1 - uint64(len(telling))
					if n < uint64(len(telling)) {
						seed = telling[n]
					}
					if w := s.run(t, seed); len(w.history.anomalies) > 0 {
						t.Logf("found by seed %d: %s", seed, w.history.anomalies[0])
						return
					}
				}
				t.Errorf("not found in %d schedules", most)
			})
		}
	}
}

// TestLeasesOnlySaveWork checks that writers without leases lose nothing: leases only prevent that a gc makes the work of
// a writer useless.
func TestLeasesOnlySaveWork(t *testing.T) {
	simulatedEnvironment(t)
	for _, home := range inObjects {
		s := &simulation{home: home, bug: bug{files: func(_ *world, f files) files { return &noWriterLock{f} }}}
		for seed := range setting("VARVE_SCHEDULES", 10) {
			if w := s.run(t, seed); len(w.history.anomalies) > 0 {
				t.Fatalf("%s, seed %d: %s", home, seed, strings.Join(w.history.anomalies, "\n"))
			}
		}
	}
}

package repo

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/internal/home"
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

func (f *lateVersion) swapCurrent(ctx context.Context, was pointerState, p *pointer) error {
	since, err := f.objects.waitForGC(ctx)
	if err != nil {
		return err
	}
	var before, now pointer
	if json.Unmarshal(was.data, &before) == nil && json.Unmarshal(since.data, &now) == nil && before.Snapshot != now.Snapshot {
		return ErrConflict
	}
	return f.objects.swapCurrent(ctx, since, p)
}

type noMark struct{ *objects }

func (*noMark) lockForGC(context.Context) (func() error, error) {
	return func() error { return nil }, nil
}

func (f *noMark) keep(ctx context.Context, p *pointer) error {
	since, err := readCurrent(ctx, f)
	if err != nil {
		return err
	}
	return f.swapCurrent(ctx, since, p)
}

type ignoredMark struct{ *objects }

func (f *ignoredMark) waitForGC(ctx context.Context) (pointerState, error) {
	return readCurrent(ctx, f)
}

func (f *ignoredMark) holdOffGC(ctx context.Context) (since pointerState, release func() error, err error) {
	l, err := f.lease(ctx, writerLease)
	if err != nil {
		return since, nil, err
	}
	release = func() error { return l.Release(false) }
	if since, err = readCurrent(ctx, f); err != nil {
		return since, nil, errors.Join(err, release())
	}
	return since, release, nil
}

// endlessMark removes files however old its mark is.
type endlessMark struct{ *objects }

func (f *endlessMark) Remove(ctx context.Context, names ...string) (int, error) {
	for n, name := range names {
		if err := f.Place.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

func (f *impatient) holdOffGC(ctx context.Context) (pointerState, func() error, error) {
	since, err := f.waitForGC(ctx)
	return since, func() error { return nil }, err
}

// remove removes files although the mark was taken away, as a gc does that looks at its mark only at first.
func (f *impatient) Remove(ctx context.Context, names ...string) (int, error) {
	return (&endlessMark{f.objects}).Remove(ctx, names...)
}

// hopeful takes a lost answer for success.
type hopeful struct{ *objects }

func (f *hopeful) swapCurrent(ctx context.Context, since pointerState, p *pointer) error {
	err := f.objects.swapCurrent(context.WithValue(ctx, onlyOnce{}, true), since, p)
	if err != nil && !errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// early publishes the snapshot first, and stores its tables when current names it.
type early struct {
	files
	tables []home.Named
}

func (f *early) Finish(ctx context.Context, drafts ...home.Named) error {
	f.tables = drafts[1:]
	return f.files.Finish(ctx, drafts[0])
}

func (f *early) swapCurrent(ctx context.Context, since pointerState, p *pointer) error {
	if err := f.files.swapCurrent(ctx, since, p); err != nil {
		return err
	}
	return f.files.Finish(ctx, f.tables...)
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

func (f *noWriterLock) holdOffGC(ctx context.Context) (pointerState, func() error, error) {
	since, err := f.waitForGC(ctx)
	return since, func() error { return nil }, err
}

// earlyCompare compares current with what it should be, and then locks it.
type earlyCompare struct{ *folder }

func (f *earlyCompare) swapCurrent(ctx context.Context, since pointerState, p *pointer) error {
	now, err := readCurrent(ctx, f)
	if err != nil {
		return err
	}
	if now.version != since.version {
		return ErrConflict
	}
	release, err := f.Wait(ctx, lockFolder+"/current", home.Exclusive)
	if err != nil {
		return err
	}
	d, err := f.Begin()
	if err == nil {
		_, err = d.Write(p.encode())
	}
	if err == nil {
		err = f.Finish(ctx, home.Named{Draft: d, Key: currentName})
	}
	return errors.Join(err, release())
}

// firstSeeds are seeds that found bugs. They are tried first, to save time.
var firstSeeds = map[string]uint64{
	"the store ignores the condition on current in s3":                           390,
	"a writer takes the version of current after it has checked its files in s3": 48,
	"gc neither marks current nor looks for writers in s3":                       4,
	"writers ignore the mark of a gc in s3":                                      259,
	"gc removes files after its mark is too old in s3":                           181,
	"the mark of a gc counts for no time in s3":                                  5,
	"a lost answer is taken for success in s3":                                   8,
	"current is replaced before the tables are stored in posix":                  1,
	"current is replaced before the tables are stored in s3":                     1,
	"gc reads the history before it keeps writers off in posix":                  6,
	"gc reads the history before it keeps writers off in s3":                     1,
	"gc forgets tags in posix":                                                   4,
	"gc forgets tags in s3":                                                      1,
	"gc keeps one snapshot too few in posix":                                     1,
	"gc keeps one snapshot too few in s3":                                        2,
	"gc does not wait for writers in posix":                                      62,
	"writers do not keep gc off in posix":                                        4,
	"current is replaced without a lock in posix":                                42,
	"files are not flushed in posix":                                             1,
	"names are not flushed in posix":                                             1,
	"current is compared before it is locked in posix":                           28,
}

// TestSimulationFindsBugs puts bugs into repositories and stores. The simulation must find each in every kind of home.
func TestSimulationFindsBugs(t *testing.T) {
	simulatedEnvironment(t)
	const most = 3000
	long := soak.Duration(t, 0) > 0
	for _, b := range bugs {
		for _, home := range b.homes {
			if home != "posix" && home != "s3" && !long {
				continue // the stores differ little; the long run covers them
			}
			t.Run(b.name+" in "+home, func(t *testing.T) {
				s := &simulation{home: home, bug: b}
				for n := range uint64(most) {
					seed := n
					if n == 0 {
						seed = firstSeeds[b.name+" in "+home]
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
		for seed := range soak.Seeds(t, 5) {
			if w := s.run(t, seed); len(w.history.anomalies) > 0 {
				t.Fatalf("%s, seed %d: %s", home, seed, strings.Join(w.history.anomalies, "\n"))
			}
		}
	}
}

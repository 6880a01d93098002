package repo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"varve/fixtures/soak"
	"varve/fixtures/system"
	"varve/manifest"
	"varve/readers/source"
	"varve/readers/source/storetest"
)

// simulation is a set of schedules.
type simulation struct {
	home string // one of simulatedHomes
	bug  bug
	calm bool // without faults

	mu  sync.Mutex
	ops map[string]int // numbers of operations, by outcome
}

// simulatedHomes are the kinds of stores and disks, as docs/reference/stores.md describes them.
var simulatedHomes = []string{"s3", "s3 with KMS", "gs", "az", "posix", "nfs"}

// roles are what a process mostly does. Schedules with few writers find other mistakes than those with many.
var roles = []string{"writer", "cleaner", "mixed", "cleaner"}

// The size of a schedule.
const (
	simulatedProcesses  = 4 // that run at the same time
	simulatedOperations = 6 // of each
	fewestFaults        = 3
	mostFaults          = 7
	faultWindow         = 250 // the calls among which faults happen
)

// run runs the schedule of a seed. It returns the anomalies, and a digest of all choices.
func (s *simulation) run(t *testing.T, seed uint64) (w *world) {
	cryptotest.SetGlobalRandom(t, seed)
	synctest.Test(t, func(t *testing.T) {
		w = s.world(seed)
		for n := range simulatedProcesses {
			w.running++
			random := rand.New(rand.NewPCG(seed, uint64(n)+10))
			go func() {
				defer func() {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.running--
				}()
				for i := range simulatedOperations {
					s.operation(w, random, n, i)
				}
			}()
		}
		w.run()
		s.afterwards(w)
		w.history.end()
	})
	return w
}

func (s *simulation) world(seed uint64) *world {
	w := &world{seed: seed, random: rand.New(rand.NewPCG(seed, 1))}
	content := func(name string) []byte { return w.disk.content(name) }
	if s.home == "posix" || s.home == "nfs" {
		w.disk = newSimulatedDisk(w, s.home == "nfs")
	} else {
		dialect, kms, _ := strings.Cut(s.home, " ")
		w.store = &simulatedStore{world: w, dialect: dialect, opaque: kms != "", random: rand.New(rand.NewPCG(seed, 2)), objects: map[string]*simulatedObject{}}
		content = func(name string) []byte {
			if o := w.store.objects[simulatedRoot+name]; o != nil {
				return o.content
			}
			return nil
		}
		opener := source.NewOpener(&source.Options{Transport: w.store, Backoff: 1})
		w.opener = func() *source.Opener { return opener }
	}
	w.history = newHistory(func() int { return w.step }, content)
	if !s.calm {
		at := 0
		for range fewestFaults + w.random.IntN(mostFaults-fewestFaults+1) {
			at += 1 + w.random.IntN(faultWindow/mostFaults)
			w.faults = append(w.faults, at)
		}
	}
	if s.bug.world != nil {
		s.bug.world(w)
	}
	return w
}

// open starts a process that uses the repository.
func (s *simulation) open(w *world, number int) (*process, *Repository, context.Context, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := w.start(number, cancel)
	ctx = context.WithValue(ctx, processKey{}, p)
	var files files
	var err error
	if w.disk != nil {
		files = w.disk.open(p)
	} else {
		files, err = w.store.open(ctx)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if s.bug.files != nil {
		files = s.bug.files(w, files)
	}
	return p, &Repository{name: "simulated", files: &suspending{files, w, p}}, ctx, nil
}

// operation runs a command in a process of its own.
func (s *simulation) operation(w *world, random *rand.Rand, number, i int) {
	p, r, ctx, err := s.open(w, number)
	if err != nil {
		panic(err)
	}
	if random.IntN(4) == 0 { // sometimes for so long that leases of killed writers expire, and gc may run
		time.Sleep(time.Duration(random.Int64N(int64(3 * time.Minute))))
	}
	// One process starts after the other, so that they draw random names in this order.
	w.turn(ctx, p, "start", func() any { return nil }, func() any { return nil })
	o := &operation{s: s, w: w, p: p, r: r, ctx: ctx, random: random, label: fmt.Sprintf("%d.%d", number, i)}
	kinds := []func() error{o.append, o.replace, o.resume, o.restore, o.tag, o.read, o.gc}
	switch role := roles[(w.seed>>number+uint64(number))%uint64(len(roles))]; {
	case i == 0 && number < 2: // so that there is something to read
		kinds = kinds[:2]
	case role == "writer":
		kinds = kinds[:5]
	case role == "cleaner":
		kinds = append(kinds, o.gc, o.gc, o.gc, o.gc, o.gc, o.read, o.read)
	}
	err = kinds[random.IntN(len(kinds))]()
	err = errors.Join(err, r.Close())
	killed := w.end(p)
	p.cancel()
	s.count(outcome(err, killed))
	if s.calm && !killed && err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrBusy) && !isMissing(err) && !errors.Is(err, os.ErrNotExist) {
		w.history.anomaly("process %s failed without a fault: %v", o.label, err)
	}
}

// count counts outcomes of operations.
func (s *simulation) count(outcome string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ops == nil {
		s.ops = map[string]int{}
	}
	s.ops[outcome]++
}

func outcome(err error, killed bool) string {
	switch {
	case killed:
		return "killed"
	case err == nil:
		return "done"
	case errors.Is(err, ErrConflict):
		return "conflict"
	case errors.Is(err, ErrBusy):
		return "busy"
	case isMissing(err) || errors.Is(err, os.ErrNotExist):
		return "missing"
	}
	return "failed"
}

// operation is a command that a process runs.
type operation struct {
	s      *simulation
	w      *world
	p      *process
	r      *Repository
	ctx    context.Context
	random *rand.Rand
	label  string
}

// now returns the step of the world.
func (o *operation) now() int { return o.w.step }

// current reads current.
func (o *operation) current() (string, error) {
	begin := o.now()
	id, err := o.r.Current(o.ctx)
	isStale := id == "" && o.s.home == "nfs" // the client has not seen the new name yet
	if err == nil && !o.p.killed && !isStale {
		o.w.history.wasRead(id, begin)
	}
	return id, err
}

// latest returns the current snapshot, or an empty one.
func (o *operation) latest() (*manifest.Snapshot, string, error) {
	id, err := o.current()
	if err != nil || id == "" {
		return &manifest.Snapshot{}, id, err
	}
	snap, err := o.load(id)
	return snap, id, err
}

// load reads a snapshot.
func (o *operation) load(id string) (*manifest.Snapshot, error) {
	snap, err := o.r.Load(o.ctx, id)
	if isMissing(err) && !o.p.killed && o.s.home != "nfs" {
		o.w.history.failedToRead(id, err)
	}
	return snap, err
}

// table writes a table. Tables of different writers often have the same content.
func (o *operation) table() (manifest.Table, error) {
	text := fmt.Sprintf("table %d", o.random.IntN(4))
	if o.random.IntN(3) == 0 {
		text = "table of " + o.label
	}
	return writeTable(o.ctx, o.r, manifest.Refs, text)
}

func (o *operation) publish(snap *manifest.Snapshot, parent string) error {
	snap.Message, snap.Created, snap.ID = o.label, time.Time{}, ""
	err := o.r.Publish(o.ctx, snap, parent)
	switch {
	case o.p.killed:
	case err == nil:
		o.w.history.wasPublished(snap.ID)
	case errors.Is(err, ErrConflict) && snap.ID != "":
		o.w.history.wasDenied(snap.ID)
	}
	return err
}

// append is `varve append`: the snapshot keeps its tables and gets one or two more.
func (o *operation) append() error {
	snap, parent, err := o.latest()
	if err != nil {
		return err
	}
	for range 1 + o.random.IntN(2) {
		t, err := o.table()
		if err != nil {
			return err
		}
		snap.Tables = append(snap.Tables, t)
	}
	if len(snap.Tables) > 3 {
		snap.Tables = snap.Tables[len(snap.Tables)-3:]
	}
	return o.publish(snap, parent)
}

// replace is `varve build --force`, `varve relocate` or `varve compact`: the snapshot gets other tables.
func (o *operation) replace() error {
	if err := o.r.checkFree(o.ctx, true); err != nil {
		return err
	}
	parent, err := o.current()
	if err != nil {
		return err
	}
	snap := &manifest.Snapshot{}
	for range 1 + o.random.IntN(2) {
		t, err := o.table()
		if err != nil {
			return err
		}
		snap.Tables = append(snap.Tables, t)
	}
	return o.publish(snap, parent)
}

// resume is a build in two steps: the first stores a draft, another process publishes it.
func (o *operation) resume() error {
	snap, err := o.r.LoadDraft(o.ctx, "build")
	if err == nil {
		parent, err := o.current()
		if err != nil {
			return err
		}
		return errors.Join(o.publish(snap, parent), o.r.RemoveDraft(o.ctx, "build"))
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	t, err := o.table()
	if err != nil {
		return err
	}
	return o.r.SaveDraft(o.ctx, "build", &manifest.Snapshot{Tables: []manifest.Table{t}})
}

// restore is `varve restore`.
func (o *operation) restore() error {
	var ids []string
	for e, err := range o.r.Log(o.ctx) {
		if err != nil {
			return err
		}
		ids = append(ids, e.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	parent, err := o.current()
	if err != nil {
		return err
	}
	snap, err := o.load(ids[o.random.IntN(len(ids))])
	if err != nil {
		return err
	}
	if o.random.IntN(3) == 0 { // the machine is busy
		time.Sleep(time.Duration(o.random.Int64N(int64(2 * time.Minute))))
	}
	return o.publish(snap, parent)
}

// tag is `varve tag`, which gives a name to an old snapshot or takes one away. Each process has a tag of its own, so that the
// order of its changes is known.
func (o *operation) tag() error {
	name, _, _ := strings.Cut("tag-"+o.label, ".")
	if o.random.IntN(4) == 0 {
		o.w.history.mayLoseTag(name)
		if err := o.r.Untag(o.ctx, name); !errors.Is(err, ErrNoTag) {
			return err
		}
		return nil
	}
	var ids []string
	for e, err := range o.r.Log(o.ctx) {
		if err != nil {
			return err
		}
		ids = append(ids, e.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	id := ids[o.random.IntN(len(ids))]
	o.w.history.mayLoseTag(name)
	err := o.r.Tag(o.ctx, name, id, true)
	if err == nil && !o.p.killed {
		o.w.history.wasTagged(name, id)
	}
	return err
}

// read is any reader: it opens the current snapshot, and later reads its tables.
func (o *operation) read() error {
	snap, id, err := o.latest()
	if err != nil || id == "" {
		return err
	}
	time.Sleep(time.Duration(o.random.Int64N(int64(100 * time.Millisecond))))
	err = o.r.Check(o.ctx, snap)
	var damage *manifest.DamageError
	// A client of NFS may remember that a table did not exist, which another client has made again.
	isStale := isMissing(err) && o.s.home == "nfs"
	if errors.As(err, &damage) && !o.p.killed && !isStale {
		o.w.history.failedToRead(id, err)
	}
	return err
}

// gc is `varve gc`.
func (o *operation) gc() error {
	if id, err := o.current(); id == "" || err != nil {
		return err
	}
	keep := 1 + int(o.w.seed%3) + o.random.IntN(2)
	o.w.history.mustKeep(keep)
	if o.s.bug.gc != nil {
		return o.s.bug.gc(o, keep)
	}
	_, err := o.r.GC(o.ctx, &GCOptions{Keep: keep, Daily: o.random.IntN(2)})
	if err == nil {
		o.s.count("gc done")
	}
	return err
}

// afterwards checks that a writer and a gc succeed once nothing fails any more, and that gc leaves no unused files.
func (s *simulation) afterwards(w *world) {
	w.faults = nil
	time.Sleep(time.Hour)
	err := s.alone(w, func(o *operation) error { return o.replace() })
	if err != nil {
		w.history.anomaly("after all faults, a writer failed: %v", err)
	}
	time.Sleep(time.Hour)
	w.history.mustKeep(1)
	err = s.alone(w, func(o *operation) error {
		_, err := o.r.GC(o.ctx, &GCOptions{Keep: 1})
		return err
	})
	if err != nil {
		w.history.anomaly("after all faults, gc failed: %v", err)
	}
}

// alone runs an operation while no other runs.
func (s *simulation) alone(w *world, do func(o *operation) error) (err error) {
	p, r, ctx, err := s.open(w, 99)
	if err != nil {
		return err
	}
	w.running++
	go func() {
		err = do(&operation{s: s, w: w, p: p, r: r, ctx: ctx, random: rand.New(rand.NewPCG(w.seed, 99)), label: "last"})
		err = errors.Join(err, r.Close())
		w.end(p)
		p.cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running--
	}()
	w.run()
	return err
}

// simulatedEnvironment sets the environment for a simulated store.
func simulatedEnvironment(t *testing.T) {
	if system.Race {
		t.Skip("the scheduler and the checker share numbers with the processes on purpose, one step at a time")
	}
	storetest.Setenv(t, map[string]string{
		"AWS_ENDPOINT_URL": "http://s3.test", "AWS_NO_SIGN_REQUEST": "YES", "STORAGE_EMULATOR_HOST": "http://gs.test",
		"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_SERVICE_ENDPOINT": "http://az.test", "AZURE_NO_SIGN_REQUEST": "YES",
	})
	// Drafts are temporary files; in memory they are faster.
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		if dir, err := os.MkdirTemp("/dev/shm", "varve-simulation-"); err == nil {
			t.Setenv("TMPDIR", dir)
			t.Cleanup(func() { os.RemoveAll(dir) })
		}
	}
}

// TestSimulatedWriters runs schedules of several writers, readers and gc, with at least three faults each.
func TestSimulatedWriters(t *testing.T) {
	simulatedEnvironment(t)
	for _, home := range simulatedHomes {
		t.Run(home, func(t *testing.T) {
			sample := 10
			if home == "posix" || home == "nfs" { // they are faster
				sample = 70
			}
			many := 0
			s := &simulation{home: home}
			begin, steps, few := time.Now(), 0, 0
			for seed := range soak.Seeds(t, sample) {
				many++
				s.calm = seed%16 == 0
				w := s.run(t, seed)
				steps += w.step
				if len(w.applied) < fewestFaults && !s.calm {
					few++
				}
				if len(w.history.anomalies) > 0 {
					t.Fatalf("%s\nfaults:\n%s", strings.Join(w.history.anomalies, "\n"), strings.Join(w.applied, "\n"))
				}
			}
			t.Logf("%d schedules, %d calls, %.0f schedules/s; operations: %v; schedules with fewer than %d faults: %d", many, steps,
				float64(many)/time.Since(begin).Seconds(), s.ops, fewestFaults, few)
		})
	}
}

// TestSimulationRepeats checks that a seed always gives the same schedule. With Google's store, random names may differ
// if two goroutines draw at the same time, because each upload draws one more.
func TestSimulationRepeats(t *testing.T) {
	simulatedEnvironment(t)
	for _, home := range simulatedHomes {
		for seed := range uint64(5) {
			s := &simulation{home: home}
			a, b := s.run(t, seed), s.run(t, seed)
			if (a.trace != b.trace || a.step != b.step) && home != "gs" {
				t.Errorf("%s: seed %d made %d calls, then %d, and others", home, seed, a.step, b.step)
			}
		}
	}
}

package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"varve/manifest/internal/home"
	"varve/readers/source"
)

// A world simulates several processes that use one repository. It runs in a bubble of package synctest, so its clock
// only moves when the world lets it. Each request to the store, and each call of the disk, waits until the scheduler
// chooses it. The scheduler chooses with random numbers of a seed, so a schedule can be repeated.
//
//	process 1 ── request ──┐
//	process 2 ── request ──┼── pending ── scheduler ── exec ── answer
//	process 3 ── request ──┘                 └── or a fault
type world struct {
	seed   uint64
	random *rand.Rand
	store  *simulatedStore // nil if the repository is in a folder
	disk   *simulatedDisk  // nil if it is in an object store
	faults []int           // the steps at which faults happen, in order

	mu      sync.Mutex
	pending []*call
	running int // processes that have not ended

	step    int // number of executed calls
	grants  int // number of choices of the scheduler
	applied []string
	trace   uint64 // digest of all choices
	history *history
	now     []*process // the running processes
	opener  func() *source.Opener
}

// process is one run of a command. It can be killed, or cut off from the store.
type process struct {
	number int
	killed bool
	cut    time.Time     // until then its calls wait
	asleep time.Duration // it is suspended for this long before its next step
	wakes  time.Time     // until then it is suspended
	cancel context.CancelFunc
	leave  func() // releases what the operating system releases at the end of a process
}

// call is a request or a call of the disk that waits for the scheduler.
type call struct {
	by       *process
	name     string // for the order of pending calls
	exec     func() any
	busy     func() any // the answer of a store that is too busy; nil for a disk
	answer   chan any   // errBroken if the connection broke
	since    time.Time
	orphaned bool // nobody waits for the answer any more, but the network may still deliver the request
	gaveUp   time.Time
}

// errKilled is the result of calls of killed processes. The client does not repeat requests after it.
var errKilled error = &net.DNSError{Err: "the process was killed", IsNotFound: true}

// errBroken is the result of a broken connection.
var errBroken = errors.New("connection broken")

// The longest time after which the network delivers a request whose sender gave up, and after it was sent.
const (
	longestDelay = 20 * time.Second
	longestWait  = 100 * time.Second
)

// turn waits until the scheduler executes a call, and returns its answer.
func (w *world) turn(ctx context.Context, by *process, name string, exec, busy func() any) any {
	// While a process is suspended, none of its goroutines runs.
	w.mu.Lock()
	left := time.Until(by.wakes)
	w.mu.Unlock()
	if left > 0 {
		time.Sleep(left + time.Millisecond)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// Retries pause for some random nanoseconds, which must not matter.
	now := time.Now()
	time.Sleep(now.Truncate(time.Microsecond).Add(time.Microsecond).Sub(now))
	c := &call{by: by, name: name, exec: exec, busy: busy, answer: make(chan any, 1), since: time.Now()}
	w.mu.Lock()
	if by.killed {
		w.mu.Unlock()
		return errKilled
	}
	w.pending = append(w.pending, c)
	w.mu.Unlock()
	select {
	case a := <-c.answer:
		return a
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		c.orphaned, c.gaveUp = true, time.Now()
		if by.killed {
			return errKilled
		}
		return context.Cause(ctx)
	}
}

// run schedules calls until all processes have ended and the network is empty.
func (w *world) run() {
	idle := time.Millisecond
	for {
		time.Sleep(3 * time.Microsecond) // longer than turn sleeps
		synctest.Wait()
		w.mu.Lock()
		ready, late, all := w.sorted()
		running := w.running
		w.mu.Unlock()
		w.deliverLate(late)
		switch {
		case len(ready) == 0 && running == 0 && len(all) == 0:
			return
		case len(ready) == 0:
			time.Sleep(idle)
			idle = min(2*idle, 2*time.Second)
			continue
		}
		idle = time.Millisecond
		if w.random.IntN(4) == 0 {
			time.Sleep(time.Duration(w.random.Int64N(int64(20 * time.Millisecond))))
			continue
		}
		c := ready[w.random.IntN(len(ready))]
		w.grants++
		if len(w.faults) > 0 && w.grants >= w.faults[0] {
			w.faults = w.faults[1:]
			w.fault(c)
			continue
		}
		w.remove(c)
		c.answer <- w.execute(c)
	}
}

// sorted returns three lists of calls: those that can be executed, those whose senders gave up, and all.
func (w *world) sorted() (ready, late, all []*call) {
	slices.SortStableFunc(w.pending, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.by.number, b.by.number), strings.Compare(a.name, b.name))
	})
	for _, c := range w.pending {
		switch {
		case c.orphaned:
			late = append(late, c)
		case !time.Now().Before(c.by.cut):
			ready = append(ready, c)
		}
	}
	return ready, late, slices.Clone(w.pending)
}

// deliverLate executes or drops requests whose senders gave up. What happens to each does not depend on the others.
func (w *world) deliverLate(late []*call) {
	for _, c := range late {
		sum := fnv.New64a()
		fmt.Fprint(sum, w.seed, c.by.number, c.name)
		fate := rand.New(rand.NewPCG(sum.Sum64(), 0))
		arrives, after := fate.IntN(2) == 0, time.Duration(fate.Int64N(int64(longestDelay)))
		if fate.IntN(2) == 0 { // many requests are late by a few steps only
			after /= 1000
		}
		if time.Since(c.gaveUp) < after {
			continue
		}
		w.remove(c)
		if arrives && time.Since(c.since) < longestWait {
			w.note("late", c)
			w.execute(c)
		}
	}
}

func (w *world) remove(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = slices.DeleteFunc(w.pending, func(other *call) bool { return other == c })
}

// execute executes a call.
func (w *world) execute(c *call) any {
	w.step++
	sum := fnv.New64a()
	fmt.Fprint(sum, w.trace, c.by.number, c.name, time.Now().UnixMilli())
	w.trace = sum.Sum64()
	return c.exec()
}

func (w *world) note(fault string, c *call) {
	w.applied = append(w.applied, fmt.Sprintf("step %d: %s process %d %s", w.step, fault, c.by.number, c.name))
}

// fault lets a call fail, or its process, or the power.
func (w *world) fault(c *call) {
	kinds := []string{"kill before", "kill after", "cut off", "pause", "suspend", "suspend", "suspend"}
	if w.store != nil {
		kinds = append(kinds, "busy", "break before", "break after", "break and deliver late", "kill and deliver late")
	}
	if w.disk != nil {
		kinds = append(kinds, "power failure", "power failure", "disk error")
	}
	kind := kinds[w.random.IntN(len(kinds))]
	w.note(kind, c)
	switch kind {
	case "cut off":
		c.by.cut = time.Now().Add(w.span())
		return
	case "suspend":
		w.mu.Lock()
		c.by.asleep = w.span() + time.Duration(w.random.IntN(3))*time.Minute
		w.mu.Unlock()
		return
	case "pause":
		time.Sleep(w.span())
		return
	case "power failure":
		for _, p := range w.processes() {
			w.kill(p)
		}
		w.disk.powerFailure(w.random)
		w.history.restarted(w.disk.content("current"))
		return
	case "kill and deliver late", "break and deliver late":
		w.mu.Lock()
		c.orphaned, c.gaveUp = true, time.Now()
		w.mu.Unlock()
		c.answer <- errBroken
	case "kill before", "busy", "break before", "disk error":
		w.remove(c)
		if kind == "busy" {
			c.answer <- c.busy()
		} else {
			c.answer <- errBroken
		}
	case "kill after", "break after":
		w.remove(c)
		w.execute(c)
		c.answer <- errBroken
	}
	if strings.HasPrefix(kind, "kill") {
		w.kill(c.by)
	}
}

// span draws a time that is long compared with a request. Some are longer than leases and marks count.
func (w *world) span() time.Duration {
	return time.Duration(1+w.random.IntN(10)) * []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}[w.random.IntN(3)]
}

// kill ends a process. Its requests may still arrive.
func (w *world) kill(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.killed {
		return
	}
	p.killed = true
	p.cancel()
	if p.leave != nil {
		p.leave()
	}
	w.pending = slices.DeleteFunc(w.pending, func(c *call) bool {
		if c.by != p || c.orphaned {
			return false
		}
		c.answer <- errKilled
		c.orphaned, c.gaveUp = true, time.Now()
		return w.disk != nil || w.random.IntN(2) == 0
	})
}

// suspend stops a process between two steps, as a machine that sleeps does: it does not renew its leases.
func (w *world) suspend(p *process) {
	w.mu.Lock()
	span := p.asleep
	p.asleep = 0
	if span > 0 {
		p.wakes = time.Now().Add(span)
	}
	w.mu.Unlock()
	if span > 0 && !p.killed {
		time.Sleep(span)
	}
}

// suspending lets a process be suspended before and after each step, but not between steps that it makes at the same time.
type suspending struct {
	files
	w *world
	p *process
}

func (f *suspending) step() func() {
	f.w.suspend(f.p)
	return func() { f.w.suspend(f.p) }
}

func (f *suspending) Open(ctx context.Context, name string, size int64) (home.File, error) {
	defer f.step()()
	return f.files.Open(ctx, name, size)
}

func (f *suspending) Finish(ctx context.Context, drafts ...home.Named) error {
	defer f.step()()
	return f.files.Finish(ctx, drafts...)
}

func (f *suspending) Remove(ctx context.Context, names ...string) (int, error) {
	defer f.step()()
	return f.files.Remove(ctx, names...)
}

func (f *suspending) waitForGC(ctx context.Context) (pointerState, error) {
	defer f.step()()
	return f.files.waitForGC(ctx)
}

func (f *suspending) ReadVersion(ctx context.Context, key string, most int64) ([]byte, string, error) {
	defer f.step()()
	return f.files.ReadVersion(ctx, key, most)
}

func (f *suspending) Read(ctx context.Context, key string, most int64) ([]byte, error) {
	defer f.step()()
	return f.files.Read(ctx, key, most)
}

func (f *suspending) List(ctx context.Context, folder string) iter.Seq2[source.Entry, error] {
	return func(yield func(source.Entry, error) bool) {
		end := f.step()
		entries, err := allOf(f.files.List(ctx, folder))
		end()
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(source.Entry{}, err)
		}
	}
}

func allOf(list iter.Seq2[source.Entry, error]) (entries []source.Entry, err error) {
	for e, err := range list {
		if err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (f *suspending) swapCurrent(ctx context.Context, since pointerState, p *pointer) error {
	defer f.step()()
	return f.files.swapCurrent(ctx, since, p)
}

func (f *suspending) holdOffGC(ctx context.Context) (pointerState, func() error, error) {
	defer f.step()()
	return f.files.holdOffGC(ctx)
}

func (f *suspending) lockForGC(ctx context.Context) (func() error, error) {
	defer f.step()()
	return f.files.lockForGC(ctx)
}

// processes returns the running processes.
func (w *world) processes() []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.now)
}

// start registers a process.
func (w *world) start(number int, cancel context.CancelFunc) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &process{number: number, cancel: cancel}
	w.now = append(w.now, p)
	return p
}

// end removes a process, and reports whether it was killed.
func (w *world) end(p *process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = slices.DeleteFunc(w.now, func(other *process) bool { return other == p })
	if p.leave != nil {
		p.leave()
	}
	return p.killed
}

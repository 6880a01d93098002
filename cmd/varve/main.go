// Command varve makes one Zarr out of every file of an archive, without copying it.
//
// Each subcommand has a file of its own: a constructor that declares its flags, and
// a run function that does the work with what the library packages offer.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
)

func main() {
	tuneCollector()
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	root, out := newRootCommand(), &results{to: os.Stdout}
	root.SetOut(out)
	err := cmp.Or(root.ExecuteContext(ctx), out.err)
	interrupted := ctx.Err() != nil
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "varve:", said(err))
	}
	os.Exit(exitCode(err, interrupted))
}

// said is an error as a user is told it.
func said(err error) string {
	switch {
	case err == context.Canceled:
		return "interrupted"
	case errors.Is(err, context.Canceled):
		return "interrupted: " + err.Error()
	}
	return err.Error()
}

// endings are the signals that end a command. The terminal's end is none where that is ignored,
// as nohup has it.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// results is standard output. A command whose results were lost has failed, also where it looked at
// no error of writing them.
type results struct {
	to  io.Writer
	err error // the first
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	r.err = cmp.Or(r.err, err)
	return n, err
}

// tuneCollector lets the memory grow further before it is swept, unless the user said how far:
// what lives here is small, and what scans and requests leave behind is much. Where much lives, as
// of an archive whose files each have a header of their own, it is swept as usual.
func tuneCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	percent := mostGarbage
	debug.SetGCPercent(percent)
	afterCollections(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if now := garbagePercent(live[0].Value.Uint64()); now != percent { // which stops the world
			percent = now
			debug.SetGCPercent(percent)
		}
	})
}

// mostGarbage is how much garbage there may be, in percent of what lives; roomyBytes is what it
// may come to before it is less of that, but never less than what lives.
const (
	mostGarbage = 400
	roomyBytes  = 512 << 20
)

// garbagePercent is how much garbage there may be beside so many bytes that live.
func garbagePercent(live uint64) int {
	return int(min(max(roomyBytes*100/max(live, 1), 100), mostGarbage))
}

// afterCollections calls f after each collection of garbage: what nobody points at is finalized then.
func afterCollections(f func()) {
	type sentinel struct{ _ *byte }
	var again func(*sentinel)
	again = func(*sentinel) {
		runtime.SetFinalizer(&sentinel{}, again) // before f, so that a collection that f leads to counts
		f()
	}
	runtime.SetFinalizer(&sentinel{}, again)
}

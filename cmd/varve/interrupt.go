package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// interruptible returns a context that a signal cancels, and a function that ends the handling of signals.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	ignore := context.AfterFunc(ctx, func() {
		stop() // a second signal then ends the command at once
		time.AfterFunc(patience, endLate)
	})
	return ctx, func() {
		ignore() // stop cancels the context too, and a command that has ended is not late
		stop()
	}
}

// endSignals returns the signals that end a command. A hangup does not, if it is ignored: nohup does that.
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// patience is the time in which a command must end after a signal. Most loops check their context, and end at once.
// Parsing and planning are pure computation, and do not check it everywhere.
const patience = 2 * time.Second

// finishesRequests is true while a server runs: it has its own limit for requests that run.
var finishesRequests atomic.Bool

// endLate ends a command that did not end after a signal. That is as safe as a loss of power: a manifest or an export
// appears only when it is complete.
func endLate() {
	if !finishesRequests.Load() {
		fmt.Fprintln(os.Stderr, "varve: interrupted")
		os.Exit(exitInterrupted)
	}
}

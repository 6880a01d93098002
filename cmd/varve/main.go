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
	"syscall"
)

func main() {
	tuneMemory()
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
		return "interrupted: " + errorText(err)
	}
	return errorText(err)
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

// Command varve combines the files of an archive into one Zarr dataset, without copying them.
//
// Each subcommand has a file of its own, with a constructor that declares the flags and a run
// function that calls the library.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"varve/manifest/engine"
	"varve/manifest/repo"
)

func main() {
	tuneMemory()
	ctx, stop := interruptible()
	err := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	interrupted := ctx.Err() != nil
	stop()
	os.Exit(exitCode(err, interrupted))
}

// errorPrefix begins the first line of an error.
const errorPrefix = "varve:"

// execute runs the command that args name, and prints its error.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	out := &results{to: stdout}
	shown, messages := &shownWriter{to: out}, &shownWriter{to: stderr, hasColour: obeysColour(stderr)}
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(shown)
	root.SetErr(messages)
	err := cmp.Or(root.ExecuteContext(ctx), shown.finish(), out.err)
	if err != nil {
		fmt.Fprintln(messages, errorPrefix, indented(failureText(err)))
		if os.Getenv(eventsVariable) == "events" {
			fmt.Fprintln(messages, "failed", engine.ErrorCode(err))
		}
	}
	// What standard error refuses cannot be shown anywhere.
	_ = messages.finish()
	return err
}

// failureText returns the text of the error of a command.
func failureText(err error) string {
	var conflict *repo.ConflictError
	switch {
	case err == context.Canceled:
		return "interrupted"
	case errors.Is(err, context.Canceled):
		return "interrupted: " + errorText(err)
	case errors.As(err, &conflict) && conflict.Parent == "":
		return errorText(err) + ". Run varve append, or varve build --force"
	}
	return errorText(err)
}

// results is standard output, and keeps the first error. A command that ignores such an error has
// failed nevertheless, because its results are lost.
type results struct {
	to  io.Writer
	err error
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	r.err = cmp.Or(r.err, err)
	return n, err
}

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

	"varve/manifest/repo"
)

func main() {
	tuneMemory()
	ctx, stop := interruptible()
	root, out := newRootCommand(), &results{to: os.Stdout}
	root.SetOut(out)
	err := cmp.Or(root.ExecuteContext(ctx), out.err)
	interrupted := ctx.Err() != nil
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "varve:", failureText(err))
	}
	os.Exit(exitCode(err, interrupted))
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

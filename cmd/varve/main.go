// Command varve makes one Zarr out of every file of an archive, without copying it.
//
// Each subcommand has a file of its own: a constructor that declares its flags, and
// a run function that does the work with what the library packages offer.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	err := newRootCommand().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "varve:", err)
	}
	os.Exit(exitCode(err, interrupted))
}

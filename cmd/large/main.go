// Command large measures what varve costs over archives of very many files, and prints the tables of
// docs/planning.md, "Large archives".
//
//	make large                                        some minutes, and 3 GB of files of a block each
//	make large FILES=10000 OWN=5000 APPENDS=100
//
// Of fewer than some thousands of OWN the memory is the collector's more than the files'.
//
// The archives are made up in a temporary folder, which TMPDIR chooses, and removed. Commands are processes of
// their own, whose time and memory the system counts; files are in the system's cache.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

// bench is where things are, and how many.
type bench struct {
	varve, dir        string
	files, own, grows int
}

func main() {
	var b bench
	flag.StringVar(&b.varve, "varve", "varve", "the command")
	flag.IntVar(&b.files, "files", 350_400, "files of the archive")
	flag.IntVar(&b.own, "own", 20_000, "files with headers of their own")
	flag.IntVar(&b.grows, "appends", 10_000, "files that are appended one by one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "large:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.varve, err = filepath.Abs(b.varve); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "varve-large-"); err != nil {
		return err
	}
	defer func() {
		if failed := os.RemoveAll(b.dir); err == nil {
			err = failed
		}
	}()
	for _, table := range []func(context.Context) error{b.commands, b.headers, b.appends} {
		if err := table(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Command large measures the time and memory of varve's commands on archives of very many files. It prints
// the tables of docs/explanation/scale.md.
//
//	make large                                        takes some minutes and 3 GB of disk
//	make large FILES=10000 OWN=5000 APPENDS=100
//	go run ./cmd/large -varve ./varve -table differences -different 1000,10000 -plot plot.svg
//	go run ./cmd/large -varve ./varve -table refs -refs 1000000000     an hour, and 10 GB of disk
//
// With OWN below some thousands, the memory per file is not meaningful: garbage dominates it.
//
// The archives are written to a temporary folder (below TMPDIR if it is set), which is removed at the end.
// Each command runs as a process of its own, and the operating system reports its time and memory. The
// files are in the system's cache.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

// bench holds the options of a run.
type bench struct {
	varve string // path of the command
	dir   string // temporary folder
	files int    // number of files of the archive that most commands read
	own   int    // number of files with distinct headers
	grows int    // number of files that are appended one by one

	refs int // number of refs of the archive with very many

	plot string // name of a plot of the archives whose files all differ, or ""

	different []int // numbers of files of the archives whose files all differ
}

func main() {
	var b bench
	flag.StringVar(&b.varve, "varve", "varve", "path of the varve command")
	flag.IntVar(&b.files, "files", 350_400, "number of files of the archive")
	flag.IntVar(&b.own, "own", 20_000, "number of files that each have their own header")
	flag.IntVar(&b.grows, "appends", 10_000, "number of files to append one by one")
	b.different = []int{1000, 3000, 10_000} // the default of -different
	flag.Func("different", "numbers of files of archives whose files all differ (default 1000,3000,10000)", func(text string) (err error) {
		b.different, err = numbersIn(text)
		return err
	})
	flag.IntVar(&b.refs, "refs", 10_000_000, "number of refs of the archive of granules")
	flag.StringVar(&b.plot, "plot", "", "write the table differences also to this file, as a plot in SVG")
	table := flag.String("table", "", "print only this table: commands, headers, appends, differences or refs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx, *table); err != nil {
		fmt.Fprintln(os.Stderr, "large:", err)
		os.Exit(1)
	}
}

// numbersIn parses numbers that commas separate.
func numbersIn(text string) (numbers []int, err error) {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of files", word)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// run prints the table with this name, or all tables if the name is empty.
func (b *bench) run(ctx context.Context, only string) (err error) {
	if b.varve, err = filepath.Abs(b.varve); err != nil {
		return err
	}
	// The archives stay on disk only as long as the run: they can take gigabytes.
	if b.dir, err = os.MkdirTemp("", "varve-large-"); err != nil {
		return err
	}
	defer func() {
		if failed := os.RemoveAll(b.dir); err == nil {
			err = failed
		}
	}()
	isKnown := false
	for _, table := range []struct {
		name  string
		print func(context.Context) error
	}{{"commands", b.commands}, {"headers", b.headers}, {"appends", b.appends}, {"differences", b.differences}, {"refs", b.refTable}} {
		if only != "" && only != table.name {
			continue
		}
		isKnown = true
		if err := table.print(ctx); err != nil {
			return err
		}
	}
	if !isKnown {
		return fmt.Errorf("there is no table %q", only)
	}
	return nil
}

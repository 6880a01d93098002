// Release makes the files of a release in a folder: archives with the command for each system, Debian and RPM
// packages, lists of their modules, a conda recipe, a container file and checksums. It publishes nothing. Two runs
// for one commit with one version of Go write equal bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	out := flag.String("out", "dist/release", "write to this `folder`, and replace it")
	only := flag.String("targets", "", "make archives for these `GOOS/GOARCH` only, separated by spaces (default all)")
	url := flag.String("url", "", "the archives will be published below this `URL`; the conda recipe and install.sh download them from there (default the folder)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *only, *url); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, out, only, url string) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument", flag.Arg(0))
	}
	targets, err := parseTargets(only)
	if err != nil {
		return err
	}
	info, err := describe(ctx, ".")
	if err != nil {
		return err
	}
	b, err := newBuilder(".", info)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.release(ctx, out, targets, url); err != nil {
		return err
	}
	fmt.Printf("%s: varve %s for %d systems\n", out, info.version, len(targets))
	return nil
}

// target is a system to build for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

var allTargets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// parseTargets returns the targets of a list such as "linux/amd64 windows/arm64", or all if it is empty.
func parseTargets(list string) ([]target, error) {
	names := strings.Fields(list)
	if len(names) == 0 {
		return allTargets, nil
	}
	var targets []target
	for _, t := range allTargets {
		for _, name := range names {
			if name == t.String() {
				targets = append(targets, t)
				break
			}
		}
	}
	if len(targets) != len(names) {
		return nil, fmt.Errorf("-targets %s: each may be given once and must be one of %v", list, allTargets)
	}
	return targets, nil
}

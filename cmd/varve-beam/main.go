// Command varve-beam scans an archive on a cluster, by way of Apache Beam. It is a module of its own, so
// that varve does not depend on Beam.
//
//	driver     sources ── names of files, in slices ─┐
//	workers                                          ├─ slice ── build.Scan ── part ─┐
//	                                                 └─ slice ── build.Scan ── part ─┴─ report
//	driver                                                    names of the parts, in order ──┘
//
// A worker does with a slice what "varve scan" does with its arguments, by the same call. No more than
// names and numbers goes through Beam: parts go from the workers to the place that all of them reach.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"varve/manifest"
	"varve/manifest/build"
	"varve/readers/source"
)

const help = `varve-beam scans an archive on a cluster, by way of Apache Beam.

  varve-beam --parts PLACE [options] SRC...
  varve-beam --parts PLACE [options] SRC... | varve build OUT @-

SRC is what "varve scan" takes: a path, a folder, a glob, a URL, @LIST (a file with one source a
line, @- for standard input). The driver, which is this command, looks up once which files these
are. They are cut into slices of --files sources; each slice is scanned by a worker, as "varve
scan" would, into a part in PLACE: a folder that all workers and the driver see under one path, or
a prefix in an object store (s3://, gs://, az://), whose credentials the workers have to have. The
same is true of the sources. What is printed are the names of the parts, in the order of the
sources, one a line: "varve build", "check" and "append" take them.

A part's name follows from its sources and from the options below, and it is there whole or not at
all: slices that a runner tries again, or twice at a time, do no harm, nor does the same command
once more. Parts of earlier runs stay in PLACE; only those that are printed are of this one.

A file that cannot be read is named, and fails the job when all others were looked at. A file that
a worker cannot get at (not there, no rights, no network) fails its slice, which the runner then
tries again as it is set up to.

Options go before SRC:

  --parts PLACE        where the parts go
  --files N            sources a part (1000)
  --match GLOB         of the files in folders, only those whose names match
  --skip-broken        leave out files that cannot be read, for whatever reason, and say which
  --drop GLOB          do without variables that are damaged and match, as in "varve scan --help"; may be repeated
  --workers N          files that are read at once for a slice (as many as a worker has processors)
  --value-bytes N      as in "varve scan --help" (16777216)
  --allow FOLDER       files may name others below this folder, besides their own; may be repeated
  --download           fetch files whole from servers that send no ranges

Beam's own options say where the job runs:

  --runner NAME        prism (in this process, the default), flink, spark, dataflow, universal
  --endpoint HOST:PORT the job server
  --environment_type T LOOPBACK (workers in this process), DOCKER, PROCESS, EXTERNAL
  --environment_config the image, the command or the address of the workers
  --worker_binary FILE what runs on them; on Linux this program, elsewhere one that is built for Linux
  --beam_options       list all options of Beam and its runners, and end

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
`

// options are those of the command.
type options struct {
	parts      string
	files      int
	match      string
	skipBroken bool
	workers    int
	valueBytes int64
	allow      texts
	drop       texts
	download   bool
	help, list bool
}

// texts is a flag that may be repeated.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ",") }

func (t *texts) Set(s string) error {
	*t = append(*t, s)
	return nil
}

// addFlags declares the options beside those that Beam has declared.
func (o *options) addFlags(f *flag.FlagSet) {
	f.StringVar(&o.parts, "parts", "", "where the parts go")
	f.IntVar(&o.files, "files", 1000, "sources a part")
	f.StringVar(&o.match, "match", "", "of the files in folders, only those whose names match")
	f.BoolVar(&o.skipBroken, "skip-broken", false, "leave out files that cannot be read")
	f.IntVar(&o.workers, "workers", 0, "files that are read at once for a slice")
	f.Int64Var(&o.valueBytes, "value-bytes", manifest.DefaultValueBytes, "as in varve scan")
	f.Var(&o.allow, "allow", "files may name others below this folder")
	f.Var(&o.drop, "drop", "do without variables that are damaged and match")
	f.BoolVar(&o.download, "download", false, "fetch files whole from servers that send no ranges")
	f.BoolVar(&o.help, "help", false, "say how the command is used")
	f.BoolVar(&o.list, "beam_options", false, "list all options")
}

// usageError is an error in the way that the command was called.
type usageError struct{ error }

// check refuses options that make no sense, and makes paths absolute: workers have other folders.
func (o *options) check(args []string) (err error) {
	switch {
	case o.parts == "":
		err = errors.New("where to? name the place of the parts with --parts PLACE")
	case len(args) == 0:
		err = errors.New("no sources are given")
	case o.files < 1:
		err = fmt.Errorf("--files %d: want at least 1", o.files)
	case o.valueBytes < 1:
		err = fmt.Errorf("--value-bytes %d: want at least 1", o.valueBytes)
	case *jobopts.Async:
		err = errors.New("--async: who starts the job has to wait for it, to say what became of it")
	case source.IsURL(o.parts) && !source.IsObject(o.parts):
		err = fmt.Errorf("--parts %s: want a folder, or a prefix in an object store", o.parts)
	}
	if _, bad := path.Match(o.match, ""); bad != nil {
		err = cmp.Or(err, fmt.Errorf("--match %s: no glob, such as *.nc: %w", o.match, bad))
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			err = cmp.Or(err, fmt.Errorf("%s: options go before the sources (a file of that name is ./%s)", arg, arg))
		}
	}
	o.parts = absolute(o.parts)
	for i := range o.allow {
		o.allow[i] = absolute(o.allow[i])
	}
	for _, name := range append([]string{o.parts}, o.allow...) {
		if !utf8.ValidString(name) { // which goes to the workers as JSON
			err = cmp.Or(err, fmt.Errorf("%q is no UTF-8: choose another place", name))
		}
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

func absolute(name string) string {
	if path, err := filepath.Abs(name); err == nil && !source.IsURL(name) {
		return path
	}
	return strings.TrimRight(name, "/")
}

// stageSelf has this program be what goes to workers elsewhere. Beam would call a Go compiler.
func stageSelf() (err error) {
	if *jobopts.WorkerBinary == "" && *runners.Runner != "" && !jobopts.IsLoopback() && runtime.GOOS == "linux" {
		*jobopts.WorkerBinary, err = os.Executable()
	}
	return err
}

func main() {
	var opts options
	opts.addFlags(flag.CommandLine)
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "see varve-beam --help") }
	flag.Parse()
	beam.Init() // does not return in a worker
	switch {
	case opts.help:
		fmt.Print(help)
		return
	case opts.list:
		flag.CommandLine.SetOutput(os.Stdout)
		flag.PrintDefaults()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, &opts, flag.Args(), os.Stdout, os.Stderr)
	interrupted := ctx.Err() != nil
	stop()
	os.Exit(exitCode(err, interrupted))
}

func exitCode(err error, interrupted bool) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case interrupted:
		fmt.Fprintln(os.Stderr, "varve-beam: interrupted")
		return 130
	}
	fmt.Fprintln(os.Stderr, "varve-beam:", err)
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

// run scans sources, and prints the names of the parts.
func run(ctx context.Context, opts *options, args []string, out, messages io.Writer) error {
	if err := opts.check(args); err != nil {
		return err
	}
	sources := build.Sources{Names: args, Match: opts.match, Stdin: os.Stdin}
	names, err := sources.Expand(ctx)
	if err != nil {
		return err
	}
	job, err := newJob(ctx, opts, names)
	if err != nil {
		return err
	}
	if err := stageSelf(); err != nil {
		return err
	}
	p, scope := beam.NewPipelineWithRoot()
	job.pipeline(scope)
	_, failed := beamx.RunWithMetrics(ctx, p)
	report, err := job.end(ctx)
	if err != nil { // there is none if the job failed before
		return cmp.Or(failed, err)
	}
	if err := report.failed(opts.skipBroken); err != nil { // as the runner says among much else
		return err
	}
	if failed != nil {
		return failed
	}
	if err := report.text(messages, len(report.Broken)); err != nil {
		return err
	}
	for _, part := range report.Parts {
		if _, err := fmt.Fprintln(out, part); err != nil {
			return err
		}
	}
	return nil
}

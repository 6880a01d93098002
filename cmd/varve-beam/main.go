// Command varve-beam scans an archive on a cluster with Apache Beam. It is a separate Go module, so that
// varve does not depend on Beam.
//
//	driver     sources ── names of files, in slices ─┐
//	workers                                          ├─ slice ── ingest.Scan ── part ─┐
//	                                                 └─ slice ── ingest.Scan ── part ─┴─ report
//	driver                                                    names of the parts, in order ──┘
//
// A worker scans a slice with the same function as "varve scan". Beam only carries names and numbers:
// workers write the scan parts to a folder or prefix that all of them can reach.
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
	"varve/manifest/ingest"
	"varve/readers/source"
)

const help = `varve-beam scans an archive on a cluster with Apache Beam.

  varve-beam --parts PLACE [options] SRC...
  varve-beam --parts PLACE [options] SRC... | varve build OUT @-

SRC is a path, a folder, a glob, a URL or @LIST (a file with one source per line; @- reads standard
input), as for "varve scan". This command (the driver) lists the files once and cuts the list into
slices of --files sources. Workers scan each slice, as "varve scan" would, and write one scan part
to PLACE. PLACE is a folder that all workers and the driver see under one path, or a prefix in an
object store (s3://, gs://, az://). Workers need the credentials for PLACE and for the sources.
The command prints the names of the parts in the order of the sources, one per line; pass them to
"varve build", "check" or "append".

The name of a part depends only on its sources and on the options below, and a part is written
completely or not at all. So a runner may scan a slice twice, and you may run the same command
again. Parts of earlier runs stay in PLACE; this command prints only the parts of this run.

A damaged file is listed, and fails the job after all other files were scanned. A file that a
worker cannot open (missing, no permission, no network) fails its slice, and the runner tries the
slice again as it is configured to.

Options go before SRC:

  --parts PLACE        write the parts to PLACE
  --files N            put N sources into each part (1000)
  --match GLOB         in folders, take only files whose names match
  --skip-broken        leave out files that cannot be read, for any reason, and list them
  --drop GLOB          leave out damaged variables whose names match, see "varve scan --help"; repeatable
  --workers N          read N files of a slice at once (default: its processors; from servers: 64)
  --value-bytes N      see "varve scan --help" (16777216)
  --allow FOLDER       files may refer to files below FOLDER, besides their own folder; repeatable
  --download           download whole files from servers that do not send byte ranges

Options of Beam choose where the job runs:

  --runner NAME        prism (in this process, the default), flink, spark, dataflow, universal
  --endpoint HOST:PORT connect to this job server
  --environment_type T LOOPBACK (workers in this process), DOCKER, PROCESS, EXTERNAL
  --environment_config the image, the command or the address of the workers
  --worker_binary FILE run FILE on workers (default on Linux: this program; elsewhere: build one for Linux)
  --beam_options       list all options of Beam and its runners

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
`

// options are the command's own options, without the options of Beam.
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

// texts is the value of a flag that may be repeated.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ",") }

func (t *texts) Set(s string) error {
	*t = append(*t, s)
	return nil
}

// addFlags declares the options in f, where Beam has declared its own.
func (o *options) addFlags(f *flag.FlagSet) {
	f.StringVar(&o.parts, "parts", "", "write the parts to this folder or prefix")
	f.IntVar(&o.files, "files", 1000, "number of sources in each part")
	f.StringVar(&o.match, "match", "", "in folders and archives, take only files whose names match")
	f.BoolVar(&o.skipBroken, "skip-broken", false, "leave out files that cannot be read")
	f.IntVar(&o.workers, "workers", 0, "number of files of a slice to read at once")
	f.Int64Var(&o.valueBytes, "value-bytes", manifest.DefaultValueBytes, "see varve scan")
	f.Var(&o.allow, "allow", "files may refer to files below this folder")
	f.Var(&o.drop, "drop", "leave out damaged variables whose names match")
	f.BoolVar(&o.download, "download", false, "download whole files from servers that do not send byte ranges")
	f.BoolVar(&o.help, "help", false, "print help")
	f.BoolVar(&o.list, "beam_options", false, "list all options")
}

// usageError marks an error in the command's arguments. It makes the exit code 2.
type usageError struct{ error }

// check returns a usageError for invalid options. It makes the paths in o absolute, because workers
// have other working directories.
func (o *options) check(args []string) (err error) {
	switch {
	case o.parts == "":
		err = errors.New("no place for the parts is given; add --parts PLACE")
	case len(args) == 0:
		err = errors.New("no sources are given; add files, folders, globs, URLs or @LIST after the options")
	case o.files < 1:
		err = fmt.Errorf("--files %d: must be at least 1", o.files)
	case o.valueBytes < 1:
		err = fmt.Errorf("--value-bytes %d: must be at least 1", o.valueBytes)
	case *jobopts.Async:
		err = errors.New("--async: the driver must wait for the job to report its result; leave out --async")
	case source.IsURL(o.parts) && !source.IsObject(o.parts):
		err = fmt.Errorf("--parts %s: must be a folder, or a prefix in an object store (s3://, gs://, az://)", o.parts)
	}
	if _, bad := path.Match(o.match, ""); bad != nil {
		err = cmp.Or(err, fmt.Errorf("--match %s: not a valid glob (a valid one: *.nc): %w", o.match, bad))
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			err = cmp.Or(err, fmt.Errorf("%s: options must come before the sources; write ./%s for a file of that name", arg, arg))
		}
	}
	o.parts = absolute(o.parts)
	for i := range o.allow {
		o.allow[i] = absolute(o.allow[i])
	}
	for _, name := range append([]string{o.parts}, o.allow...) {
		if !utf8.ValidString(name) { // workers get it as JSON, which holds only UTF-8
			err = cmp.Or(err, fmt.Errorf("%q: the name is not valid UTF-8; choose another folder", name))
		}
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

// absolute returns the absolute path of a folder, or a URL without a trailing slash.
func absolute(name string) string {
	if path, err := filepath.Abs(name); err == nil && !source.IsURL(name) {
		return path
	}
	return strings.TrimRight(name, "/")
}

// stageSelf makes Beam send this program to remote workers. Otherwise Beam would compile one,
// for which it needs the Go toolchain and the sources.
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

// run scans the sources in args and prints the names of the parts to out.
func run(ctx context.Context, opts *options, args []string, out, messages io.Writer) error {
	if err := opts.check(args); err != nil {
		return err
	}
	sources := ingest.Sources{Names: args, Match: opts.match, Stdin: os.Stdin}
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
	if err != nil { // a job that failed early leaves no report: its own error says more
		return cmp.Or(failed, err)
	}
	// The runner's error contains the same text between many lines of its own.
	if err := report.failed(opts.skipBroken); err != nil {
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

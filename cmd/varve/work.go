package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/scan"
	"varve/manifest/store"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

func newWorkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "work STEP",
		Short: "Work with many machines, by any engine that can run commands",
		Long: `Divide a command among machines. "varve work plan" writes slices of it, one a line. "varve work run"
does slices, on any machine and in any order: each result is one file. "varve work finish" completes
the command with the results. Each step can be repeated: it does what is left to do.
docs/how-to/clusters.md has commands for GNU parallel, SLURM, Spark and Flink.

build and append are divided by files. verify, compact and export zarr are divided by chunks.`,
		Example: `  varve work plan -o slices.jsonl build sst.varve archive/`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown step %q.%s See varve work --help", args[0], plan.DidYouMean(args[0], commandNames(c)))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(newWorkPlanCommand(), newWorkRunCommand(), newWorkFinishCommand())
	for _, c := range cmd.Commands() {
		checkArgs(c)
	}
	return cmd
}

// workSlice is one line of a file of slices, with everything that a worker needs for it.
type workSlice struct {
	Work    string   `json:"work"` // the same in all slices of a command
	Version string   `json:"version"`
	Number  int      `json:"number"`
	Of      int      `json:"of"`
	Command []string `json:"command"`           // the divided command with its arguments, without sources
	Scan    []string `json:"scan,omitempty"`    // the flags of the scan of build and append
	Sources []string `json:"sources,omitempty"` // of the scan
	Part    string   `json:"part"`              // the file of the result: a scan part, or a workResult
}

// isScan reports whether the slice is of a command that scans sources.
func (s *workSlice) isScan() bool { return len(s.Sources) > 0 }

// workPlanOptions are the flags of work plan.
type workPlanOptions struct {
	resultOptions
	out, parts    string
	files, slices int
}

func newWorkPlanCommand() *cobra.Command {
	opts := workPlanOptions{files: 1000, slices: 16}
	cmd := &cobra.Command{
		Use:   "plan -o SLICES.jsonl COMMAND...",
		Short: "Divide a command into slices",
		Long: `Write slices of a command to SLICES.jsonl: of build or append, of verify, of compact or of export zarr. Flags
of the command follow its name. For build and append, the files are listed once, and --files of them are
a slice. The others are divided into --slices parts.

All machines must see the files, the manifest and the folder of the results under the same names. Equal
files and flags make equal slices. Slices hold no passwords or signatures: give workers credentials by
an access file or by their environment.`,
		Example: `  varve work plan -o slices.jsonl build sst.varve archive/ --match '*.nc'
  varve work plan -o slices.jsonl --slices 100 verify sst.varve --deep`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runWorkPlan(cmd, &opts, args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	opts.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&opts.out, "output", "o", "", "write the slices to this `file`")
	cmd.Flags().StringVar(&opts.parts, "parts", "", "write results to this `folder`, or scan parts to this prefix (default: SLICES.parts beside the slices)")
	addNumber(cmd.Flags(), &opts.files, 1, "files", "put this `number` of files into each slice of build and append (default 1000)")
	addNumber(cmd.Flags(), &opts.slices, 1, "slices", "make this `number` of slices of other commands (default 16)")
	return cmd
}

func runWorkPlan(cmd *cobra.Command, opts *workPlanOptions, args []string) error {
	if opts.out == "" {
		return usageError{errors.New("want -o SLICES.jsonl, the file of slices to write")}
	}
	if err := checkNoData(cmd.Context(), opts.out); err != nil {
		return err
	}
	if opts.parts == "" {
		opts.parts = strings.TrimSuffix(opts.out, filepath.Ext(opts.out)) + ".parts"
	}
	opts.parts = strings.TrimSuffix(scan.URLOf(opts.parts), "/")
	all, err := opts.divide(cmd, args)
	if err != nil {
		return err
	}
	digest := sha256.New()
	fmt.Fprintf(digest, "%s %q %s %d\n", versionName(), all[0].Command, opts.parts, len(all))
	sources := 0
	for _, s := range all {
		fmt.Fprintf(digest, "%s %q\n", s.Part, s.Scan)
		sources += len(s.Sources)
	}
	work := fmt.Sprintf("%x", digest.Sum(nil)[:8])
	if !source.IsURL(opts.parts) {
		if err := os.MkdirAll(opts.parts, 0o777); err != nil {
			return err
		}
	}
	err = atomicfile.Write(opts.out, atomicfile.Durable, func(f *os.File) error {
		to := bufio.NewWriter(f)
		lines := json.NewEncoder(to)
		lines.SetEscapeHTML(false)
		for i, s := range all {
			s.Work, s.Version, s.Number, s.Of = work, versionName(), i, len(all)
			if s.Part == "" {
				s.Part = fmt.Sprintf("%s/%s-%05d.json", opts.parts, work, i)
			}
			if err := lines.Encode(s); err != nil {
				return err
			}
		}
		return to.Flush()
	})
	if err != nil {
		return err
	}
	doc := struct {
		Slices  int `json:"slices"`
		Sources int `json:"sources"`
	}{len(all), sources}
	text := fmt.Sprintf("%s: %s", opts.out, plural(int64(len(all)), "slice", "slices"))
	if sources > 0 {
		text += " of " + plural(int64(sources), "source", "sources")
	}
	return opts.print(cmd.OutOrStdout(), doc, text+"\n")
}

// divide parses a command, and returns its slices.
func (o *workPlanOptions) divide(cmd *cobra.Command, args []string) ([]*workSlice, error) {
	switch {
	case args[0] == "build":
		return o.divideScan(cmd, newBuildCommand(), "build", args[1:])
	case args[0] == "append":
		return o.divideScan(cmd, newAppendCommand(), "append", args[1:])
	case args[0] == "verify":
		return o.divideChunks(cmd, newVerifyCommand(), []string{"verify"}, args[1:])
	case args[0] == "compact":
		return o.divideChunks(cmd, newCompactCommand(), []string{"compact"}, args[1:])
	case args[0] == "export" && args[1] == "zarr":
		return o.divideChunks(cmd, newExportZarrCommand(), []string{"export", "zarr"}, args[2:])
	}
	return nil, usageError{fmt.Errorf("work plan: cannot divide the command %q; only build, append, verify, compact and export zarr", args[0])}
}

// divideScan divides the sources of build or append.
func (o *workPlanOptions) divideScan(cmd, divided *cobra.Command, name string, args []string) (all []*workSlice, err error) {
	of, err := plannedScan(cmd, divided, args)
	if err != nil {
		return nil, err
	}
	cut, err := ingest.Cut(of.names, o.files, fmt.Sprintf("%q\n", of.scan), of.keepQuery...)
	if err != nil {
		return nil, err
	}
	for _, s := range cut {
		all = append(all, &workSlice{Command: append([]string{name}, of.flags...), Scan: of.scan, Sources: s.Names, Part: o.parts + "/" + s.Part})
	}
	return all, nil
}

// ofSlices are the flags that the slices of other commands have themselves.
var ofSlices = []string{"slice", "quiet", "json"}

// divideChunks divides a command that has the flag --slice.
func (o *workPlanOptions) divideChunks(cmd, divided *cobra.Command, name, args []string) (all []*workSlice, err error) {
	if source.IsURL(o.parts) {
		return nil, usageError{fmt.Errorf("--parts %s: only scan parts can be stored there; give a folder that all machines share", source.Shown(o.parts))}
	}
	if err := divided.ParseFlags(args); err != nil {
		return nil, usageError{err}
	}
	rest := divided.Flags().Args()
	err = divided.Args(divided, rest)
	if err == nil {
		err = divided.ValidateFlagGroups()
	}
	if err == nil && (divided.Flags().Changed("sample") || divided.Flags().Changed("append") || divided.Flags().Changed("force")) {
		err = errors.New("--sample, --append and --force are not divided; run the command itself")
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("work plan %s: %w", strings.Join(name, " "), err)}
	}
	command := append(slices.Clone(name), workArguments(divided, ofSlices)...)
	if flag := divided.Flags().Lookup("snapshot"); flag != nil && !flag.Changed {
		now, err := loadSnapshot(cmd.Context(), rest[0])
		if err != nil {
			return nil, err
		}
		command = append(command, "--snapshot="+now.ID) // a change meanwhile must not mix snapshots
	}
	command = append(command, "--")
	for _, place := range rest {
		command = append(command, scan.URLOf(place))
	}
	for range o.slices {
		all = append(all, &workSlice{Command: command})
	}
	return all, nil
}

// workArguments returns the arguments of the changed flags of a command, without some.
func workArguments(cmd *cobra.Command, without []string) (args []string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(without, flag.Name) {
			args = append(args, flagArguments(flag)...)
		}
	})
	return args
}

// plannedCommand is a build or append that is divided: its sources, its flags, and those of the scans.
type plannedCommand struct{ names, flags, scan, keepQuery []string }

// ofPlan are the flags of a build that the plan applies, so that neither workers nor the build may apply them again.
var ofPlan = []string{"match", "from", "asset", "config", "quiet", "json"}

// secretFlags are the flags whose values may be secret.
var secretFlags = []string{"header"}

// isPathFlag reports whether the values of a flag are paths or URLs.
func isPathFlag(name string) bool {
	return slices.Contains([]string{"allow", "codec-from", "access", "bearer-file", "keep-scan"}, name) ||
		slices.ContainsFunc(formats.Options(), func(o readers.Option) bool { return o.Name == name && o.Kind == readers.OptionFiles })
}

// plannedScan parses the arguments of build or append, and lists the sources.
func plannedScan(cmd, divided *cobra.Command, args []string) (*plannedCommand, error) {
	if err := divided.ParseFlags(args); err != nil {
		return nil, usageError{err}
	}
	f := divided.Flags()
	rest := f.Args()
	if err := divided.Args(divided, rest); err != nil {
		return nil, usageError{fmt.Errorf("work plan %s: %w", divided.Name(), err)}
	}
	opts := combineOptions{config: f.Lookup("config").Value.String()}
	if err := opts.takeConfig(divided); err != nil {
		return nil, err
	}
	if err := useAccess(divided); err != nil {
		return nil, err
	}
	for _, name := range secretFlags {
		if f.Changed(name) {
			return nil, usageError{fmt.Errorf("--%s may hold a secret, which slices do not keep: use an access file", name)}
		}
	}
	scans := newScanCommand()
	out := &plannedCommand{flags: workArguments(divided, ofPlan)}
	f.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(ofPlan, flag.Name) && scans.Flags().Lookup(flag.Name) != nil {
			out.scan = append(out.scan, flagArguments(flag)...)
		}
	})
	out.flags = append(out.flags, "--", scan.URLOf(rest[0]))
	sources := ingest.Sources{
		Names: rest[1:], Match: f.Lookup("match").Value.String(), Asset: f.Lookup("asset").Value.String(), Stdin: cmd.InOrStdin(),
		Searches: f.Lookup("from").Value.(pflag.SliceValue).GetSlice(),
	}
	names, err := sources.Expand(cmd.Context())
	if err != nil {
		return nil, interrupted(cmd.Context(), err)
	}
	out.names, out.keepQuery = names, f.Lookup("keep-query").Value.(pflag.SliceValue).GetSlice()
	return out, nil
}

// flagArguments returns the arguments that give a flag its value. Paths become absolute, since workers have other folders.
func flagArguments(flag *pflag.Flag) (args []string) {
	values := []string{flag.Value.String()}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	for _, value := range values {
		if isPathFlag(flag.Name) {
			value = scan.URLOf(value)
		}
		if flag.Value.Type() == "stringSlice" && strings.ContainsAny(value, ",\"\n") {
			value = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
		}
		args = append(args, "--"+flag.Name+"="+value)
	}
	return args
}

func newWorkRunCommand() *cobra.Command {
	var opts resultOptions
	cmd := &cobra.Command{
		Use:   "run SLICES.jsonl [NUMBER...]",
		Short: "Do slices of a command",
		Long: `Do the slices with these numbers, which begin at 0, or all slices of the file. With - in place of the file,
slices are read from standard input. A slice that has a result is not done again. A result appears
when it is complete, so workers may be killed, and two may run the same slice.`,
		Example: `  varve work run slices.jsonl 0
  head -n 3 slices.jsonl | varve work run -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runWorkRun(cmd, &opts, args[0], args[1:])
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runWorkRun(cmd *cobra.Command, opts *resultOptions, name string, numbers []string) error {
	all, err := readSlices(name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	todo := all
	if len(numbers) > 0 {
		todo = nil
	}
	for _, text := range numbers {
		n, err := strconv.Atoi(text)
		at := slices.IndexFunc(all, func(s *workSlice) bool { return s.Number == n })
		if err != nil || at < 0 {
			return usageError{fmt.Errorf("%s has no slice %q; its slices are 0 to %d", name, text, all[0].Of-1)}
		}
		todo = append(todo, all[at])
	}
	done := items[string]{}
	var failed error
	for _, s := range todo {
		if err := s.run(cmd, opts.quiet); err != nil {
			if cmd.Context().Err() != nil {
				return interrupted(cmd.Context(), err)
			}
			// The other slices are scanned nevertheless, so that all broken files are known after one run.
			failed = errors.Join(failed, fmt.Errorf("slice %d: %w", s.Number, err))
			continue
		}
		done = append(done, s.Part)
	}
	text := ""
	for _, part := range done {
		text += part + "\n"
	}
	return errors.Join(opts.print(cmd.OutOrStdout(), struct {
		Parts items[string] `json:"parts"`
	}{done}, text), failed)
}

// run does a slice unless it has its result.
func (s *workSlice) run(cmd *cobra.Command, quiet bool) error {
	if err := s.checkVersion(); err != nil {
		return err
	}
	if s.check(cmd.Context()) == nil {
		return nil
	}
	var quietly []string
	if quiet {
		quietly = []string{"--quiet"}
	}
	if s.isScan() {
		args := slices.Concat([]string{"scan", "--output=" + s.Part}, s.Scan, quietly)
		return within(cmd, io.Discard, slices.Concat(args, []string{"--"}, s.Sources))
	}
	var result bytes.Buffer
	own := append([]string{fmt.Sprintf("--slice=%d/%d", s.Number, s.Of), "--json"}, quietly...)
	err := within(cmd, &result, s.withFlags(own))
	found := workResult{Work: s.Work, Number: s.Number, Result: result.Bytes()}
	if err != nil {
		// A verification that found problems is complete: they are its result.
		if found.problems() == nil || cmd.Context().Err() != nil {
			return err
		}
		found.Code = exitCode(err, false)
	}
	return atomicfile.Write(s.Part, atomicfile.Durable, func(f *os.File) error { return json.NewEncoder(f).Encode(found) })
}

// withFlags returns the arguments of the command with more flags.
func (s *workSlice) withFlags(flags []string) []string {
	at := slices.Index(s.Command, "--")
	return slices.Concat(s.Command[:at], flags, s.Command[at:])
}

// check returns an error unless the slice has its result.
func (s *workSlice) check(ctx context.Context) error {
	if s.isScan() {
		return ingest.CheckPart(ctx, s.Part, s.Sources, nil)
	}
	_, err := s.result()
	return err
}

// workResult is the result of a slice that is no scan.
type workResult struct {
	Work   string          `json:"work"`
	Number int             `json:"number"`
	Code   int             `json:"code"`   // the exit code
	Result json.RawMessage `json:"result"` // what the command prints with --json
}

// result reads the result of a slice that is no scan.
func (s *workSlice) result() (*workResult, error) {
	data, err := os.ReadFile(s.Part)
	if err != nil {
		return nil, err
	}
	found := &workResult{}
	if err := json.Unmarshal(data, found); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Part, err)
	}
	if found.Work != s.Work || found.Number != s.Number {
		return nil, fmt.Errorf("%s is the result of another slice", s.Part)
	}
	return found, nil
}

// problems returns the problems that a verification found.
func (r *workResult) problems() []problemJSON {
	doc := verifiedJSON{}
	if json.Unmarshal(r.Result, &doc) != nil {
		return nil
	}
	return doc.Problems
}

// within runs another command, with the streams of cmd except for its results.
func within(cmd *cobra.Command, results io.Writer, args []string) error {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(results)
	root.SetErr(cmd.ErrOrStderr())
	return root.ExecuteContext(cmd.Context())
}

func (s *workSlice) checkVersion() error {
	if s.Version != versionName() {
		return fmt.Errorf("varve %s planned the work, and this is varve %s: use one version on all machines, or plan again", s.Version, versionName())
	}
	return nil
}

// maxSliceBytes limits the size of a line of a file of slices.
const maxSliceBytes = 64 << 20

// readSlices reads a file of slices. All belong to one build.
func readSlices(name string, stdin io.Reader) (all []*workSlice, err error) {
	in := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxSliceBytes)
	for n := 1; lines.Scan(); n++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		s := &workSlice{}
		if err := json.Unmarshal(lines.Bytes(), s); err != nil {
			return nil, fmt.Errorf("%s: line %d is no slice of varve work plan, or is truncated: %w", name, n, err)
		}
		switch {
		case s.Work == "" || s.Part == "" || !slices.Contains(s.Command, "--") || s.Number < 0 || s.Number >= s.Of:
			return nil, fmt.Errorf("%s: line %d is no slice of varve work plan", name, n)
		case len(all) > 0 && (s.Work != all[0].Work || s.Of != all[0].Of):
			return nil, fmt.Errorf("%s: line %d belongs to other work than the lines before", name, n)
		}
		all = append(all, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: there is no slice", name)
	}
	return all, nil
}

func newWorkFinishCommand() *cobra.Command {
	var opts resultOptions
	cmd := &cobra.Command{
		Use:   "finish SLICES.jsonl",
		Short: "Complete a command with the results of all slices",
		Long: `Check that each slice has its result, and complete the command: build or append from the scan parts, publish
the chunks of compact, complete the copy of export zarr, or report what the slices of verify found.
Slices without a result are listed: run them, and then this command again. Once a manifest has the
result, the command does nothing.`,
		Example: `  varve work finish slices.jsonl`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runWorkFinish(cmd, &opts, args[0])
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runWorkFinish(cmd *cobra.Command, opts *resultOptions, name string) error {
	all, err := readSlices(name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if err := all[0].checkVersion(); err != nil {
		return err
	}
	parts, err := completeParts(cmd.Context(), name, all)
	if err != nil {
		return err
	}
	switch first := all[0]; {
	case first.isScan():
		return finishScan(cmd, opts, all, parts)
	case first.Command[0] == "verify":
		return finishVerify(cmd, opts, all)
	default:
		return within(cmd, cmd.OutOrStdout(), first.withFlags(opts.arguments()))
	}
}

// arguments returns the flags for another command.
func (o *resultOptions) arguments() (args []string) {
	if o.quiet {
		args = append(args, "--quiet")
	}
	if o.json {
		args = append(args, "--json")
	}
	return args
}

// finishScan builds or appends from scan parts. It allows their sources, which the user named for the plan, whoever ran the
// slices.
func finishScan(cmd *cobra.Command, opts *resultOptions, all []*workSlice, parts []string) error {
	first := all[0]
	allow, err := store.FoldersOf(func(yield func(string) bool) {
		for _, s := range all {
			for _, name := range s.Sources {
				if !yield(name) {
					return
				}
			}
		}
	})
	if err != nil {
		return err
	}
	for i := range allow {
		allow[i] = "--allow=" + allow[i]
	}
	out := first.Command[len(first.Command)-1]
	mark := "work " + first.Work
	switch made, err := isFinished(cmd.Context(), out, mark); {
	case err != nil:
		return err
	case made != "":
		doc := struct {
			Snapshot string `json:"snapshot"`
		}{made}
		return opts.print(cmd.OutOrStdout(), doc, fmt.Sprintf("%s: snapshot %s has the result of this work\n", out, made))
	}
	given := slices.Clone(first.Command)
	message := mark
	for i, arg := range given {
		if text, ok := strings.CutPrefix(arg, "--message="); ok {
			message = text + " (" + mark + ")"
			given[i] = "--message=" + message
		}
	}
	args := slices.Concat(given[:1], opts.arguments(), []string{"--message=" + message}, allow, given[1:], parts)
	return within(cmd, cmd.OutOrStdout(), args)
}

// finishVerify reports what the slices of a verification found.
func finishVerify(cmd *cobra.Command, opts *resultOptions, all []*workSlice) error {
	total := verifiedJSON{}
	code := exitDone
	for _, s := range all {
		found, err := s.result()
		if err != nil {
			return err
		}
		one := verifiedJSON{}
		if err := json.Unmarshal(found.Result, &one); err != nil {
			return fmt.Errorf("%s: %w", s.Part, err)
		}
		total.Snapshot, total.Bytes = one.Snapshot, one.Bytes
		total.Sources += one.Sources
		total.Chunks += one.Chunks
		total.Problems = append(total.Problems, one.Problems...)
		total.Secrets = slices.Compact(slices.Sorted(slices.Values(append(total.Secrets, one.Secrets...))))
		code = max(code, found.Code)
	}
	name := all[0].Command[len(all[0].Command)-1]
	text := fmt.Sprintf("%s: %s of tables, %s and %s are unchanged\n", name, report.Size(total.Bytes), plural(total.Sources, "source", "sources"), plural(total.Chunks, "chunk", "chunks"))
	if len(total.Problems) > 0 {
		text = ""
	}
	return errors.Join(opts.print(cmd.OutOrStdout(), total, text), total.err(code))
}

// slicedError has the problems that slices of verify found, and the exit code of verify for them.
type slicedError struct {
	text string
	code int
}

func (e *slicedError) Error() string { return e.text }

// err returns an error with the problems, or nil if there are none.
func (v *verifiedJSON) err(code int) error {
	if len(v.Problems) == 0 {
		return nil
	}
	var texts []string
	for _, p := range v.Problems[:min(len(v.Problems), maxListedProblems)] {
		text := p.Error
		if p.Array != "" {
			text = fmt.Sprintf("%s, chunk %v: %s", p.Array, p.Chunk, text)
		}
		if p.More > 0 {
			text += fmt.Sprintf(" (and %d more chunks)", p.More)
		}
		texts = append(texts, text)
	}
	if more := len(v.Problems) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return &slicedError{strings.Join(texts, "\n"), code}
}

// maxListedProblems limits the problems that an error lists.
const maxListedProblems = 100

// isFinished returns the snapshot of a manifest whose message ends with a mark, or "" if there is none.
func isFinished(ctx context.Context, out, mark string) (id string, err error) {
	repository, err := repo.Open(ctx, out)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, manifest.ErrForeign) {
		return "", nil // the build says why it cannot write there
	}
	if err != nil {
		return "", err
	}
	for entry, err := range repository.Log(ctx) {
		if err != nil {
			return "", errors.Join(err, repository.Close())
		}
		if entry.Message == mark || strings.HasSuffix(entry.Message, " ("+mark+")") {
			id = entry.ID
			break
		}
	}
	return id, repository.Close()
}

// maxListedSlices limits the slices that an error explains.
const maxListedSlices = 20

// completeParts returns the parts of all slices, in order. The error lists the slices that have to be run.
func completeParts(ctx context.Context, name string, all []*workSlice) ([]string, error) {
	byNumber := make([]*workSlice, all[0].Of)
	for _, s := range all {
		if byNumber[s.Number] != nil {
			return nil, fmt.Errorf("%s: slice %d is there twice", name, s.Number)
		}
		byNumber[s.Number] = s
	}
	if missing := slices.Index(byNumber, nil); missing >= 0 {
		return nil, fmt.Errorf("%s: slice %d of %d is missing: the file is truncated; run varve work plan again", name, missing, len(byNumber))
	}
	parts, problems := make([]string, len(byNumber)), make([]error, len(byNumber))
	group, within := source.NewGroup(ctx, 0)
	for i, s := range byNumber {
		parts[i] = s.Part
		group.Go(s.Part, func() error {
			problems[i] = s.check(within)
			return within.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, interrupted(ctx, err)
	}
	var numbers, reasons []string
	for i, problem := range problems {
		if problem == nil {
			continue
		}
		if numbers = append(numbers, strconv.Itoa(i)); len(reasons) < maxListedSlices {
			reasons = append(reasons, problem.Error())
		}
	}
	if len(numbers) == 0 {
		return parts, nil
	}
	if more := len(numbers) - len(reasons); more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more", more))
	}
	return nil, fmt.Errorf("%d of %s have no result; run them, and then this command again: varve work run %s %s\n%s",
		len(numbers), plural(int64(len(parts)), "slice", "slices"), name, strings.Join(numbers, " "), strings.Join(reasons, "\n"))
}

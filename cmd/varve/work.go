package main

import (
	"bufio"
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
	"varve/manifest/scan"
	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

func newWorkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "work STEP",
		Short: "Build with many machines, by any engine that can run commands",
		Long: `Divide a build among machines. "varve work plan" lists the files once and writes slices, one a line.
"varve work run" scans slices, on any machine and in any order: each result is one file. "varve work
finish" builds the manifest from the results. Each step can be repeated: it does what is left to do.
docs/how-to/clusters.md has commands for GNU parallel and SLURM.`,
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

// workSlice is one line of a file of slices: sources to scan, and everything that a worker needs for it.
type workSlice struct {
	Work    string   `json:"work"` // the same in all slices of a build
	Version string   `json:"version"`
	Number  int      `json:"number"`
	Of      int      `json:"of"`
	Build   []string `json:"build"` // the arguments of the build, without its sources
	Scan    []string `json:"scan"`  // the flags of the scan
	Sources []string `json:"sources"`
	Part    string   `json:"part"`
}

// workPlanOptions are the flags of work plan.
type workPlanOptions struct {
	resultOptions
	out, parts string
	files      int
}

func newWorkPlanCommand() *cobra.Command {
	opts := workPlanOptions{files: 1000}
	cmd := &cobra.Command{
		Use:   "plan -o SLICES.jsonl build OUT SRC...",
		Short: "List the files of a build, and divide them into slices",
		Long: `List the files that "varve build OUT SRC..." would read, and write slices of them to SLICES.jsonl. Flags of
the build follow the word build. All machines must see the files, OUT and the folder of the scan parts
under the same names. Equal files and flags make equal slices. Slices hold no passwords or signatures:
give workers credentials by an access file or by their environment.`,
		Example: `  varve work plan -o slices.jsonl build sst.varve archive/ --match '*.nc'`,
		Args:    cobra.MinimumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runWorkPlan(cmd, &opts, args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	opts.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&opts.out, "output", "o", "", "write the slices to this `file`")
	cmd.Flags().StringVar(&opts.parts, "parts", "", "write scan parts to this `folder` or prefix (default: SLICES.parts beside the slices)")
	addNumber(cmd.Flags(), &opts.files, 1, "files", "put this `number` of files into each slice (default 1000)")
	return cmd
}

func runWorkPlan(cmd *cobra.Command, opts *workPlanOptions, args []string) error {
	if args[0] != "build" {
		return usageError{fmt.Errorf("work plan: cannot divide the command %q; only build", args[0])}
	}
	if opts.out == "" {
		return usageError{errors.New("want -o SLICES.jsonl, the file of slices to write")}
	}
	if err := checkNoData(cmd.Context(), opts.out); err != nil {
		return err
	}
	of, err := plannedBuild(cmd, args[1:])
	if err != nil {
		return err
	}
	if opts.parts == "" {
		opts.parts = strings.TrimSuffix(opts.out, filepath.Ext(opts.out)) + ".parts"
	}
	parts := scan.URLOf(opts.parts)
	cut, err := ingest.Cut(of.names, opts.files, fmt.Sprintf("%q\n", of.scan))
	if err != nil {
		return err
	}
	digest := sha256.New()
	fmt.Fprintf(digest, "%s %q %q %s\n", versionName(), of.build, of.scan, parts)
	for _, s := range cut {
		fmt.Fprintln(digest, s.Part)
	}
	work := fmt.Sprintf("%x", digest.Sum(nil)[:8])
	if !source.IsURL(parts) {
		if err := os.MkdirAll(parts, 0o777); err != nil {
			return err
		}
	}
	err = atomicfile.Write(opts.out, atomicfile.Durable, func(f *os.File) error {
		to := bufio.NewWriter(f)
		lines := json.NewEncoder(to)
		lines.SetEscapeHTML(false)
		for i, s := range cut {
			line := workSlice{work, versionName(), i, len(cut), of.build, of.scan, s.Names, strings.TrimSuffix(parts, "/") + "/" + s.Part}
			if err := lines.Encode(line); err != nil {
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
	}{len(cut), len(of.names)}
	return opts.print(cmd.OutOrStdout(), doc, fmt.Sprintf("%s: %s of %s\n", opts.out, plural(int64(len(cut)), "slice", "slices"), plural(int64(len(of.names)), "source", "sources")))
}

// plannedCommand is a build that is divided: its sources, and the arguments that do not name sources.
type plannedCommand struct{ names, build, scan []string }

// ofPlan are the flags of a build that the plan applies, so that neither workers nor the build may apply them again.
var ofPlan = []string{"match", "from", "asset", "config", "quiet", "json"}

// secretFlags are the flags whose values may be secret.
var secretFlags = []string{"header"}

// pathFlags are the flags whose values are paths or URLs.
var pathFlags = []string{"allow", "grib-template", "codec-from", "access", "bearer-file", "keep-scan"}

// plannedBuild parses the arguments of a build, and lists its sources.
func plannedBuild(cmd *cobra.Command, args []string) (*plannedCommand, error) {
	build, scans := newBuildCommand(), newScanCommand()
	if err := build.ParseFlags(args); err != nil {
		return nil, usageError{err}
	}
	f := build.Flags()
	rest := f.Args()
	if err := build.Args(build, rest); err != nil {
		return nil, usageError{fmt.Errorf("work plan build: %w", err)}
	}
	opts := combineOptions{config: f.Lookup("config").Value.String()}
	if err := opts.takeConfig(build); err != nil {
		return nil, err
	}
	if err := useAccess(build); err != nil {
		return nil, err
	}
	out := &plannedCommand{}
	var bad error
	f.Visit(func(flag *pflag.Flag) {
		switch {
		case slices.Contains(secretFlags, flag.Name):
			bad = usageError{fmt.Errorf("--%s may hold a secret, which slices do not keep: use an access file", flag.Name)}
		case slices.Contains(ofPlan, flag.Name):
			return
		}
		values := flagArguments(flag)
		out.build = append(out.build, values...)
		if scans.Flags().Lookup(flag.Name) != nil {
			out.scan = append(out.scan, values...)
		}
	})
	if bad != nil {
		return nil, bad
	}
	out.build = append(out.build, "--", scan.URLOf(rest[0]))
	sources := ingest.Sources{
		Names: rest[1:], Match: f.Lookup("match").Value.String(), Asset: f.Lookup("asset").Value.String(), Stdin: cmd.InOrStdin(),
		Searches: f.Lookup("from").Value.(pflag.SliceValue).GetSlice(),
	}
	names, err := sources.Expand(cmd.Context())
	if err != nil {
		return nil, interrupted(cmd.Context(), err)
	}
	for _, name := range names {
		if scheme, _, _ := strings.Cut(strings.ToLower(name), "://"); (scheme == "http" || scheme == "https") && source.Shown(name) != name {
			return nil, fmt.Errorf("%s: the URL has a password or signature, which slices do not keep: use an access file (docs/reference/sources.md)", source.Shown(name))
		}
	}
	out.names = names
	return out, nil
}

// flagArguments returns the arguments that give a flag its value. Paths become absolute, since workers have other folders.
func flagArguments(flag *pflag.Flag) (args []string) {
	values := []string{flag.Value.String()}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	for _, value := range values {
		if slices.Contains(pathFlags, flag.Name) {
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
		Short: "Scan slices into scan parts",
		Long: `Scan the slices with these numbers, which begin at 0, or all slices of the file. With - in place of the file,
slices are read from standard input. A slice whose part is complete is not scanned again. A part
appears when it is complete, so workers may be killed, and two may run the same slice.`,
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

// run scans a slice unless its part is complete.
func (s *workSlice) run(cmd *cobra.Command, quiet bool) error {
	if err := s.checkVersion(); err != nil {
		return err
	}
	if ingest.CheckPart(cmd.Context(), s.Part, s.Sources, nil) == nil {
		return nil
	}
	args := slices.Concat([]string{"scan", "--output=" + s.Part}, s.Scan)
	if quiet {
		args = append(args, "--quiet")
	}
	return within(cmd, io.Discard, slices.Concat(args, []string{"--"}, s.Sources))
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
		case s.Work == "" || s.Part == "" || len(s.Sources) == 0 || s.Number < 0 || s.Number >= s.Of:
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
		Short: "Build the manifest from the results of all slices",
		Long: `Check that each slice has a scan part of its files, and build the manifest from the parts. Slices without a
complete part are listed: run them, and then this command again. Once the manifest is there, the
command does nothing.`,
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
	first := all[0]
	out := first.Build[len(first.Build)-1]
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
	args := []string{"build"}
	if opts.quiet {
		args = append(args, "--quiet")
	}
	if opts.json {
		args = append(args, "--json")
	}
	build := slices.Clone(first.Build)
	message := mark
	for i, arg := range build {
		if text, ok := strings.CutPrefix(arg, "--message="); ok {
			message = text + " (" + mark + ")"
			build[i] = "--message=" + message
		}
	}
	args = append(args, "--message="+message)
	return within(cmd, cmd.OutOrStdout(), slices.Concat(args, build, parts))
}

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
			problems[i] = ingest.CheckPart(within, s.Part, s.Sources, nil)
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
	return nil, fmt.Errorf("%d of %s have no complete part; run them, and then this command again: varve work run %s %s\n%s",
		len(numbers), plural(int64(len(parts)), "slice", "slices"), name, strings.Join(numbers, " "), strings.Join(reasons, "\n"))
}

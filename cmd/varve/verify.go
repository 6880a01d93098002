package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/manifest"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/store"
	"varve/manifest/verify"
	"varve/readers/source"
)

// allowOptions are the flags that permit a manifest to read sources.
type allowOptions struct {
	allow    []string
	download bool
	snapshot string // of the commands that call addSnapshot
}

func (o *allowOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.allow, "allow", nil, "let OUT read below this `place`, a folder or URL, as VARVE_ALLOW does; or once: varve trust")
	addFetch(cmd.Flags(), &o.download)
}

// storeOptions returns what the flags and the environment permit.
func (o *allowOptions) storeOptions() *store.Options {
	return &store.Options{Snapshot: o.snapshot, Download: o.download, Allow: append(strings.Fields(os.Getenv("VARVE_ALLOW")), o.allow...)}
}

// addPadded declares the flag that declares padded chunks.
func addPadded(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "padded", false, "declare padded chunks inside arrays (encoded_chunk_shapes); needs a build with --padded")
}

// describePadded returns the line about the arrays that an export declares with padded chunks.
func describePadded(s *store.Store, asked bool) string {
	var paths []string
	for _, a := range s.Arrays() {
		if a.Schema().ChunkGrid.Encoded != nil {
			paths = append(paths, a.Path())
		}
	}
	switch {
	case !asked:
		return ""
	case len(paths) == 0:
		return "no array has padded chunks inside: varve build --padded records them\n"
	}
	return fmt.Sprintf("with padded chunks (clients that do not know encoded_chunk_shapes read wrong values): %s\n", strings.Join(paths, ", "))
}

// verifyOptions are the flags of the verify command.
type verifyOptions struct {
	allowOptions
	resultOptions
	deep    bool
	sample  string
	seed    uint64
	workers int
	slice   sliceFlag
}

func newVerifyCommand() *cobra.Command {
	var opts verifyOptions
	cmd := &cobra.Command{
		Use:   "verify OUT",
		Short: "Check that a manifest and its sources are unchanged",
		Long: `Check the manifest OUT: its own files by SHA-256, and its sources by size and by
modification time or ETag. Files with compacted chunks can be large, so only their size is
checked. References to bytes that do not exist are found without reading sources. Missing or changed
sources are listed, up to a hundred.

With --deep, every chunk is read and decoded, and compacted chunks are checked by SHA-256. All
checksums that the sources have are compared, such as fletcher32, the CRC-32 of a zip file's members
and DATASUM of FITS. This finds changes that kept size and time, and chunks that other Zarr clients
cannot decode. If OUT was built with --checksum, all stored bytes are compared with their checksums.

With --sample, only this share of the chunks is read and decoded. They are chosen at random, spread
over the archive. The command prints the seed; --seed chooses the same chunks again.

With --slice, several machines check one manifest: each reads a slice of the sources and chunks.

If the sources were moved, "varve relocate" records their new locations.`,
		Example: `  varve verify sst.varve
  varve verify sst.varve --deep
  varve verify sst.varve --sample 1%`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				opts.seed = uint64(rand.Uint32()) // short, because people copy it
			}
			return runVerify(cmd.Context(), &opts, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.allowOptions.addFlags(cmd)
	opts.resultOptions.addFlags(cmd.Flags())
	addSnapshot(cmd.Flags(), &opts.snapshot)
	cmd.Flags().BoolVar(&opts.deep, "deep", false, "read and decode every chunk")
	cmd.Flags().StringVar(&opts.sample, "sample", "", "read and decode this `percentage` of the chunks, such as 1%, at least one")
	cmd.Flags().Uint64Var(&opts.seed, "seed", 0, "choose the same chunks as the --sample that printed this `number` (default random)")
	cmd.MarkFlagsMutuallyExclusive("deep", "sample")
	addSlice(cmd.Flags(), &opts.slice, "check only this slice of the sources, and of the chunks with --deep")
	cmd.MarkFlagsMutuallyExclusive("slice", "sample")
	addReaders(cmd.Flags(), &opts.workers, "read this `number` of sources or chunks at once")
	return cmd
}

func runVerify(ctx context.Context, opts *verifyOptions, name string, out, messages io.Writer) error {
	fraction, err := opts.fraction()
	if err != nil {
		return err
	}
	if opts.slice.Number == 0 { // tables are not divided
		if err := verifyTables(ctx, name, opts.deep); err != nil {
			return err
		}
	}
	s, err := store.Open(ctx, name, opts.storeOptions())
	if err != nil {
		return err
	}
	defer s.Close()
	unit := "sources"
	if opts.deep || fraction > 0 {
		unit = "sources and chunks"
	}
	shown := newProgressOf(messages, opts.quiet, "verifying", unit)
	result, err := verify.Verify(ctx, s, &verify.Options{Deep: opts.deep, Sample: fraction, Seed: opts.seed, Slice: opts.slice.Slice, Workers: opts.workers, Progress: shown.update})
	shown.finish()
	if err != nil {
		return interrupted(ctx, err)
	}
	failed := verifyError(name, result)
	checked := plural(result.Sources, "source", "sources")
	switch {
	case opts.deep && opts.slice.Of > 1:
		checked += fmt.Sprintf(", %s of %s (slice %s)", report.Thousands(result.Chunks), plural(result.Stored, "chunk", "chunks"), &opts.slice)
	case opts.deep:
		checked += ", " + plural(result.Chunks, "chunk", "chunks")
	case fraction > 0:
		drawn := fmt.Sprintf("%s of %s (--sample %s --seed %d)", report.Thousands(result.Chunks), plural(result.Stored, "chunk", "chunks"), opts.sample, opts.seed)
		if failed != nil {
			failed = fmt.Errorf("%w\nread %s", failed, drawn)
		}
		checked += ", " + drawn
	}
	if failed != nil && !opts.json {
		return failed
	}
	return errors.Join(opts.print(out, verifyDocument(s.Snapshot(), result, opts), fmt.Sprintf("%s: %s of tables and %s are unchanged\n%s",
		name, report.Size(bytesOf(s.Snapshot())), checked, faultsText(name, s.Snapshot())+secretsText(name, result.Secrets))), failed)
}

// secretsText says which stored parameters of URLs may be secrets, and what to do.
func secretsText(name string, parameters []string) string {
	if len(parameters) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: an older varve stored parameters of URLs that may be secrets (%s); build it again with --force, or write the names without them: varve relocate %s https://HOST/ https://HOST/\n",
		name, strings.Join(parameters, ", "), shellWord(name))
}

// fraction returns the share of the chunks that --sample asks for, or 0.
func (o *verifyOptions) fraction() (float64, error) {
	if o.sample == "" {
		return 0, nil
	}
	number, ok := strings.CutSuffix(o.sample, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(percent > 0 && percent <= 100) {
		return 0, usageError{fmt.Errorf("--sample %s: give a percentage above 0%% and up to 100%%, such as 1%%", o.sample)}
	}
	return percent / 100, nil
}

// problemJSON is a problem in the JSON of verify.
type problemJSON struct {
	Source string       `json:"source"`
	Array  string       `json:"array,omitempty"`
	Chunk  items[int64] `json:"chunk"`
	More   int64        `json:"more,omitempty"`
	Error  string       `json:"error"`
}

// verifiedJSON is the JSON of verify.
type verifiedJSON struct {
	Snapshot string             `json:"snapshot"`
	Bytes    int64              `json:"bytes"`
	Sources  int64              `json:"sources"`
	Chunks   int64              `json:"chunks"`
	Sample   *sampleJSON        `json:"sample,omitempty"`
	Problems items[problemJSON] `json:"problems"`
	Secrets  []string           `json:"secrets,omitempty"` // parameters of stored URLs
}

// sampleJSON is the sample in the JSON of verify.
type sampleJSON struct {
	Percentage string `json:"percentage"`
	Seed       uint64 `json:"seed"`
	Of         int64  `json:"of"` // stored chunks
}

func verifyDocument(s *manifest.Snapshot, r *verify.Result, opts *verifyOptions) any {
	var drawn *sampleJSON
	if opts.sample != "" {
		drawn = &sampleJSON{opts.sample, opts.seed, r.Stored}
	}

	problems := make(items[problemJSON], len(r.Problems))
	for i, p := range r.Problems {
		problems[i] = problemJSON{p.Source, p.Array, p.Coords, p.More, p.Err.Error()}
	}
	return &verifiedJSON{s.ID, bytesOf(s), r.Sources, r.Chunks, drawn, problems, r.Secrets}
}

// groupedError is the error of many problems, with a text that names each cause once.
type groupedError struct {
	text string
	errs []error
}

func (e *groupedError) Error() string   { return e.text }
func (e *groupedError) Unwrap() []error { return e.errs }

// verifyError returns the error of a verification, or nil. Sources that are missing, or that the
// user has not allowed, have one line for all of them: an archive that was moved has a problem for
// each file.
func verifyError(name string, r *verify.Result) error {
	if len(r.Problems) == 0 {
		return nil
	}
	var missing []string
	var forbidden *store.ForbiddenError
	others := verify.Result{}
	grouped := &groupedError{}
	for _, p := range r.Problems {
		grouped.errs = append(grouped.errs, p.Err)
		var refused *store.ForbiddenError
		switch {
		case errors.As(p.Err, &refused):
			forbidden = cmp.Or(forbidden, refused)
		case p.Array == "" && errors.Is(p.Err, source.ErrChanged) && errors.Is(p.Err, fs.ErrNotExist):
			missing = append(missing, p.Source)
		default:
			others.Problems = append(others.Problems, p)
		}
	}
	var texts []string
	if len(missing) > 0 {
		texts = append(texts, missingText(name, missing, r.Sources))
	}
	if forbidden != nil {
		texts = append(texts, forbiddenText(forbidden))
	}
	if err := others.Err(); err != nil {
		texts = append(texts, err.Error())
	}
	grouped.text = strings.Join(texts, "\n")
	return grouped
}

// shownMissing is the number of missing sources that are listed by name.
const shownMissing = 10

// missingText describes missing sources. If their common folder is missing, it names that, and
// lists no files.
func missingText(name string, missing []string, all int64) string {
	verb := "are"
	if len(missing) == 1 {
		verb = "is"
	}
	text := fmt.Sprintf("%s of %s %s missing", report.Thousands(int64(len(missing))), plural(all, "source", "sources"), verb)
	folder := commonFolder(missing)
	gone := false
	if local, err := source.LocalPath(folder); err == nil && folder != "" {
		_, err := os.Stat(local)
		gone = errors.Is(err, fs.ErrNotExist)
	}
	if gone {
		return fmt.Sprintf("%s (the folder %s does not exist). Moved? varve relocate %s %s NEW", text, folder, shellWord(name), shellWord(folder))
	}
	text += ":"
	for _, s := range missing[:min(len(missing), shownMissing)] {
		text += "\n  " + s
	}
	if more := len(missing) - shownMissing; more > 0 {
		text += fmt.Sprintf("\n  … and %s more", report.Thousands(int64(more)))
	}
	return text + fmt.Sprintf("\nMoved? varve relocate %s OLD NEW", shellWord(name))
}

// commonFolder returns the deepest folder that all files, or their archives, are in. It is empty for URLs.
func commonFolder(names []string) string {
	if slices.ContainsFunc(names, source.IsURL) {
		return ""
	}
	common := filepath.Dir(source.Outer(names[0]))
	for _, name := range names[1:] {
		name = source.Outer(name)
		for !strings.HasPrefix(name, common+"/") && !strings.HasPrefix(name, common+string(filepath.Separator)) {
			up := filepath.Dir(common)
			if up == common {
				return common
			}
			common = up
		}
	}
	return common
}

// verifyTables checks a manifest's own files. It reads files of compacted chunks only if deep is
// set, as they may be many times as large as all others.
func verifyTables(ctx context.Context, name string, deep bool) error {
	repository, err := repo.Open(ctx, name)
	if err != nil {
		return err
	}
	defer repository.Close()
	id, err := repository.Current(ctx)
	if err != nil {
		return err
	}
	snapshot, err := repository.Load(ctx, id)
	if err != nil {
		return err
	}
	if deep {
		return repository.Check(ctx, snapshot)
	}
	var all error
	read := *snapshot
	read.Tables = nil
	for _, t := range snapshot.Tables {
		if t.Kind != manifest.Chunks {
			read.Tables = append(read.Tables, t)
			continue
		}
		_, err := repository.FileOf(ctx, t)
		all = errors.Join(all, err)
	}
	return errors.Join(all, repository.Check(ctx, &read))
}

package ingest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/compact"
	"varve/manifest/internal/planner"
	"varve/manifest/internal/table"
	"varve/manifest/points"
	"varve/manifest/relocate"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/manifest/verify"
)

// revising is a manifest that is changed at random. After each step it must equal a new build of its sources.
type revising struct {
	t         *testing.T
	r         *rand.Rand
	kind      *sourceKind
	dir       string   // the folder of the sources
	all       []string // the sources that there are, as names below dir
	out       string
	checksums bool
	steps     []string // for messages
	history   []revised
	fresh     int // number of builds

	inManifest map[string]bool // the arrays that the manifest stored before the last step
}

// revised is a snapshot that can be restored.
type revised struct {
	id    string
	names []string // its sources, below dir
	stale bool     // a file of it has changed since
}

// revisingSteps are the steps. Their order is drawn.
var revisingSteps = []string{"append", "remove", "refresh", "sync", "append", "remove", "refresh", "sync", "relocate", "restore", "gc", "compact", "index"}

// TestRevisions applies random steps to manifests of every kind of source. After each step the manifest must have the values
// and the refs of a new build, and verify must find no problem.
func TestRevisions(t *testing.T) {
	configured(t)
	steps := 4
	if soak.Duration(t, 0) > 0 || soak.Selected() {
		steps = len(revisingSteps)
	}
	for seed := range soak.Seeds(t, 1) {
		for i := range sourceKinds {
			t.Run(sourceKinds[i].name, func(t *testing.T) {
				v := newRevising(t, &sourceKinds[i], rand.New(rand.NewPCG(seed, uint64(i))))
				if err := v.run(steps); err != nil {
					t.Errorf("%s: %v", strings.Join(v.steps, ", "), err)
				}
			})
		}
	}
}

func newRevising(t *testing.T, kind *sourceKind, r *rand.Rand) *revising {
	dir := t.TempDir()
	v := &revising{t: t, r: r, kind: kind, dir: filepath.Join(dir, "files"), out: filepath.Join(dir, "a.varve")}
	if err := os.Mkdir(v.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		v.all = append(v.all, kind.write(t, v.dir, i))
	}
	v.checksums = v.r.IntN(2) == 0
	return v
}

// options returns options for sources below the folder.
func (v *revising) options(names []string) *Options {
	o := optionsFor()
	for _, name := range names {
		o.Sources.Names = append(o.Sources.Names, filepath.Join(v.dir, name))
	}
	o.Plan, o.Checksums, o.Allow = v.kind.plan, v.checksums, []string{filepath.Dir(v.dir)}
	return o
}

func (v *revising) run(steps int) error {
	ctx := v.t.Context()
	v.steps = []string{fmt.Sprintf("build with checksums %t", v.checksums)}
	if _, err := Build(ctx, v.out, v.options(some(v.r, v.all))); err != nil {
		return err
	}
	if err := v.compare(ctx); err != nil {
		return err
	}
	if err := v.checkKind(ctx); err != nil {
		return err
	}
	for _, i := range v.r.Perm(len(revisingSteps))[:steps] {
		step := revisingSteps[i]
		if step == "relocate" && v.kind.isFixed {
			step = "remove"
		}
		v.steps = append(v.steps, step)
		if err := v.step(ctx, step); err != nil {
			return err
		}
		if err := v.compare(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkKind returns an error if the sources should name other files, and do not.
func (v *revising) checkKind(ctx context.Context) error {
	s, err := store.Open(ctx, v.out, &store.Options{Trusted: true})
	if err != nil {
		return err
	}
	files, err := s.Tables().Files(ctx, manifest.NewShared())
	if err == nil && v.kind.also != nil && !slices.ContainsFunc(files, func(f *manifest.File) bool { return f.Hidden }) {
		err = errors.New("the sources name no other files")
	}
	return closing(s, err)
}

// step makes a step.
func (v *revising) step(ctx context.Context, step string) (err error) {
	now := v.history[len(v.history)-1].names
	switch step {
	case "append":
		more := slices.DeleteFunc(slices.Clone(v.all), func(name string) bool { return slices.Contains(now, name) })
		if len(more) == 0 {
			return nil
		}
		_, err = Append(ctx, v.out, v.options(some(v.r, more)))
	case "remove":
		stay := some(v.r, now)
		if len(stay) == len(now) {
			return nil
		}
		_, err = Remove(ctx, v.out, func(files []*manifest.File) (gone []bool, err error) {
			for _, f := range files {
				gone = append(gone, !slices.ContainsFunc(stay, func(name string) bool { return v.isNamed(f.URL, name) }))
			}
			return gone, nil
		}, v.options(nil))
	case "refresh":
		v.change(now)
		_, err = Refresh(ctx, v.out, v.options(nil))
	case "sync":
		files := some(v.r, v.all)
		if v.r.IntN(2) == 0 {
			v.change(v.all)
		}
		// A file that changed is looked at before another one is changed.
		if _, err = Refresh(ctx, v.out, v.options(nil)); err == nil {
			_, err = Sync(ctx, v.out, v.options(files))
		}
	case "relocate":
		to := filepath.Join(filepath.Dir(v.dir), fmt.Sprintf("moved %d", len(v.steps)))
		if err := os.Rename(v.dir, to); err != nil {
			return err
		}
		_, err = relocate.Relocate(ctx, v.out, &relocate.Options{Moves: []relocate.Move{{From: v.dir, To: to}}, Allow: []string{filepath.Dir(v.dir)}})
		v.dir, v.history = to, v.history[:0]
	case "restore":
		to := v.history[v.r.IntN(len(v.history))]
		if err = inRepositoryDo(ctx, v.out, func(r *repo.Repository) error {
			_, err := r.Restore(ctx, to.id)
			return err
		}); err == nil && to.stale {
			_, err = Refresh(ctx, v.out, v.options(nil))
		}
	case "gc":
		err = inRepository(ctx, v.out, "gc")
		v.history = v.history[:0]
	case "compact":
		opts := &compact.Options{Store: store.Options{Trusted: true}}
		_, err = compact.Compact(ctx, v.out, opts)
	case "index":
		_, err = points.Make(ctx, v.out, &points.Options{Store: store.Options{Trusted: true}})
	}
	return err
}

func inRepositoryDo(ctx context.Context, out string, do func(*repo.Repository) error) error {
	r, err := repo.Open(ctx, out)
	if err != nil {
		return err
	}
	return errors.Join(do(r), r.Close())
}

// isNamed reports whether the URL of a source is the one that a name below the folder has.
func (v *revising) isNamed(url, name string) bool {
	outer, _, _ := strings.Cut(url, "|")
	whole, _, _ := strings.Cut(filepath.Join(v.dir, name), "|")
	return outer == whole
}

// change gives one file of some sources other content, if the kind has a file without structure, or another time: of a
// source itself, or of a file that it names.
func (v *revising) change(names []string) {
	v.t.Helper()
	name := names[v.r.IntN(len(names))]
	files := v.kind.files(v.dir, name)
	file := files[v.r.IntN(len(files))]
	v.steps = append(v.steps, "after a change of "+filepath.Base(file))
	if filepath.Ext(file) == ".bin" {
		b, err := os.ReadFile(file)
		if err != nil {
			v.t.Fatal(err)
		}
		for i := range b {
			b[i]++
		}
		putFile(v.t, file, b)
	}
	then := time.Unix(1e9+v.r.Int64N(1e8), 0)
	if err := os.Chtimes(file, then, then); err != nil {
		v.t.Fatal(err)
	}
	for i := range v.history {
		v.history[i].stale = true
	}
}

// compare compares the manifest with a new build of its sources.
func (v *revising) compare(ctx context.Context) error {
	snap := current(v.t, v.out)
	got, names, err := describe(ctx, v.out)
	if err != nil {
		return err
	}
	here := make([]string, 0, len(names))
	for _, url := range names {
		i := slices.IndexFunc(v.all, func(name string) bool { return v.isNamed(url, name) })
		if i < 0 {
			return fmt.Errorf("the manifest has the source %s, which was never added", url)
		}
		here = append(here, v.all[i])
	}
	v.history = append(v.history, revised{id: snap.ID, names: here})
	if err := verified(ctx, v.out); err != nil {
		return err
	}
	v.fresh++
	fresh := filepath.Join(filepath.Dir(v.out), fmt.Sprintf("fresh %d.varve", v.fresh))
	opts := v.options(here)
	opts.Plan.ChunkLengths = planner.ChunkLengths(snap.Arrays)
	built, err := Build(ctx, fresh, opts)
	if err != nil {
		return fmt.Errorf("building again: %w", err)
	}
	want, _, err := describe(ctx, fresh)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("the manifest has\n%s", difference(got, want))
	}
	if got, want := v.declared(snap), v.declared(built.Snapshot); got != want {
		return fmt.Errorf("the manifest declares\n%s", difference(got, want))
	}
	v.inManifest = map[string]bool{}
	for i := range snap.Arrays {
		v.inManifest[snap.Arrays[i].Path] = snap.Arrays[i].Placement == ""
	}
	return nil
}

// declared returns the facts of a snapshot, without the counts of chunks, of which some may be compacted. Arrays that the
// manifest stored before are left out: they stay there, although a new build might not read their values.
func (v *revising) declared(snap *manifest.Snapshot) string {
	s := *snap
	s.Arrays = slices.DeleteFunc(slices.Clone(s.Arrays), func(a manifest.Array) bool { return v.inManifest[a.Path] })
	for i := range s.Arrays {
		s.Arrays[i].Chunks = manifest.Counts{}
	}
	return facts(v.t, &s)
}

// difference returns the lines of two texts from the first one on that differs.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	some := func(lines []string) string {
		return strings.Join(lines[max(min(at, len(lines))-25, 0):min(at+5, len(lines))], "\n")
	}
	return fmt.Sprintf("%s\nand a new build\n%s", some(a), some(b))
}

// verified returns the problems of a manifest.
func verified(ctx context.Context, out string) error {
	s, err := store.Open(ctx, out, &store.Options{Trusted: true})
	if err != nil {
		return err
	}
	r, err := verify.Verify(ctx, s, &verify.Options{})
	if err == nil {
		err = r.Err()
	}
	return closing(s, err)
}

// describe returns a text about the sources of a manifest, with all refs, and about the values of its arrays. Sources are
// named by URL, so that their rows do not matter.
func describe(ctx context.Context, out string) (text string, names []string, err error) {
	s, err := store.Open(ctx, out, &store.Options{Trusted: true})
	if err != nil {
		return "", nil, err
	}
	defer s.Close()
	d := &describing{reader: s.Tables()}
	if d.files, err = d.reader.Files(ctx, manifest.NewShared()); err != nil {
		return "", nil, err
	}
	if err := d.findUsed(ctx); err != nil {
		return "", nil, err
	}
	for i, f := range d.files {
		if f.Hidden {
			if !d.used[i] {
				fmt.Fprintf(&d.text, "only values of %s %v\n", f.URL, f.Identity())
			}
			continue
		}
		names = append(names, f.URL)
		if err := d.file(ctx, i, ""); err != nil {
			return "", nil, err
		}
	}
	for _, a := range s.Arrays() {
		shape := a.Schema().Shape
		e := codec.NewElems(codec.Form{Type: a.Schema().DataType.Type(), Shape: shape})
		err := a.ReadRegion(ctx, grid.Whole(shape), e)
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
		fmt.Fprintf(&d.text, "%s %v %x %x\n", a.Path(), shape, e.Fixed, e.Var)
	}
	return d.text.String(), names, nil
}

type describing struct {
	reader *table.Reader
	files  []*manifest.File
	used   map[int]bool // rows of hidden files that Parts or refs name
	text   strings.Builder
}

func (d *describing) findUsed(ctx context.Context) error {
	d.used = map[int]bool{}
	for _, f := range d.files {
		for _, parts := range f.Parts {
			for _, p := range parts {
				d.used[p.File] = true
			}
		}
	}
	for batch, err := range d.reader.ScanRefs(ctx, 0, d.reader.Rows(manifest.Refs)) {
		if err != nil {
			return err
		}
		for _, other := range batch.Others {
			d.used[int(other)-1] = true
		}
	}
	return nil
}

// file describes a source, its refs, and the hidden sources of its parts.
func (d *describing) file(ctx context.Context, row int, indent string) error {
	f := d.files[row]
	fmt.Fprintf(&d.text, "%s%s %v %s %s\n", indent, f.URL, f.Identity(), f.Format, f.Groups.ID)
	for i := range f.Header.Len() {
		// The ID of the header depends on names of folders, if variables are in folders that are not allowed.
		v := f.Header.Variable(i)
		fmt.Fprintf(&d.text, "%s  %s %v %v %v %v %v\n", indent, v.Path, v.Type, v.Dims, v.Shape, v.Storage, v.Attributes)
	}
	for batch, err := range d.reader.ScanRefs(ctx, f.Row, f.Header.Rows()) {
		if err != nil {
			return err
		}
		for i := range batch.Offsets {
			ref := batch.At(i)
			fmt.Fprintf(&d.text, "%s  ", indent)
			if inline, ok := ref.Inline(); ok {
				b, err := d.reader.Inline(ctx, inline)
				if err != nil {
					return err
				}
				fmt.Fprintf(&d.text, "inline %x\n", b)
				continue
			}
			if ref.Other > 0 && ref.Stored() {
				if int(ref.Other) > len(d.files) {
					return fmt.Errorf("a ref of %s is in source %d of %d", f.URL, ref.Other-1, len(d.files))
				}
				o := d.files[ref.Other-1]
				fmt.Fprintf(&d.text, "%s %v: ", o.URL, o.Identity())
			}
			fmt.Fprintf(&d.text, "%d %d mask %d sum %d\n", ref.Offset, ref.Size, ref.Mask, ref.Checksum)
		}
	}
	for variable := range f.Header.Len() {
		for _, p := range f.Parts[variable] {
			fmt.Fprintf(&d.text, "%s  variable %d at %v: from %v, %v\n", indent, variable, p.Origin, p.Start, p.Shape)
			if err := d.file(ctx, p.File, indent+"    "); err != nil {
				return err
			}
		}
	}
	return nil
}

package readertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/readers"
	"varve/readers/source"
)

// FolderSample is a small valid source that is a folder.
type FolderSample struct {
	Name  string
	Files map[string][]byte // by key
}

// ReadFolder returns a folder of the file system as a sample.
func ReadFolder(t testing.TB, name, dir string) FolderSample {
	t.Helper()
	s := FolderSample{Name: name, Files: map[string][]byte{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		key, err := filepath.Rel(dir, path)
		s.Files[filepath.ToSlash(key)] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// RunFolder runs the suite with a format of folders, as Run does with one of files.
func RunFolder(t *testing.T, format readers.Format, samples ...FolderSample) {
	if len(samples) == 0 {
		t.Fatal("no samples")
	}
	reader := newTested(t, format)
	t.Run("other content", func(t *testing.T) {
		testOther(t, reader)
	})
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) { runFolder(t, reader, s) })
	}
}

func testNot(t *testing.T, reader tested, src *source.Source) {
	t.Helper()
	if is, err := reader.Detects(context.Background(), src); is || err != nil {
		t.Errorf("Detect gave %v, %v", is, err)
	}
	if _, err := reader.Open(context.Background(), src); err == nil {
		t.Error("Open gave no error")
	}
}

func runFolder(t *testing.T, reader tested, s FolderSample) {
	whole := Describe(context.Background(), reader, s.source())
	if whole.Err != nil {
		t.Fatalf("the whole sample: %v", whole.Err)
	}
	if whole.Marked {
		t.Fatalf("the undamaged sample has problems, which would hide damage:\n%s", whole.Text)
	}
	for name, run := range map[string]func(*testing.T, tested, FolderSample, Description){
		"cut off":    testFolderCuts,
		"changed":    testFolderChanges,
		"failing":    testFolderFailing,
		"cancelled":  testFolderCancelled,
		"concurrent": testFolderConcurrent,
		"untouched":  testFolderUntouched,
	} {
		t.Run(name, func(t *testing.T) { run(t, reader, s, whole) })
	}
}

func (s FolderSample) source() *source.Source { return s.folder().source(s.Name) }

func (s FolderSample) folder() *MemoryFolder { return &MemoryFolder{Files: s.Files} }

// with returns the sample with one file replaced.
func (s FolderSample) with(key string, data []byte) FolderSample {
	files := maps.Clone(s.Files)
	files[key] = data
	return FolderSample{s.Name, files}
}

// maxFolderCuts limits the number of positions that are tried in all files together.
const maxFolderCuts = 128

// places returns the positions in a file that are tried: the first byte, and others at equal distances.
func (s FolderSample) places(key string) iter.Seq[int] {
	total, most := 0, maxFolderCuts
	for _, data := range s.Files {
		total += len(data)
	}
	if testing.Short() {
		most /= 8
	}
	step := total/most + 1
	return func(yield func(int) bool) {
		for n := 0; n < len(s.Files[key]) && yield(n); n += step {
		}
	}
}

func testFolderCuts(t *testing.T, reader tested, s FolderSample, whole Description) {
	for key, data := range s.Files {
		for n := range s.places(key) {
			got := Describe(context.Background(), reader, s.with(key, data[:n]).source())
			if !got.marked() && got.Text != whole.Text {
				t.Errorf("the first %d of %d bytes of %s: neither an error nor a problem, and a different dataset:\n%s", n, len(data), key, got.Text)
			}
		}
	}
}

func testFolderChanges(t *testing.T, reader tested, s FolderSample, _ Description) {
	for key := range s.Files {
		for n := range s.places(key) {
			for _, mask := range []byte{0xff, 0x01} {
				data := bytes.Clone(s.Files[key])
				data[n] ^= mask
				Describe(context.Background(), reader, s.with(key, data).source())
			}
		}
	}
}

func testFolderFailing(t *testing.T, reader tested, s FolderSample, whole Description) {
	testStorageFailures(t, reader, whole, func(failAfter int) (*source.Source, func() bool) {
		f := s.folder()
		f.failAfter = failAfter
		return f.source(s.Name), func() bool { return f.reads >= f.failAfter }
	})
}

func testFolderCancelled(t *testing.T, reader tested, s FolderSample, _ Description) {
	testCancelledContext(t, reader, s.source)
}

func testFolderConcurrent(t *testing.T, reader tested, s FolderSample, whole Description) {
	testGoroutines(t, reader, s.source(), whole)
}

func testFolderUntouched(t *testing.T, reader tested, s FolderSample, _ Description) {
	dir := filepath.Join(t.TempDir(), s.Name)
	for key, data := range s.Files {
		name := filepath.Join(dir, filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	src, err := source.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got := Describe(context.Background(), reader, src)
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	want := Describe(context.Background(), reader, s.folder().source(dir))
	if got.Err != nil || sortLines(got.Text) != sortLines(want.Text) {
		t.Errorf("a folder gives another dataset than memory (%v):\n%s", got.Err, difference(got.Text, want.Text))
	}
	if after := ReadFolder(t, s.Name, dir); !maps.EqualFunc(s.Files, after.Files, bytes.Equal) {
		t.Error("the folder was changed")
	}
}

// difference returns the lines that only one of two texts has.
func difference(got, want string) string {
	var out strings.Builder
	for _, side := range []struct{ sign, these, those string }{{"-", want, got}, {"+", got, want}} {
		for line := range strings.Lines(side.these) {
			if !strings.Contains(side.those, line) {
				out.WriteString(side.sign + line)
			}
		}
	}
	return out.String()
}

// sortLines sorts lines, because folders are listed in any order.
func sortLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// MemoryFolder is a source.Folder over files in memory.
type MemoryFolder struct {
	Files     map[string][]byte
	failAfter int // number of the first access that fails; 0: none

	mu    sync.Mutex
	reads int
}

// source returns the folder as a source.
func (f *MemoryFolder) source(name string) *source.Source { return source.New(name, f) }

func (f *MemoryFolder) use(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if f.failAfter > 0 && f.reads >= f.failAfter {
		return errStorage
	}
	return nil
}

// OpenKey opens a file.
func (f *MemoryFolder) OpenKey(ctx context.Context, key string) (source.Ranges, error) {
	if err := f.use(ctx); err != nil {
		return nil, err
	}
	data, ok := f.Files[key]
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	return &memoryFile{&Memory{Data: data}, f}, nil
}

// memoryFile is a file in a folder.
type memoryFile struct {
	*Memory
	folder *MemoryFolder
}

func (m *memoryFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := m.folder.use(ctx); err != nil {
		return 0, err
	}
	return m.Memory.ReadAt(ctx, p, off)
}

// List yields the entries of a folder, by name.
func (f *MemoryFolder) List(ctx context.Context, key string) iter.Seq2[source.Entry, error] {
	return func(yield func(source.Entry, error) bool) {
		if err := f.use(ctx); err != nil {
			yield(source.Entry{}, err)
			return
		}
		entries := map[string]source.Entry{}
		for file, data := range f.Files {
			rest := file
			if key != "" {
				var in bool
				if rest, in = strings.CutPrefix(file, key+"/"); !in {
					continue
				}
			}
			name, _, folder := strings.Cut(rest, "/")
			entries[name] = source.Entry{Name: name, Folder: folder, Size: int64(len(data))}
		}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			if !yield(entries[name], nil) {
				return
			}
		}
	}
}

// ReadAt returns an error: a folder has no bytes.
func (f *MemoryFolder) ReadAt(context.Context, []byte, int64) (int, error) {
	return 0, errors.New("a folder has no bytes")
}

// Identity returns an empty identity.
func (f *MemoryFolder) Identity() source.Identity { return source.Identity{} }

// Close does nothing.
func (f *MemoryFolder) Close() error { return nil }

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// names lists a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	for _, how := range []Durability{Durable, Volatile} {
		for _, want := range []string{"one", "another"} {
			err := Write(name, how, func(f *os.File) error {
				if !IsDraft(filepath.Base(f.Name())) {
					t.Errorf("%s is not recognised as a draft", f.Name())
				}
				_, err := f.WriteString(want)
				return err
			})
			got, rerr := os.ReadFile(name)
			if err != nil || rerr != nil || string(got) != want {
				t.Errorf("got %q, want %q (%v, %v)", got, want, err, rerr)
			}
		}
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the folder has %q", got)
	}
}

// TestWriteFails checks that a failure leaves the former file and no draft.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, strings.Repeat("n", 255)) // as long as a name may be
	if err := os.WriteFile(name, []byte("former"), 0o666); err != nil {
		t.Fatal(err)
	}
	fault := errors.New("no more data")
	err := Write(name, Durable, func(f *os.File) error {
		_, err := f.WriteString("half")
		return errors.Join(err, fault)
	})
	if !errors.Is(err, fault) {
		t.Errorf("got %v, want the error of the function", err)
	}
	if got, err := os.ReadFile(name); string(got) != "former" || err != nil {
		t.Errorf("the file has %q (%v)", got, err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("the folder has %q", got)
	}
}

// TestErrorsHaveTheName checks that errors of the system do not have the name of the draft.
func TestErrorsHaveTheName(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none", "a")
	err := Write(name, Volatile, func(*os.File) error { return nil })
	var p *fs.PathError
	if !errors.As(err, &p) || p.Path != name || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want an fs.ErrNotExist of %s", err, name)
	}
	name = filepath.Join(t.TempDir(), "a")
	err = Write(name, Volatile, func(f *os.File) error {
		if err := f.Close(); err != nil {
			return err
		}
		_, err := f.WriteString("x")
		return err
	})
	if err == nil || strings.Contains(err.Error(), mark) || !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v, want an fs.ErrClosed without the draft's name", err)
	}
}

func TestWriteBytes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "b", "c", "a")
	for _, want := range []string{"one", ""} {
		if err := WriteBytes(name, Volatile, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); string(got) != want || err != nil {
			t.Errorf("got %q, want %q (%v)", got, want, err)
		}
	}
}

// TestRenameFails checks that the error of a folder in place of the file names the file only, and that no draft stays.
func TestRenameFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	if err := os.Mkdir(name, 0o777); err != nil {
		t.Fatal(err)
	}
	err := WriteBytes(name, Volatile, []byte("x"))
	var p *fs.PathError
	if !errors.As(err, &p) || p.Path != name || strings.Contains(err.Error(), mark) {
		t.Errorf("got %v, want an fs.PathError of %s", err, name)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("the folder has %q", got)
	}
}

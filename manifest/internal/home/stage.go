package home

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Stage is a folder that becomes the destination of an output, or contains the file that does. So the output appears whole or not
// at all. The folder is beside the destination:
//
//	.NAME.draft-RANDOM       locked by the process that writes it
//	.NAME.draft-RANDOM.old   the former NAME, if the system cannot swap two names in one step
//
// A process that is killed leaves its stage without a lock. The next stage for the same name removes it.
//
// If the destination is in an object store, the stage is in the system's folder for temporary files, and is then uploaded.
type Stage struct {
	dir  string
	dest string
	lock io.Closer
	away *away // nil if the destination is a local file or folder
}

// old is the end of the name of a former destination.
const old = ".old"

// longest limits the bytes of the part of a draft's name that comes from the destination. File systems allow 255 bytes.
const longest = 200

// short returns the beginning of a name. File systems of macOS reject half a character.
func short(name string) string { return strings.ToValidUTF8(name[:min(len(name), longest)], "") }

// stagePrefix returns the first part of the names of stages of a destination.
func stagePrefix(dest string) string { return "." + short(filepath.Base(dest)) + draftMark }

// NewStage makes a stage for a local destination, and removes abandoned stages of it.
func NewStage(dest string) (*Stage, error) {
	if err := sweep(dest, ""); err != nil {
		return nil, err
	}
	return newStage(dest, 0o777)
}

// newStage makes a stage with a mode, before the umask.
func newStage(dest string, mode fs.FileMode) (*Stage, error) {
	for {
		dir := filepath.Join(filepath.Dir(dest), stagePrefix(dest)+strconv.FormatUint(rand.Uint64(), 10))
		err := os.Mkdir(dir, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f, err := lockFolder(dir)
		if errors.Is(err, ErrTaken) || errors.Is(err, fs.ErrNotExist) {
			continue // another process takes it for an abandoned draft
		}
		if err != nil {
			return nil, errors.Join(err, unlock(f), os.RemoveAll(dir))
		}
		return &Stage{dir: dir, dest: dest, lock: f}, nil
	}
}

// ErrTaken is the error of locking a draft that another process writes.
var ErrTaken = errors.New("another process is writing here")

// LockFolder locks a folder until the result is closed. It is ErrTaken if another process has the lock. The result is nil if the
// file system has no locks.
func LockFolder(name string) (io.Closer, error) {
	f, err := lockFolder(name)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return f, err
}

// Turn waits until no other process has a turn to rename files in a folder. The turn lasts until done is called.
func Turn(ctx context.Context, folder string) (done func() error, err error) {
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	for {
		f, err := lockWithin(folder)
		if !errors.Is(err, ErrTaken) {
			return func() error { return unlock(f) }, err
		}
		if err := wait(ctx, turnPause); err != nil {
			return nil, err
		}
	}
}

// turnPause is the time between two attempts to get a turn.
const turnPause = 10 * time.Millisecond

func unlock(f io.Closer) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// sweep removes abandoned drafts whose names end with ending.
func sweep(dest, ending string) error {
	entries, err := os.ReadDir(filepath.Dir(dest))
	if err != nil {
		return err
	}
	start := stagePrefix(dest)
	for _, e := range entries {
		random, ours := strings.CutPrefix(e.Name(), start)
		random, ends := strings.CutSuffix(random, ending)
		if !ours || !ends || !isRandom(random) {
			continue
		}
		if err := remove(filepath.Join(filepath.Dir(dest), e.Name())); err != nil {
			return fmt.Errorf("removing the draft of a stopped export: %w", err)
		}
	}
	return nil
}

// isRandom reports whether s can be the random part of a name that begin makes.
func isRandom(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// remove removes a draft unless a process writes it. Without locks that is unknown, and the draft stays.
func remove(dir string) error {
	f, err := lockFolder(dir)
	if err != nil || f == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(dir), f.Close())
}

// Path returns the path of the folder, or of a file in it.
func (d *Stage) Path(name ...string) string {
	return filepath.Join(append([]string{d.dir}, name...)...)
}

// Discard removes the draft with its content. err is the error of the export, which Discard returns.
func (d *Stage) Discard(err error) error {
	if d.away != nil {
		err = d.away.Close(err)
	}
	return errors.Join(err, os.RemoveAll(d.dir), unlock(d.lock))
}

// Publish renames the folder to its destination. With replace, it replaces an existing destination, in one step if the
// system can. Otherwise an existing destination is an error. In object stores, last names the file that is stored last,
// through which readers find the others.
func (d *Stage) Publish(ctx context.Context, last string, replace bool) error {
	if d.away != nil {
		return d.away.publish(ctx, d.dir, last)
	}
	if !replace {
		return os.Rename(d.dir, d.dest)
	}
	err := exchange(d.dir, d.dest) // the draft is then the former destination
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.Rename(d.dir, d.dest)
	case errors.Is(err, errors.ErrUnsupported):
		return d.replace()
	}
	return err
}

// replace is Publish for file systems that cannot swap names.
func (d *Stage) replace() error {
	err := os.Rename(d.dest, d.dir+old)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Rename(d.dir, d.dest)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(d.dir, d.dest); err != nil {
		return errors.Join(err, os.Rename(d.dir+old, d.dest))
	}
	return errors.Join(os.RemoveAll(d.dir+old), sweep(d.dest, old))
}

// PublishFile moves a file of the draft to dest. With replace, it replaces an existing file. Otherwise an existing file is
// an error.
func (d *Stage) PublishFile(ctx context.Context, name, dest string, replace bool) error {
	if d.away != nil {
		return d.away.publishFile(ctx, d.Path(name), path.Base(dest), replace)
	}
	if replace {
		return os.Rename(d.Path(name), dest)
	}
	err := os.Link(d.Path(name), dest)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) { // the file system has no links
		err = os.Rename(d.Path(name), dest)
	}
	return err
}

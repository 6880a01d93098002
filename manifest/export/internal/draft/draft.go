// Package draft makes what is to stand at a name in a folder beside it, so that it appears
// whole or not at all.
//
//	.NAME.draft-RANDOM       locked by the process that writes it
//	.NAME.draft-RANDOM.old   what stood at NAME, where two names cannot be swapped in one step
//
// A process that is killed leaves its draft, but no lock. Whoever makes the next draft of the
// name removes it.
//
// Of what is to stand in an object store the draft is in the system's folder for temporary
// files, and goes from there: see away.
package draft

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

// Draft is a folder that is to stand somewhere, or that holds a file which is to.
type Draft struct {
	dir  string
	dest string
	lock io.Closer
	away *away // nil for what stands in a folder
}

const (
	mark = ".draft-"
	old  = ".old"
	// longest is how much of a name a draft's begins with, as names have limits.
	longest = 200
)

// prefix returns the first part of the names of drafts of a destination.
func prefix(dest string) string {
	name := filepath.Base(dest)
	return "." + name[:min(len(name), longest)] + mark
}

// New makes a draft for a destination, and removes abandoned drafts of it.
func New(dest string) (*Draft, error) {
	if err := sweep(dest, ""); err != nil {
		return nil, err
	}
	return begin(dest, 0o777)
}

// begin makes a draft with the rights that are given, less those that the user gives nobody.
func begin(dest string, mode fs.FileMode) (*Draft, error) {
	for {
		dir := filepath.Join(filepath.Dir(dest), prefix(dest)+strconv.FormatUint(rand.Uint64(), 10))
		err := os.Mkdir(dir, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f, err := lock(dir)
		if errors.Is(err, ErrTaken) || errors.Is(err, fs.ErrNotExist) {
			continue // somebody took it for one that was left
		}
		if err != nil {
			return nil, errors.Join(err, unlock(f), os.RemoveAll(dir))
		}
		return &Draft{dir: dir, dest: dest, lock: f}, nil
	}
}

// ErrTaken is the error of locking a draft that another process writes.
var ErrTaken = errors.New("another process is writing here")

// Lock keeps others who ask for it from a folder until it is closed. It may be nil, where the file
// system has no locks.
func Lock(name string) (io.Closer, error) {
	f, err := lock(name)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return f, err
}

// Turn waits until nobody else gives files in a folder their names who waits for a turn, too. It
// lasts until it is given back.
func Turn(ctx context.Context, folder string) (done func() error, err error) {
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	for {
		f, err := lockWithin(folder)
		if !errors.Is(err, ErrTaken) {
			return func() error { return unlock(f) }, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(turnPause):
		}
	}
}

// turnPause is how long to wait before looking whether a turn has come.
const turnPause = 10 * time.Millisecond

func unlock(f io.Closer) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// sweep removes drafts that were left, those whose names end in something.
func sweep(dest, ending string) error {
	entries, err := os.ReadDir(filepath.Dir(dest))
	if err != nil {
		return err
	}
	start := prefix(dest)
	for _, e := range entries {
		random, ours := strings.CutPrefix(e.Name(), start)
		random, ends := strings.CutSuffix(random, ending)
		if !ours || !ends || !isRandom(random) {
			continue
		}
		if err := remove(filepath.Join(filepath.Dir(dest), e.Name())); err != nil {
			return fmt.Errorf("what a stopped export left: %w", err)
		}
	}
	return nil
}

// isRandom reports whether a name ends as those that begin makes.
func isRandom(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// remove removes a draft unless somebody writes it, or nobody can tell.
func remove(dir string) error {
	f, err := lock(dir)
	if err != nil || f == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(dir), f.Close())
}

// Path is the folder, or the name of something in it.
func (d *Draft) Path(name ...string) string {
	return filepath.Join(append([]string{d.dir}, name...)...)
}

// Discard removes the draft and what is still in it, and returns what became of an export that
// ended with an error.
func (d *Draft) Discard(err error) error {
	if d.away != nil {
		err = d.away.discard(err)
	}
	return errors.Join(err, os.RemoveAll(d.dir), unlock(d.lock))
}

// Publish gives the folder its name. What stands there goes if it is to be replaced, in one
// step where the system can; else it stays, and is an error. In object stores the file that has
// readers find the others comes last.
func (d *Draft) Publish(ctx context.Context, last string, replace bool) error {
	if d.away != nil {
		return d.away.publish(ctx, d.dir, last)
	}
	if !replace {
		return os.Rename(d.dir, d.dest)
	}
	err := exchange(d.dir, d.dest) // the draft then is what stood there
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.Rename(d.dir, d.dest)
	case errors.Is(err, errors.ErrUnsupported):
		return d.replace()
	}
	return err
}

// replace is for file systems that cannot swap names.
func (d *Draft) replace() error {
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

// PublishFile gives a file of the draft a name outside of it. What stands there goes if it is
// to be replaced; else it stays, and is an error.
func (d *Draft) PublishFile(ctx context.Context, name, dest string, replace bool) error {
	if d.away != nil {
		return d.away.publishFile(ctx, d.Path(name), path.Base(dest), replace)
	}
	if replace {
		return os.Rename(d.Path(name), dest)
	}
	err := os.Link(d.Path(name), dest)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) { // no links here
		err = os.Rename(d.Path(name), dest)
	}
	return err
}

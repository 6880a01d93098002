package icechunk

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"varve/manifest/internal/home"
)

// fetched is the file repo as it was read.
type fetched struct {
	data    []byte
	version string
}

// awayChunks is the least number of chunks to re-encode at once for an object store, for which they mostly wait.
const awayChunks = 16

// takeBackPatience is the time limit for removing the files of a failed export.
const takeBackPatience = time.Minute

// takeBack removes the created files if err is not nil, also if ctx is cancelled, so that an interrupted export leaves nothing.
func (c *commit) takeBack(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackPatience)
	defer cancel()
	_ = c.home.Settle() // closes the files
	_, failed := c.home.Remove(ctx, c.made...)
	return errors.Join(err, failed)
}

// swap replaces the file repo, if it is still the version that was read. If the outcome is unknown, the created files stay,
// because the new repo may refer to them.
func (c *commit) swap(ctx context.Context, was fetched) error {
	file, err := c.encodeRepo()
	if err == nil {
		err = c.home.Settle()
	}
	if err != nil {
		return err
	}
	err = home.Publish(ctx, c.home, repoKey, file, was.version)
	// Only these two errors are certain to leave the old repo in place.
	if err != nil && !errors.Is(err, home.ErrConflict) && !errors.Is(err, fs.ErrPermission) {
		c.made = nil
	}
	return err
}

// destinationIn returns what exists at the prefix.
func destinationIn(ctx context.Context, p *home.Prefix) (destination, error) {
	names, err := home.Top(ctx, p)
	if err != nil || len(names) == 0 {
		return nothing, err
	}
	is := leftovers
	for _, name := range names {
		switch {
		case name == repoKey:
			return repository, nil
		case !isFolder(name):
			is = somethingElse
		}
	}
	// Icechunk 1 stores its branches below refs/.
	for _, err := range p.Walk(ctx, "refs/branch.main/") {
		return repository, err
	}
	if is == somethingElse {
		return is, nil
	}
	// A failed export leaves the first snapshot, whose key all exports share.
	for key, err := range p.Walk(ctx, "") {
		if err != nil || !strings.HasSuffix(key, "/"+firstSnapshot.String()) {
			return leftovers, err
		}
	}
	return nothing, nil // except the files of the first snapshot
}

func isFolder(name string) bool {
	for _, f := range folders {
		if strings.TrimSuffix(name, "/") == f && name != f {
			return true
		}
	}
	return false
}

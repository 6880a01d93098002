package source

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// remoteFiles is the number of files on servers that are read at once. Most of the time they wait for answers. An Opener
// also limits the requests to each host.
const remoteFiles = 64

// Workers returns the number of files to read at once: fixed, if it is positive, or else one per processor for local
// files, and 64 for files on servers.
func Workers(fixed int, remote bool) int {
	switch {
	case fixed > 0:
		return fixed
	case remote:
		return max(remoteFiles, runtime.GOMAXPROCS(0))
	}
	return runtime.GOMAXPROCS(0)
}

// IsRemote reports whether a name is not that of a local file or folder.
func IsRemote(name string) bool {
	_, err := LocalPath(name)
	return err != nil
}

// Group runs functions that read files, at most Workers of them at once.
type Group struct {
	group         *errgroup.Group
	ctx           context.Context
	local, remote chan struct{} // hold one element per function
}

// NewGroup returns a Group, and a context that ends when a function fails. workers is the number of functions at once; 0
// means that it depends on where the files are.
func NewGroup(ctx context.Context, workers int) (*Group, context.Context) {
	g := &Group{local: make(chan struct{}, Workers(workers, false))}
	g.remote = g.local
	if workers <= 0 {
		g.remote = make(chan struct{}, Workers(0, true))
	}
	g.group, g.ctx = errgroup.WithContext(ctx)
	return g, g.ctx
}

// Go calls do in a goroutine, as soon as there is room for another function that reads files like the named one. It does
// nothing after a function has failed.
func (g *Group) Go(name string, do func() error) {
	room := g.local
	if IsRemote(name) {
		room = g.remote
	}
	select {
	case room <- struct{}{}:
	case <-g.ctx.Done():
		return
	}
	g.group.Go(func() error {
		defer func() { <-room }()
		return do()
	})
}

// Wait waits for all functions, and returns the first error, or the error of the context.
func (g *Group) Wait() error {
	ctx := context.Cause(g.ctx) // Wait itself ends the context
	if err := g.group.Wait(); err != nil {
		return err
	}
	return ctx
}

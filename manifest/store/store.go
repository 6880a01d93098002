package store

import (
	"context"
	"errors"
	"fmt"

	"varve/manifest"
	"varve/readers/source"
)

// Options say what a store may reach and how much memory it takes. What is zero is as the
// field says.
type Options struct {
	// Allow are the prefixes of sources that may be read: folders, and URLs up to a slash.
	// The prefixes that a manifest needs and nobody allows are named in the error, which is
	// a source.ErrForbidden.
	Allow []string
	// Trusted lets the manifest reach what it names, whoever built it.
	Trusted bool

	// Snapshot is the id of the one to open; empty for the current one.
	Snapshot string
	// Opener opens sources; nil for one of the store's own.
	Opener *source.Opener

	// CacheBytes bounds what is kept of decoded and encoded chunks; 0 stands for 128 MiB,
	// less than that for none.
	CacheBytes int64
	// FlightBytes bounds what is fetched and not yet placed, by all reads together; 0 stands
	// for 256 MiB. A chunk that is larger is read alone.
	FlightBytes int64
	// OpenFiles bounds the sources that are open at a time; 0 stands for 256.
	OpenFiles int
	// Workers bounds the cores that decode; 0 stands for GOMAXPROCS.
	Workers int
}

// Store is an open manifest. It may be used by any number of goroutines.
type Store struct {
	snapshot *manifest.Snapshot
}

// ErrNoArray marks the error of asking for an array that the manifest does not have.
var ErrNoArray = errors.New("no such array")

// Open opens a manifest. It reads no source, and of the tables only what is asked for later.
func Open(ctx context.Context, dir string, opts *Options) (*Store, error) {
	return nil, fmt.Errorf("%s: %w", dir, errors.ErrUnsupported)
}

// Close closes the sources and tables that are open. Reads under way fail.
func (s *Store) Close() error { return nil }

// Snapshot is what was opened. It must not be changed.
func (s *Store) Snapshot() *manifest.Snapshot { return s.snapshot }

// Groups are the groups as clients see them, by path. They must not be changed.
func (s *Store) Groups() []manifest.GroupFace { return s.snapshot.Groups }

// Arrays are all arrays, in the order of the snapshot.
func (s *Store) Arrays() []*Array { return nil }

// Array returns the array at a path, "/group/name"; the first slash may be left out. The
// error for one that is not there is ErrNoArray.
func (s *Store) Array(path string) (*Array, error) {
	return nil, fmt.Errorf("%s: %w", path, ErrNoArray)
}

// Source is what is known of a source by its row, as it was when it was scanned.
func (s *Store) Source(ctx context.Context, row int64) (manifest.Source, error) {
	return manifest.Source{}, fmt.Errorf("source %d: %w", row, errors.ErrUnsupported)
}

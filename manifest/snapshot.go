package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"varve/zarrjson"
)

// Version is the version of the stored form that this package writes.
const Version = 1

// Generation is raised whenever a fault is mended that manifests are built with: one of a lower
// generation may have it, and is to be built anew. What has it is said by plan.Mended.
const Generation = 1

// Snapshot is one state of a manifest: the schemas of its arrays, and the tables that hold the
// rest. It never changes once it is published.
type Snapshot struct {
	Varve   int    // the version of the stored form
	ID      string // hash of all else
	Parent  string // the snapshot before it; empty for the first
	Created time.Time
	Message string // what made it: "build", "append 3 files", …
	Writer  string // the program that made it

	// Generation is the lowest of what scanned and planned the sources; 0 of what did not say.
	Generation int

	// Options are the plan's, as they were given, so that an append plans alike.
	Options json.RawMessage
	// State is what the planner has to know to append without planning everything again.
	State json.RawMessage
	// Merged are the lengths along dimensions up to which chunks were merged last, by the
	// dimensions' names or paths. A plan that is made anew takes over edges along these.
	Merged map[string]int64

	Groups     []GroupSchema
	Arrays     []Array
	Placements []PlacementTable
	Tables     []Table
	Skipped    []Skipped

	Sources int64 // files that arrays are made of
	Refs    int64 // rows of the table of refs

	Seal *Seal // nil if nobody has sealed it
}

// Seal tells a user's own manifests from those of others: it lists the prefixes of all
// sources, and has a code over them that only this user can make.
type Seal struct {
	Prefixes []string `json:"prefixes"` // folders, and URLs without what is behind the last slash
	MAC      string   `json:"mac"`      // in hex
}

// GroupSchema is a group as clients see it.
type GroupSchema struct {
	Path       string // "/" for the root
	Attributes zarrjson.Attributes
}

// PlacementTable is a Placement as a snapshot keeps it: tiles are in tables.
type PlacementTable struct {
	ID       string
	Dims     []string
	Segments []Segment
}

// Segment is a run of rows of a table of tiles, all of them moved by the same distance: files
// that come before others do not rewrite the others' rows.
type Segment struct {
	Table string // its Name
	Row   int64
	Rows  int64
	Shift []int64 // for each of the placement's Dims
}

// TableKind is what a table holds.
type TableKind string

// The tables.
const (
	Sources TableKind = "sources" // Source, Header, Groups, Values and Row of each file
	Headers TableKind = "headers"
	Groups  TableKind = "groups" // GroupAttributes
	ValueOf TableKind = "values"
	Refs    TableKind = "refs"
	Blobs   TableKind = "inline" // bytes that refs point at
	Tiles   TableKind = "tiles"
	Patches TableKind = "patches" // where re-encoded chunks are in a file of chunks
	Chunks  TableKind = "chunks"  // no table: re-encoded chunks behind one another
)

// Table is one immutable file of a manifest.
type Table struct {
	Kind  TableKind
	Name  string // of the file, within the manifest
	First int64  // the number of its first row, among the rows of all tables of its kind
	Rows  int64
	Bytes int64
	Sum   string // SHA-256, in hex
}

// Skipped is a source that was left out when it was asked to.
type Skipped struct {
	URL string
	Why string
}

// Rows is how many rows of a kind its tables hold.
func (s *Snapshot) Rows(kind TableKind) (n int64) {
	for _, t := range s.Tables {
		if t.Kind == kind {
			n += t.Rows
		}
	}
	return n
}

// CheckNames returns an error that names every group and array that clients of Zarr would not
// find, or take for another.
func (s *Snapshot) CheckNames() error {
	var paths []string
	for i := range s.Groups {
		paths = append(paths, s.Groups[i].Path)
	}
	for i := range s.Arrays {
		paths = append(paths, s.Arrays[i].Path)
	}
	var bad []error
	for _, path := range paths {
		if err := zarrjson.CheckPath(path); err != nil {
			bad = append(bad, fmt.Errorf("%v: build with --rename OLD=NEW, or --drop it: %w", err, errors.ErrUnsupported))
		}
	}
	return errors.Join(bad...)
}

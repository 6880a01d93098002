package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"varve/zarrjson"
)

// Version is the version of the stored form that this package writes and reads, and of each of its files.
const Version = 1

// VersionOfViews is the version of a snapshot whose plan may read files in another order than they are stored: with
// plan.Options.Longitudes or Flip. Programs that do not know these options must not read or extend it.
const VersionOfViews = 2

// SetVersion sets Varve to the lowest version whose programs know all options of the plan.
func (s *Snapshot) SetVersion() error {
	var options struct{ Longitudes, Flip json.RawMessage }
	if s.Options != nil {
		if err := json.Unmarshal(s.Options, &options); err != nil {
			return fmt.Errorf("options: %w", err)
		}
	}
	if s.Varve = Version; options.Longitudes != nil || options.Flip != nil {
		s.Varve = VersionOfViews
	}
	return nil
}

// Generation is increased when a bug is fixed that made wrong manifests. A manifest of a lower generation
// may be wrong and should be built again; ingest.Faults says which manifests the bug may affect.
const Generation = 1

// Snapshot is one immutable version of a manifest: the schemas of its arrays, and the tables with
// everything else.
type Snapshot struct {
	Varve   int    // the version of the stored form
	ID      string // hash of the file
	Parent  string // ID of the snapshot before it; empty for the first
	Created time.Time
	Message string // what made it: "build", "append 3 files", …
	Writer  string // the program that made it

	// Generation is the lowest generation of the programs that scanned and planned the sources; 0 if
	// they recorded none.
	Generation int

	// Options are the options of the plan, so that an append uses the same options.
	Options json.RawMessage
	// State lets the planner append without planning everything again.
	State json.RawMessage
	// Merged is the length up to which chunks were merged last, by the name or path of the dimension.
	// A new plan keeps the edges along these dimensions.
	Merged map[string]int64

	Groups     []GroupSchema
	Arrays     []Array
	Placements []PlacementTable
	Tables     []Table
	Skipped    []Skipped

	Sources int64 // number of files that have tiles in arrays
	Refs    int64 // number of rows of the table of refs
	// Checksums says that refs have checksums. Appends then also compute checksums of new refs.
	Checksums bool

	Seal *Seal // nil if the snapshot is not sealed
}

// Seal is the signature by which varve recognises a manifest that this user built: the prefixes of all
// sources, and a code over them that only this user can compute.
type Seal struct {
	Prefixes []string `json:"prefixes"` // folders, and URLs up to the last slash
	MAC      string   `json:"mac"`      // in hex
}

// GroupSchema is a group as clients see it.
type GroupSchema struct {
	Path           string // "/" for the root
	Attributes     zarrjson.Attributes
	AttributeTypes map[string]string // as in Array
}

// PlacementTable is a Placement in stored form: its tiles are in tables.
type PlacementTable struct {
	ID       string
	Dims     []string
	Segments []Segment
}

// Segment is a run of rows of a table of tiles, all shifted by the same distance. So inserting files
// in front of others does not rewrite the rows of the others.
type Segment struct {
	Table string // Name of the table
	Row   int64
	Rows  int64
	Shift []int64 // for each of the placement's Dims
}

// TableKind is the kind of a table's rows.
type TableKind string

// The kinds of tables.
const (
	Sources TableKind = "sources" // Source, Header, Groups, Values and Row of each file
	Headers TableKind = "headers"
	Groups  TableKind = "groups" // GroupAttributes
	ValueOf TableKind = "values"
	Refs    TableKind = "refs"
	Blobs   TableKind = "inline" // the bytes of inline chunks
	Tiles   TableKind = "tiles"
	Patches TableKind = "patches" // locations of compacted chunks in a file of chunks
	Points  TableKind = "points"  // access points of stored chunks, which a reader need not know
	// FilePoints has the access points of files inside compressed files, which a reader need not know.
	FilePoints TableKind = "filepoints"
	Chunks     TableKind = "chunks" // not a table: compacted chunks, one after another
)

// Table is one immutable file of a manifest.
type Table struct {
	Kind  TableKind
	Name  string // file name within the manifest
	First int64  // number of its first row among the rows of all tables of its kind
	Rows  int64
	Bytes int64
	Sum   string // SHA-256, in hex
}

// Skipped is a source that was left out on request.
type Skipped struct {
	URL string
	Why string
}

// Rows returns the number of rows of all tables of a kind.
func (s *Snapshot) Rows(kind TableKind) (n int64) {
	for _, t := range s.Tables {
		if t.Kind == kind {
			n += t.Rows
		}
	}
	return n
}

// CheckNames returns an errors.ErrUnsupported that lists every group and array whose path Zarr clients
// cannot find or would confuse with another. It carries the remedies rename and drop.
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
			bad = append(bad, fmt.Errorf("%v: rename it, or leave it out: %w", err, errors.ErrUnsupported))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return WithRemedy(errors.Join(bad...), "build/rename", "OLD=NEW").Or("build/drop", "PATH")
}

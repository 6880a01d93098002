package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"varve/manifest"
	"varve/readers/parquet"
)

// The columns of each kind of table, in order. docs/reference/format.md describes them.
var (
	sourceColumns = []parquet.Column{
		{Name: "url", Type: parquet.Text},
		{Name: "raw_url", Type: parquet.Bytes, Optional: true},
		{Name: "size", Type: parquet.Int},
		{Name: "modified", Type: parquet.Int, Optional: true},
		{Name: "modified_ns", Type: parquet.Int, Optional: true},
		{Name: "etag", Type: parquet.Bytes, Optional: true},
		{Name: "format", Type: parquet.Text},
		{Name: "header", Type: parquet.Text, Optional: true},
		{Name: "groups", Type: parquet.Text, Optional: true},
		{Name: "values", Type: parquet.JSON, Optional: true},
		{Name: "parts", Type: parquet.JSON, Optional: true},
		{Name: "row", Type: parquet.Int},
		{Name: "bytes", Type: parquet.Int},
		{Name: "hidden", Type: parquet.Int},
		{Name: "scanned", Type: parquet.Text, Optional: true},
	}
	documentColumns = []parquet.Column{
		{Name: "id", Type: parquet.Text},
		{Name: "json", Type: parquet.JSON},
	}
	valueColumns = []parquet.Column{
		{Name: "id", Type: parquet.Text},
		{Name: "data", Type: parquet.Bytes, Optional: true},
		{Name: "texts", Type: parquet.Bytes, Optional: true},
	}
	refColumns = []parquet.Column{
		{Name: "offset", Type: parquet.Int},
		{Name: "length", Type: parquet.Int, Optional: true},
		{Name: "mask", Type: parquet.Int},
		{Name: "other", Type: parquet.Int},
	}
	inlineColumns = []parquet.Column{
		{Name: "data", Type: parquet.Bytes},
	}
	patchColumns = []parquet.Column{
		{Name: "chunk", Type: parquet.Int},
		{Name: "offset", Type: parquet.Int},
		{Name: "length", Type: parquet.Int},
		{Name: "checksum", Type: parquet.Int},
	}
)

// Indices of columns in their tables.
const (
	offsetColumn, lengthColumn, maskColumn, otherColumn = 0, 1, 2, 3

	idColumn, jsonColumn   = 0, 1
	dataColumn, textColumn = 1, 2

	headerColumn, rowColumn = 7, 11
	scannedColumn           = 14
)

// unmovedColumns are the columns of a table of sources that were not moved since they were
// scanned. Only tables that "varve relocate" writes have the last column too.
var unmovedColumns = sourceColumns[:scannedColumn]

// maxDims is the largest number of dimensions along which files are placed.
const maxDims = 64

// tileColumns returns the columns of a table of tiles for a number of dimensions.
func tileColumns(dims int) []parquet.Column {
	columns := []parquet.Column{{Name: "file", Type: parquet.Int}}
	for i := range dims {
		for _, name := range []string{"origin", "start", "shape"} {
			columns = append(columns, parquet.Column{Name: name + strconv.Itoa(i), Type: parquet.Int})
		}
	}
	return columns
}

// columnsOf returns the columns of a kind. The columns of tiles depend on the file.
func columnsOf(kind manifest.TableKind, f *parquet.File) ([]parquet.Column, error) {
	switch kind {
	case manifest.Sources:
		return sourceColumns, nil
	case manifest.Headers, manifest.Groups:
		return documentColumns, nil
	case manifest.ValueOf:
		return valueColumns, nil
	case manifest.Refs:
		return refColumns, nil
	case manifest.Blobs:
		return inlineColumns, nil
	case manifest.Patches:
		return patchColumns, nil
	case manifest.Tiles:
		return tileColumns(min(len(f.Columns)/3, maxDims)), nil
	}
	return nil, fmt.Errorf("tables of kind %q are %w", kind, errors.ErrUnsupported)
}

// kindColumn is the column of a part that says to which table the rows of a row group belong.
var kindColumn = parquet.Column{Name: "table", Type: parquet.Text}

// partKinds are the tables in a part.
var partKinds = []manifest.TableKind{manifest.Refs, manifest.Blobs, manifest.Sources, manifest.Headers, manifest.Groups, manifest.ValueOf}

// partColumns returns the columns of all these tables, without duplicates. All except the first are
// optional, because rows of one table have no values in the columns of the others.
func partColumns() []parquet.Column {
	columns := []parquet.Column{kindColumn}
	have := map[string]bool{}
	for _, kind := range partKinds {
		of, err := columnsOf(kind, nil)
		if err != nil {
			continue
		}
		if kind == manifest.Sources {
			of = unmovedColumns
		}
		for _, c := range of {
			if !have[c.Name] {
				have[c.Name] = true
				columns = append(columns, parquet.Column{Name: c.Name, Type: c.Type, Optional: true})
			}
		}
	}
	return columns
}

// metaKey is the metadata key by which a file is recognised as varve's.
const metaKey = "varve"

// partTable is the table kind in the metadata of a part.
const partTable = manifest.TableKind("part")

// meta is the JSON value of metaKey.
type meta struct {
	Version int                `json:"version"`
	Table   manifest.TableKind `json:"table"`
	// Generation is the generation of the program that scanned a part.
	Generation int `json:"generation"`
}

func metaOf(kind manifest.TableKind) parquet.Pair {
	return parquet.Pair{Key: metaKey, Value: fmt.Sprintf(`{"version":%d,"table":%q}`, manifest.Version, kind)}
}

// readMeta returns the metadata of a file, and checks its version and kind.
func readMeta(f *parquet.File, kind manifest.TableKind) (m meta, err error) {
	text, ok := f.Lookup(metaKey)
	if !ok {
		return m, errors.New("its metadata lacks the key varve")
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("metadata: varve: %w", err)
	}
	if m.Version != manifest.Version {
		return m, fmt.Errorf("the table has version %d, which is %w: this varve reads version %d", m.Version, errors.ErrUnsupported, manifest.Version)
	}
	if m.Table != kind {
		return m, fmt.Errorf("it contains %.40q instead of %q", m.Table, kind)
	}
	return m, nil
}

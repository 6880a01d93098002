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
		urlColumn:           {Name: "url", Type: parquet.Text},
		rawURLColumn:        {Name: "raw_url", Type: parquet.Bytes, Optional: true},
		sizeColumn:          {Name: "size", Type: parquet.Int},
		modifiedColumn:      {Name: "modified", Type: parquet.Int, Optional: true},
		modifiedNanosColumn: {Name: "modified_ns", Type: parquet.Int, Optional: true},
		etagColumn:          {Name: "etag", Type: parquet.Bytes, Optional: true},
		formatColumn:        {Name: "format", Type: parquet.Text},
		headerColumn:        {Name: "header", Type: parquet.Text, Optional: true},
		groupsColumn:        {Name: "groups", Type: parquet.Text, Optional: true},
		valuesColumn:        {Name: "values", Type: parquet.JSON, Optional: true},
		partsColumn:         {Name: "parts", Type: parquet.JSON, Optional: true},
		rowColumn:           {Name: "row", Type: parquet.Int},
		bytesColumn:         {Name: "bytes", Type: parquet.Int},
		hiddenColumn:        {Name: "hidden", Type: parquet.Int},
		scannedColumn:       {Name: "scanned", Type: parquet.Text, Optional: true},
	}
	documentColumns = []parquet.Column{
		idColumn:   {Name: "id", Type: parquet.Text},
		jsonColumn: {Name: "json", Type: parquet.JSON},
	}
	valueColumns = []parquet.Column{
		idColumn:    {Name: "id", Type: parquet.Text},
		dataColumn:  {Name: "data", Type: parquet.Bytes, Optional: true},
		textsColumn: {Name: "texts", Type: parquet.Bytes, Optional: true},
	}
	refColumns = []parquet.Column{
		offsetColumn: {Name: "offset", Type: parquet.Int},
		lengthColumn: {Name: "length", Type: parquet.Int, Optional: true},
		maskColumn:   {Name: "mask", Type: parquet.Int},
		otherColumn:  {Name: "other", Type: parquet.Int},

		checksumColumn: {Name: "checksum", Type: parquet.Int},
	}
	inlineColumns = []parquet.Column{
		inlineColumn: {Name: "data", Type: parquet.Bytes},
	}
	patchColumns = []parquet.Column{
		patchChunkColumn:    {Name: "chunk", Type: parquet.Int},
		patchOffsetColumn:   {Name: "offset", Type: parquet.Int},
		patchLengthColumn:   {Name: "length", Type: parquet.Int},
		patchChecksumColumn: {Name: "checksum", Type: parquet.Int},
	}
	pointColumns = []parquet.Column{
		pointsRefColumn:      {Name: "ref", Type: parquet.Int},
		pointsSourceColumn:   {Name: "source", Type: parquet.Text, Optional: true},
		pointsOffsetColumn:   {Name: "offset", Type: parquet.Int, Optional: true},
		pointsLengthColumn:   {Name: "length", Type: parquet.Int, Optional: true},
		pointsCodecsColumn:   {Name: "codecs", Type: parquet.Text, Optional: true},
		pointsSizeColumn:     {Name: "size", Type: parquet.Int, Optional: true},
		pointsPointsColumn:   {Name: "points", Type: parquet.Bytes, Optional: true},
		pointsSumsColumn:     {Name: "sums", Type: parquet.Bytes, Optional: true},
		pointsWindowColumn:   {Name: "window", Type: parquet.Bytes, Optional: true},
		pointsChecksumColumn: {Name: "checksum", Type: parquet.Int},
	}
)

// Columns of the table of sources.
const (
	urlColumn = iota
	rawURLColumn
	sizeColumn
	modifiedColumn
	modifiedNanosColumn
	etagColumn
	formatColumn
	headerColumn
	groupsColumn
	valuesColumn
	partsColumn
	rowColumn
	bytesColumn
	hiddenColumn
	scannedColumn
)

// Columns of the tables of headers and groups, and of values.
const (
	idColumn   = 0
	jsonColumn = 1

	dataColumn  = 1
	textsColumn = 2
)

// Columns of the table of refs.
const (
	offsetColumn = iota
	lengthColumn
	maskColumn
	otherColumn
	checksumColumn
)

// uncheckedRefColumns are the columns of a table of refs without checksums. Scan parts and most manifests have
// only these.
var uncheckedRefColumns = refColumns[:checksumColumn]

// mayLack reports whether a table of a kind may lack a column.
func mayLack(kind manifest.TableKind, column int) bool {
	return kind == manifest.Sources && column == scannedColumn || kind == manifest.Refs && column == checksumColumn
}

// inlineColumn is the column of the table of inline bytes.
const inlineColumn = 0

// Columns of the table of patches.
const (
	patchChunkColumn = iota
	patchOffsetColumn
	patchLengthColumn
	patchChecksumColumn
)

// Columns of the table of access points.
const (
	pointsRefColumn = iota
	pointsSourceColumn
	pointsOffsetColumn
	pointsLengthColumn
	pointsCodecsColumn
	pointsSizeColumn
	pointsPointsColumn
	pointsSumsColumn
	pointsWindowColumn
	pointsChecksumColumn
)

// Columns of a table of tiles: the file, then these three for each dimension.
const (
	fileColumn = iota
	originColumn
	startColumn
	shapeColumn

	columnsOfDim = 3
)

// dimColumn returns the column of a dimension.
func dimColumn(column, dim int) int { return column + columnsOfDim*dim }

// unmovedColumns are the columns of a table of sources that were not moved since they were
// scanned. Only tables that "varve relocate" writes have the last column too.
var unmovedColumns = sourceColumns[:scannedColumn]

// maxDims is the largest number of dimensions along which files are placed.
const maxDims = 64

// tileColumns returns the columns of a table of tiles for a number of dimensions.
func tileColumns(dims int) []parquet.Column {
	columns := make([]parquet.Column, dimColumn(originColumn, dims))
	columns[fileColumn] = parquet.Column{Name: "file", Type: parquet.Int}
	for i := range dims {
		number := strconv.Itoa(i)
		columns[dimColumn(originColumn, i)] = parquet.Column{Name: "origin" + number, Type: parquet.Int}
		columns[dimColumn(startColumn, i)] = parquet.Column{Name: "start" + number, Type: parquet.Int}
		columns[dimColumn(shapeColumn, i)] = parquet.Column{Name: "shape" + number, Type: parquet.Int}
	}
	return columns
}

// columnsOf returns the columns of a kind. The columns of tiles depend on the file.
func columnsOf(kind manifest.TableKind, f *parquet.File) ([]parquet.Column, error) {
	switch kind {
	case manifest.Sources:
		return sourceColumns, nil
	case manifest.Headers, manifest.Groups, skippedTable:
		return documentColumns, nil
	case manifest.ValueOf:
		return valueColumns, nil
	case manifest.Refs:
		return refColumns, nil
	case manifest.Blobs:
		return inlineColumns, nil
	case manifest.Patches:
		return patchColumns, nil
	case manifest.Points, manifest.FilePoints:
		return pointColumns, nil
	case manifest.Tiles:
		return tileColumns(min(len(f.Columns)/columnsOfDim, maxDims)), nil
	}
	return nil, fmt.Errorf("tables of kind %q are %w", kind, errors.ErrUnsupported)
}

// tableColumn is the column of a part that says to which table the rows of a row group belong.
const tableColumn = 0

var kindColumn = parquet.Column{Name: "table", Type: parquet.Text}

// partKinds are the tables in a part.
var partKinds = []manifest.TableKind{manifest.Refs, manifest.Blobs, manifest.Sources, manifest.Headers, manifest.Groups, manifest.ValueOf, manifest.FilePoints, skippedTable}

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
		switch kind {
		case manifest.Sources:
			of = unmovedColumns
		case manifest.Refs:
			of = uncheckedRefColumns
		}
		for _, c := range of {
			if name := nameInPart(kind, c.Name); !have[name] {
				have[name] = true
				columns = append(columns, parquet.Column{Name: name, Type: c.Type, Optional: true})
			}
		}
	}
	return columns
}

// nameInPart returns the name of a column in a part. The column checksum would mean that the part has checksums of chunks.
func nameInPart(kind manifest.TableKind, name string) string {
	if kind == manifest.FilePoints && name == "checksum" {
		return "points_checksum"
	}
	return name
}

// metaKey is the metadata key by which a file is recognised as varve's.
const metaKey = "varve"

// partTable is the table kind in the metadata of a part.
const partTable = manifest.TableKind("part")

// skippedTable is the kind of the rows of a part for sources that were left out. A manifest has them in its snapshot.
const skippedTable = manifest.TableKind("skipped")

// meta is the JSON value of metaKey.
type meta struct {
	Version int                `json:"version"`
	Table   manifest.TableKind `json:"table"`
	// Generation is the generation of the program that scanned a part.
	Generation int `json:"generation"`
	// Seal says who scanned a part. It is nil if that user has no key.
	Seal *manifest.Seal `json:"seal,omitempty"`
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

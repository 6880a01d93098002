package kerchunk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/change"
	"varve/zarrjson"
)

// checkFormat refuses to update references that have another Zarr format: programs that open the published references
// could not open the new ones.
func (e *export) checkFormat() error {
	if e.opts.Regular && e.docs.format == 2 {
		return nil // the user chose the grid, and so the format
	}
	name := e.dest
	if !e.isJSON() {
		name = filepath.Join(e.dest, metadataName)
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	old, grids, err := formatOf(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, a := range e.arrays {
		if err := change.CheckGrid(e.dest, a.Path(), grids[strings.Trim(a.Path(), "/")], a.Schema().ChunkGrid.Name); err != nil {
			return manifest.WithRemedy(err, "regular", "").Or("force", "")
		}
	}
	if old == 0 || old == e.docs.format {
		return nil
	}
	because := ""
	if e.docs.because != "" {
		because = ", because " + e.docs.because
	}
	err = fmt.Errorf("%s: an update would change the references from Zarr %d to Zarr %d%s; nothing was written: %w", e.dest, old, e.docs.format, because, errors.ErrUnsupported)
	if e.docs.irregular {
		return manifest.WithRemedy(err, "regular", "").Or("force", "")
	}
	return manifest.WithRemedy(err, "force", "")
}

// formatOf returns the Zarr format of references, or 0 if there is no document of the root group, and in Zarr 3 the kinds of
// the arrays' chunk grids, by path. It reads little, because the documents come first.
func formatOf(r io.Reader) (format int, grids map[string]zarrjson.GridName, err error) {
	d := json.NewDecoder(r)
	if _, err := d.Token(); err != nil {
		return 0, nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return 0, nil, err
		}
		if name != "refs" && name != "metadata" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return 0, nil, err
			}
			continue
		}
		return formatIn(d)
	}
	return 0, nil, nil
}

// formatIn is formatOf for an object whose keys are names of documents and chunks.
func formatIn(d *json.Decoder) (format int, grids map[string]zarrjson.GridName, err error) {
	if _, err := d.Token(); err != nil {
		return 0, nil, err
	}
	grids = map[string]zarrjson.GridName{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return 0, nil, err
		}
		var content json.RawMessage
		if err := d.Decode(&content); err != nil {
			return 0, nil, err
		}
		name, _ := key.(string)
		switch {
		case name == ".zgroup":
			return 2, nil, nil
		case name == "zarr.json":
			format = 3
		case format == 3 && path.Base(name) == "zarr.json":
			grids[path.Dir(name)] = gridIn(content)
		case format == 3 && path.Base(name) != ".zarray": // .zarray describes the Parquet files of an array
			return format, grids, nil // the chunks follow the documents
		}
	}
	return format, grids, nil
}

// gridIn returns the kind of chunk grid in a document, which may be encoded as a text, or "" if it is not of an array.
func gridIn(document json.RawMessage) zarrjson.GridName {
	var text string
	if json.Unmarshal(document, &text) == nil {
		document = json.RawMessage(text)
	}
	var a struct {
		Grid struct {
			Name zarrjson.GridName `json:"name"`
		} `json:"chunk_grid"`
	}
	if json.Unmarshal(document, &a) != nil {
		return ""
	}
	return a.Grid.Name
}

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/report"
	"varve/zarrjson"
)

// arrayJSON is an array in the JSON of info and check.
type arrayJSON struct {
	Path   string          `json:"path"`
	Dims   []string        `json:"dims"`
	Shape  []int64         `json:"shape"`
	DType  string          `json:"dtype"`
	Grid   json.RawMessage `json:"grid"`
	Codecs json.RawMessage `json:"codecs"`
	Chunks countsJSON      `json:"chunks"`

	Layout *zarrjson.ChunkLayout `json:"layout"`
}

// countsJSON are manifest.Counts under the names of the glossary. Manifests store older names.
type countsJSON struct {
	Verbatim  int64 `json:"verbatim"`
	Prefix    int64 `json:"prefix"`
	Reencoded int64 `json:"reencoded"`
	Missing   int64 `json:"missing"`
	Patched   int64 `json:"patched,omitempty"`
}

// arraysJSON describes arrays as their own documents do.
func arraysJSON(arrays []manifest.Array) ([]arrayJSON, error) {
	out := make([]arrayJSON, len(arrays))
	for i := range arrays {
		if err := out[i].describe(&arrays[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", arrays[i].Path, err)
		}
	}
	return out, nil
}

func (j *arrayJSON) describe(a *manifest.Array) error {
	doc, err := a.Schema.Encode(zarrjson.Compact)
	if err != nil {
		return err
	}
	var parts struct {
		Grid   json.RawMessage `json:"chunk_grid"`
		Codecs json.RawMessage `json:"codecs"`
	}
	if err := json.Unmarshal(doc, &parts); err != nil {
		return err
	}
	layout, err := a.Schema.ChunkLayout()
	if err != nil {
		return err
	}
	*j = arrayJSON{a.Path, a.Schema.Dims(), a.Schema.Shape, a.Schema.DataType.Name(), parts.Grid, parts.Codecs, countsJSON(a.Chunks), layout}
	return nil
}

// printArrays prints each array: type, chunks, and how its chunks are served.
//
//	/sst  (time: 1461, lat: 720, lon: 1440)  int16
//	    chunks    time 366+[365×3]; lat 360×2; lon 720×2
//	    codecs    bytes, numcodecs.shuffle, numcodecs.zlib
//	    served    12 verbatim, 4 re-encoded of 16 chunks
func printArrays(w io.Writer, arrays []manifest.Array) error {
	out := bufio.NewWriter(w)
	for i := range arrays {
		if err := printArray(out, &arrays[i]); err != nil {
			return err
		}
	}
	return out.Flush()
}

func printArray(out *bufio.Writer, a *manifest.Array) error {
	fmt.Fprintf(out, "%s  (%s)  %s\n", printable(a.Path), dimsText(a), a.Schema.DataType.Name())
	g, err := a.Schema.Grid()
	if err != nil {
		return fmt.Errorf("%s: %w", a.Path, err)
	}
	if g.Rank() > 0 {
		fmt.Fprintf(out, "    chunks    %s\n", printable(edges(g, a.Schema.Dims())))
	}
	fmt.Fprintf(out, "    codecs    %s\n    served    %s\n", codecsText(a), served(a))
	return nil
}

func dimsText(a *manifest.Array) string {
	dims := make([]string, len(a.Schema.Shape))
	for i, name := range a.Schema.Dims() {
		dims[i] = fmt.Sprintf("%s: %d", printable(name), a.Schema.Shape[i])
	}
	return strings.Join(dims, ", ")
}

func codecsText(a *manifest.Array) string {
	codecs := make([]string, len(a.Schema.Codecs))
	for i, c := range a.Schema.Codecs {
		codecs[i] = printable(c.Name)
	}
	return strings.Join(codecs, ", ")
}

// served says in how many ways an array's chunks get their bytes.
func served(a *manifest.Array) string {
	if a.Placement == "" {
		return "from the manifest"
	}
	c := a.Chunks
	patched := ""
	if c.Patched > 0 {
		patched = fmt.Sprintf(" (%s patched)", report.Thousands(c.Patched))
	}
	var parts []string
	for _, part := range []struct {
		n    int64
		name string
	}{{c.Verbatim, "verbatim" + patched}, {c.Prefix, "prefix"}, {c.Reencoded, "re-encoded"}, {c.Missing, "missing"}} {
		if part.n > 0 {
			parts = append(parts, report.Thousands(part.n)+" "+part.name)
		}
	}
	if len(parts) == 0 {
		return "no chunks"
	}
	return strings.Join(parts, ", ") + " of " + plural(c.Verbatim+c.Prefix+c.Reencoded+c.Missing, "chunk", "chunks")
}

// maxRuns bounds how many runs of edges are shown for one axis.
const maxRuns = 8

// edges writes the lengths of chunks along each axis, runs as length×count.
func edges(g *grid.Grid, names []string) string {
	axes := make([]string, g.Rank())
	for axis := range axes {
		var runs []string
		for run := range g.Dim(axis).Runs() {
			if len(runs) == maxRuns {
				runs = append(runs, "…")
				break
			}
			runs = append(runs, fmt.Sprintf("%d×%d", run.Data, run.Count))
		}
		if len(runs) == 0 {
			runs = []string{"none"}
		}
		axes[axis] = names[axis] + " " + strings.Join(runs, "+")
	}
	return strings.Join(axes, "; ")
}

package main

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"varve/manifest/report"
	"varve/readers/parquet"
)

// The archive with very many refs consists of granules. A granule has 40 variables of 25,000 compressed chunks each. It is a
// folder of kerchunk's references in Parquet, because the data would not fit on a disk. Chunks have random sizes from 2 to 10
// kB: 13 bits each, so that refs compress no better than those of real files.
const (
	granuleVariables = 40
	granuleChunks    = 25_000
	granuleRefs      = granuleVariables * granuleChunks
)

// granulesOfPart is the number of granules of a scan part.
const granulesOfPart = 100

var refColumns = []parquet.Column{
	{Name: "path", Type: parquet.Text, Optional: true},
	{Name: "offset", Type: parquet.Int},
	{Name: "size", Type: parquet.Int},
	{Name: "raw", Type: parquet.Bytes, Optional: true},
}

// writeData writes a file with one chunk, the only one that is read, and returns its bytes. The rest of the file is a hole,
// which takes no space.
func writeData(name string) (size int64, err error) {
	var chunk bytes.Buffer
	w := zlib.NewWriter(&chunk)
	if _, err := w.Write(make([]byte, 64*64*4)); err != nil {
		return 0, err
	}
	if err := w.Close(); err != nil {
		return 0, err
	}
	if err := os.WriteFile(name, chunk.Bytes(), 0o666); err != nil {
		return 0, err
	}
	return int64(chunk.Len()), os.Truncate(name, granuleRefs*10_048)
}

// writeGranule writes granule i to a folder. All references are to one file, which only has the last chunk of each variable.
func writeGranule(dir, data string, size int64, i int) error {
	random := rand.New(rand.NewPCG(uint64(i), 1))
	metadata := map[string]any{".zgroup": map[string]any{"zarr_format": 2}, ".zattrs": map[string]any{"granule": i}}
	offset := int64(4096)
	for v := range granuleVariables {
		name := fmt.Sprintf("v%02d", v)
		metadata[name+"/.zarray"] = map[string]any{"zarr_format": 2, "shape": []int{250 * 64, 100 * 64}, "chunks": []int{64, 64}, "dtype": "<f4",
			"compressor": nil, "filters": []any{map[string]any{"id": "zlib", "level": 4}}, "fill_value": nil, "order": "C"}
		metadata[name+"/.zattrs"] = map[string]any{"_ARRAY_DIMENSIONS": []string{"y", "x"}}
		path := parquet.Values{Index: make([]int32, granuleChunks), Bytes: [][]byte{[]byte(data)}}
		var offsets, sizes []int64
		for range granuleChunks {
			n := 2000 + random.Int64N(8000)
			offsets, sizes = append(offsets, offset), append(sizes, n)
			offset += n + 16*random.Int64N(4)
		}
		offsets[granuleChunks-1], sizes[granuleChunks-1] = 0, size
		none := slices.Repeat([]int32{-1}, granuleChunks)
		if err := writeRefs(filepath.Join(dir, name, "refs.0.parq"), []parquet.Values{path, {Ints: offsets}, {Ints: sizes}, {Index: none}}); err != nil {
			return err
		}
	}
	text, err := json.Marshal(map[string]any{"metadata": metadata, "record_size": granuleChunks})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".zmetadata"), text, 0o666)
}

func writeRefs(name string, columns []parquet.Values) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	w := parquet.NewWriter(out, refColumns, parquet.Options{Portable: true})
	err = w.RowGroup(granuleChunks, nil, columns)
	return errors.Join(err, w.Close(), out.Flush(), f.Close())
}

// refTable prints the cost of an archive with very many refs: of its scan parts, of the build from them, and of opening and
// reading it.
func (b *bench) refTable(ctx context.Context) error {
	granules := max(b.refs/granuleRefs, 2)
	data := b.path("data.nc")
	size, err := writeData(data)
	if err != nil {
		return err
	}
	var scan cost
	var parts []string
	for first := 0; first < granules; first += granulesOfPart {
		dir, part := b.path("granules"), b.path(fmt.Sprintf("refs%04d.parquet", len(parts)))
		for i := first; i < min(first+granulesOfPart, granules); i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := writeGranule(filepath.Join(dir, fmt.Sprintf("granule%06d.parq", i)), data, size, i); err != nil {
				return err
			}
		}
		c, err := b.measure(ctx, "scan", filepath.Join(dir, "*.parq"), "-o", part, "--allow", b.dir)
		if err != nil {
			return err
		}
		scan.elapsed, scan.processor, scan.memory = scan.elapsed+c.elapsed, scan.processor+c.processor, max(scan.memory, c.memory)
		parts = append(parts, part)
		// Only the parts are needed from here on. The granules of 10⁹ refs take 7 GB.
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	refs := int64(granules) * granuleRefs
	fmt.Printf("| %s refs in %s granules | elapsed | processor | most memory | |\n|---|---|---|---|---|\n", report.Thousands(refs), report.Thousands(int64(granules)))
	row := func(name string, c cost, note string) {
		fmt.Printf("| %s | %s | %s | %s | %s |\n", name, seconds(c.elapsed), seconds(c.processor), report.Size(c.memory), note)
	}
	row(fmt.Sprintf("`scan`, in %d parts", len(parts)), scan, "")
	out := b.path("refs.varve")
	for _, c := range []struct {
		name string
		args []string
	}{
		{"`build` from the parts", append([]string{"build", out, "--allow", b.dir, "--new-dim", `time=granule(\d+)`}, parts...)},
		{"`info`", []string{"info", out}},
		{"`info` of one array", []string{"info", out, "v07"}},
		{"`read` of one value", []string{"read", out, "v39", "--isel", fmt.Sprintf("time=%d,y=%d,x=%d", granules-1, 250*64-1, 100*64-1), "--stat"}},
	} {
		cost, err := b.measure(ctx, c.args...)
		if err != nil {
			return err
		}
		note := ""
		if c.args[0] == "build" {
			n, err := sizeOf(out)
			if err != nil {
				return err
			}
			note = fmt.Sprintf("%s, %.1f bytes a ref", report.Size(n), float64(n)/float64(refs))
		}
		row(c.name, cost, note)
	}
	fmt.Println()
	return nil
}

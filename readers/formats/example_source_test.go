package formats_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"varve/readers/formats"
	"varve/readers/source"
)

// member is a file of a tar in memory. Three methods make a source.Ranges of any storage with
// random access.
type member struct{ *bytes.Reader }

func (m member) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return m.Reader.ReadAt(p, off)
}

func (m member) Identity() source.Identity { return source.Identity{Size: m.Size()} }

func (m member) Close() error { return nil }

// A file in a storage that varve does not support itself: a member of a tar. Package sourcetest has
// the conformance suite for such a storage.
func ExampleOpen_ownSource() {
	ctx := context.Background()
	archive := tar.NewReader(bytes.NewReader(tarOf(month)))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			panic(err)
		}
		src := source.New(header.Name, member{bytes.NewReader(content)})
		data, err := formats.Open(ctx, src, nil)
		if err != nil {
			panic(err)
		}
		lat, err := data.Variable("/lat").ReadAll(ctx, 1<<20)
		if err != nil {
			panic(err)
		}
		fmt.Println(src.Name(), data.Format, lat.Type, lat.Shape, len(lat.Data), "bytes")
		if err := src.Close(); err != nil {
			panic(err)
		}
	}
	// Output: 2021-01.nc netCDF-4 <f8 [6] 48 bytes
}

func tarOf(name string) []byte {
	content, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "2021-01.nc", Mode: 0o644, Size: int64(len(content))}); err != nil {
		panic(err)
	}
	if _, err := w.Write(content); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

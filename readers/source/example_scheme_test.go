package source_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strings"

	"varve/readers/source"
)

// tape is a file of an archive that the program reads itself.
type tape struct{ *bytes.Reader }

func (t tape) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return t.Reader.ReadAt(p, off)
}

func (t tape) Identity() source.Identity { return source.Identity{Size: t.Size(), ETag: `"1"`} }
func (t tape) Close() error              { return nil }

// A program adds a scheme for its own storage. Pass the Opener to ingest.Options and store.Options: names of the scheme
// can then be sources of manifests.
func ExampleOptions_schemes() {
	files := map[string]string{"robot/7/a.grib": "GRIB…7777"}
	opener := source.NewOpener(&source.Options{Schemes: map[string]source.OpenFunc{
		"tape": func(_ context.Context, name string) (source.Ranges, error) {
			content, ok := files[strings.TrimPrefix(name, "tape://")]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return tape{bytes.NewReader([]byte(content))}, nil
		},
	}})
	defer opener.Close()
	ctx := context.Background()
	src, err := opener.Open(ctx, "tape://robot/7/a.grib")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.Close()
	magic, err := src.View(ctx, 0, 4)
	fmt.Printf("%s: %s %v\n", src.Name(), magic, err)
	_, err = opener.Open(ctx, "tape://robot/8/a.grib")
	fmt.Println(err)
	// Output:
	// tape://robot/7/a.grib: GRIB <nil>
	// tape://robot/8/a.grib: file does not exist
}

// A program records each read. An adapter of OpenTelemetry starts a span instead of the first line, and ends it
// instead of the second.
func ExampleOptions_trace() {
	opener := source.NewOpener(&source.Options{Trace: func(ctx context.Context, op source.Operation) (context.Context, func(error)) {
		fmt.Printf("begin %s %d bytes at %d\n", op.Name, op.Bytes, op.Offset)
		return ctx, func(err error) { fmt.Println("end", op.Name, err) }
	}})
	defer opener.Close()
	ctx := context.Background()
	src, err := opener.Open(ctx, "../../fixtures/demo/2021-01.nc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.Close()
	if _, err := src.ReadAt(ctx, make([]byte, 8), 16); err != nil {
		fmt.Println(err)
	}
	// Output:
	// begin source.read 8 bytes at 16
	// end source.read <nil>
}

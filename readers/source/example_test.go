package source_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"varve/readers/source"
)

// If a file changes while it is read, reading returns ErrChanged.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "ocean.nc")
	if err := os.WriteFile(name, []byte("CDF\x01 and so on"), 0o644); err != nil {
		panic(err)
	}

	ctx := context.Background()
	src, err := source.Open(ctx, name)
	if err != nil {
		panic(err)
	}
	defer src.Close()
	magic, err := src.View(ctx, 0, 4)
	fmt.Printf("%q %v\n", magic, err)

	if err := os.Truncate(name, 8); err != nil {
		panic(err)
	}
	_, err = src.ReadAt(ctx, make([]byte, 4), 4)
	fmt.Println(errors.Is(err, source.ErrChanged))
	// Output:
	// "CDF\x01" <nil>
	// true
}

// One Opener opens any number of sources, which share its connections and its cache.
func ExampleOpener() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(strings.Repeat("0123456789", 100_000)))
	}))
	defer server.Close()

	opener := source.NewOpener(&source.Options{CacheBytes: 64 << 20, Parallel: 4})
	defer opener.Close()
	ctx := context.Background()
	src, err := opener.Open(ctx, server.URL+"/ocean.nc")
	if err != nil {
		panic(err)
	}
	defer src.Close()

	// Close ranges are read in one request, distant ranges in parallel.
	chunks := []source.Range{{Offset: 400_000, Length: 5}, {Offset: 400_020, Length: 5}, {Offset: 900_005, Length: 5}}
	out := make([][]byte, len(chunks))
	if err := src.ReadRanges(ctx, chunks, out); err != nil {
		panic(err)
	}
	fmt.Printf("%d bytes: %s %s %s\n", src.Size(), out[0], out[1], out[2])
	fmt.Println(src.Stats().Requests, "requests")
	// Output:
	// 1000000 bytes: 01234 01234 56789
	// 3 requests
}

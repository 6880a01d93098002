package serve_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"varve/manifest/ingest"
	"varve/manifest/serve"
	"varve/manifest/store"
)

// This example mounts a manifest below a path of another server, behind its middleware and with its log.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "t2m.varve")
	if _, err := ingest.Build(ctx, out, &ingest.Options{Sources: ingest.Sources{Names: []string{"../../fixtures/demo"}, Match: "*.nc"}}); err != nil {
		panic(err)
	}

	handler, err := serve.New(ctx, []string{out}, &serve.Options{
		Base:  "/archive",
		Store: store.Options{Allow: []string{"../../fixtures/demo"}},
		Log:   slog.Default(),
	})
	if err != nil {
		panic(err)
	}
	defer handler.Close()
	mux := http.NewServeMux()
	mux.Handle("/archive/", onlyFor("me", handler))

	server := httptest.NewServer(mux)
	defer server.Close()
	for _, key := range []string{"/archive/zarr.json", "/archive/zarr.json?user=me", "/archive/t2m/c/1/0/0?user=me", "/archive/t2m/c/3/0/0?user=me"} {
		answer, err := http.Get(server.URL + key)
		if err != nil {
			panic(err)
		}
		answer.Body.Close()
		fmt.Println(answer.StatusCode, key)
	}
	// Output:
	// 403 /archive/zarr.json
	// 200 /archive/zarr.json?user=me
	// 200 /archive/t2m/c/1/0/0?user=me
	// 404 /archive/t2m/c/3/0/0?user=me
}

func onlyFor(user string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("user") != user {
			http.Error(w, "not for you", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

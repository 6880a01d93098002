package readertest

import (
	"context"
	"testing"

	"varve/readers"
	"varve/readers/source"
)

// Open opens a file or a folder with a reader, which must report no problem.
func Open(t testing.TB, reader readers.Reader, name string) *readers.Dataset {
	t.Helper()
	ctx := context.Background()
	src, err := source.Open(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	data, err := reader.Open(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range data.Problems {
		t.Errorf("problem: %v", p.Err)
	}
	return data
}

// Variables returns the variables of a dataset by path.
func Variables(data *readers.Dataset) map[string]*readers.Variable {
	out := map[string]*readers.Variable{}
	data.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			out[v.Path] = v
		}
		return true
	})
	return out
}

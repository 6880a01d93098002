package source_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

func localSource(b *testing.B, size int) *source.Source {
	b.Helper()
	name := filepath.Join(b.TempDir(), "file")
	if err := os.WriteFile(name, sourcetest.Content(size, 13), 0o644); err != nil {
		b.Fatal(err)
	}
	s, err := source.Open(context.Background(), name)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkView reads metadata that is in memory.
func BenchmarkView(b *testing.B) {
	s := localSource(b, 1<<20)
	ctx := context.Background()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := s.View(ctx, int64(i*509%(1<<20-100)), 40); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadAt reads chunks of a local file.
func BenchmarkReadAt(b *testing.B) {
	const chunk = 64 << 10
	s := localSource(b, 16<<20)
	ctx, p := context.Background(), make([]byte, chunk)
	b.ReportAllocs()
	b.SetBytes(chunk)
	for i := 0; b.Loop(); i++ {
		if _, err := s.ReadAt(ctx, p, int64(i*7919%255)*chunk); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadRanges reads 64 chunks at a time from a server in this process.
func BenchmarkReadRanges(b *testing.B) {
	const chunk, n = 64 << 10, 64
	s, err := source.Open(context.Background(), sourcetest.NewServer(b).Put("/file", sourcetest.Content(32<<20, 14)))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ranges := make([]source.Range, n)
	for i := range ranges {
		ranges[i] = source.Range{Offset: int64(i) * 400_000, Length: chunk}
	}
	b.ReportAllocs()
	b.SetBytes(chunk * n)
	for b.Loop() {
		if err := s.ReadRanges(context.Background(), ranges, make([][]byte, n)); err != nil {
			b.Fatal(err)
		}
	}
}

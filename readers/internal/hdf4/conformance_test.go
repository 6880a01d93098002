package hdf4_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/readers"
	"varve/readers/internal/hdf4"
	"varve/readers/readertest"
	"varve/readers/source"
)

func TestConformance(t *testing.T) {
	var samples []readertest.Sample
	for _, name := range []string{"datasets", "compressed", "chunked", "old", "tables"} {
		data, err := os.ReadFile(filepath.Join(fixtures, name+".hdf"))
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, readertest.Sample{Name: name, Data: data})
	}
	readertest.Run(t, hdf4.Info(), samples...)
}

// FuzzFile reads damaged files: reading must not panic and must end.
func FuzzFile(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(fixtures, "*.hdf"))
	if err != nil || len(files) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 40<<10 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		dataset, err := hdf4.Format{}.Open(ctx, source.New("memory", &readertest.Memory{Data: data}))
		if err == nil {
			readertest.DescribeDataset(ctx, dataset)
		}
		if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("%d bytes take more than 10 s", len(data))
		}
		if err != nil && !errors.Is(err, readers.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) && ctx.Err() == nil {
			t.Errorf("the error wraps neither ErrCorrupt nor ErrUnsupported: %v", err)
		}
	})
}

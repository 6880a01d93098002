package table

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"testing"

	"varve/manifest"
)

// memoryFile is a file in memory.
type memoryFile struct {
	*bytes.Reader
	reads *int
}

func (f memoryFile) Close() error { return nil }

func (f memoryFile) ReadAt(p []byte, at int64) (int, error) {
	if f.reads != nil {
		*f.reads++
	}
	return f.Reader.ReadAt(p, at)
}

func inMemory(data []byte) memoryFile { return memoryFile{bytes.NewReader(data), nil} }

// memoryTables are the tables of a manifest, by name.
type memoryTables struct {
	tables []manifest.Table
	data   map[string][]byte
	opened int
	reads  int
}

// add adds a table behind those of its kind.
func (m *memoryTables) add(kind manifest.TableKind, rows int64, data []byte) manifest.Table {
	sum := sha256.Sum256(data)
	t := manifest.Table{Kind: kind, Rows: rows, Bytes: int64(len(data)), Sum: hex.EncodeToString(sum[:])}
	for _, have := range m.tables {
		if have.Kind == kind {
			t.First += have.Rows
		}
	}
	t.Name = fmt.Sprintf("tables/%s-%d.parquet", kind, len(m.tables))
	if m.data == nil {
		m.data = map[string][]byte{}
	}
	m.tables, m.data[t.Name] = append(m.tables, t), data
	return t
}

func (m *memoryTables) open(_ context.Context, t manifest.Table) (File, error) {
	data, ok := m.data[t.Name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", t.Name, fs.ErrNotExist)
	}
	m.opened++
	return memoryFile{bytes.NewReader(data), &m.reads}, nil
}

func (m *memoryTables) reader(t testing.TB, cacheBytes int64) *Reader {
	t.Helper()
	r, err := Open(m.tables, m.open, NewCache(cacheBytes))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// write writes a table of rows.
func write[T any](t testing.TB, start func(*bytes.Buffer) *Writer[T], rows ...T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := start(&out)
	if err := w.Append(rows...); err != nil {
		t.Fatal(err)
	}
	if w.Rows() != int64(len(rows)) {
		t.Fatalf("%d rows were written, not %d", w.Rows(), len(rows))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

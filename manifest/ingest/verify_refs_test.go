package ingest

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/manifest/verify"
)

// withRefs publishes a snapshot whose refs were changed.
func withRefs(ctx context.Context, out string, change func(refs *manifest.RefColumns)) error {
	return inRepositoryDo(ctx, out, func(r *repo.Repository) error {
		id, err := r.Current(ctx)
		if err != nil {
			return err
		}
		snap, err := r.Load(ctx, id)
		if err != nil {
			return err
		}
		reader, err := table.Open(snap.Tables, table.InRepository(r), table.NewCache(refCache))
		if err != nil {
			return err
		}
		defer reader.Close()
		var refs manifest.RefColumns
		if err := reader.ReadColumns(ctx, 0, int(reader.Rows(manifest.Refs)), &refs); err != nil {
			return err
		}
		if refs.Others == nil {
			refs.Others = make([]int32, len(refs.Offsets))
		}
		change(&refs)
		drafts := newTables(r)
		defer drafts.abort()
		d, err := start(ctx, drafts, manifest.Refs, func(w io.Writer) *table.RefWriter { return table.NewRefs(w) })
		if err == nil {
			err = d.rows.Append(&refs)
		}
		if err == nil {
			err = d.finish(drafts)
		}
		if err != nil {
			return err
		}
		changed := *snap
		changed.ID = ""
		changed.Tables = append(slices.DeleteFunc(slices.Clone(snap.Tables), func(t manifest.Table) bool { return t.Kind == manifest.Refs }), drafts.done...)
		return r.Publish(ctx, &changed, id)
	})
}

// TestVerifyRefs checks that verify finds refs of bytes that do not exist, without reading sources.
func TestVerifyRefs(t *testing.T) {
	configured(t)
	records := func(t *testing.T, dir string, i int) string {
		f := netCDF(i)
		f.Dims[0] = classic.Dim{Name: "time", Length: 2, Records: true}
		name := filepath.Join(dir, "records.nc")
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
		return "records.nc"
	}
	last := func(r *manifest.RefColumns) int { return len(r.Offsets) - 1 }
	for name, c := range map[string]struct {
		write  func(t *testing.T, dir string, i int) string
		change func(r *manifest.RefColumns)
		source string
		coords []int64
	}{
		"no such source":       {writeKerchunk, func(r *manifest.RefColumns) { r.Others[last(r)] = 9 }, "part0.json", []int64{1, 0}},
		"another source":       {writeKerchunk, func(r *manifest.RefColumns) { r.Others[last(r)] = 1 }, "part0.json", []int64{1, 0}},
		"behind another file":  {writeKerchunk, func(r *manifest.RefColumns) { r.Offsets[last(r)] = 89 }, "shared.bin", []int64{1, 0}},
		"no such inline chunk": {writeKerchunk, func(r *manifest.RefColumns) { r.Offsets[last(r)] = manifest.InlineRow(7) }, "part0.json", []int64{1, 0}},
		"behind the file":      {writeNetCDF, func(r *manifest.RefColumns) { r.Offsets[last(r)]++ }, "part0.nc", []int64{0, 0}},
		"too long":             {writeNetCDF, func(r *manifest.RefColumns) { r.Sizes[last(r)]++ }, "part0.nc", []int64{0, 0}},
		"behind all bytes":     {writeNetCDF, func(r *manifest.RefColumns) { r.Offsets[last(r)] = 1 << 62 }, "part0.nc", []int64{0, 0}},
		"the last record":      {records, func(r *manifest.RefColumns) { r.Offsets[last(r)]++ }, "records.nc", []int64{0, 0}},
		"more refs": {writeNetCDF, func(r *manifest.RefColumns) {
			r.Offsets, r.Sizes, r.Others = append(r.Offsets, 0), append(r.Sizes, 1), append(r.Others, 0)
		}, "", nil},
		"nothing":            {writeKerchunk, func(*manifest.RefColumns) {}, "", nil},
		"nothing of records": {records, func(*manifest.RefColumns) {}, "", nil},
		"not stored":         {writeNetCDF, func(r *manifest.RefColumns) { r.Offsets[last(r)], r.Sizes[last(r)] = manifest.NotStored, 0 }, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), filepath.Join(t.TempDir(), "a.varve")
			mustBuild(t, out, filepath.Join(dir, c.write(t, dir, 0)))
			if err := withRefs(t.Context(), out, c.change); err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r, err := verify.Verify(t.Context(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "no") && c.source == "" {
				if len(r.Problems) > 0 {
					t.Error(r.Problems)
				}
				return
			}
			if len(r.Problems) != 1 {
				t.Fatalf("%d problems: %v", len(r.Problems), r.Problems)
			}
			p := r.Problems[0]
			if !errors.Is(p.Err, codec.ErrCorrupt) || c.source != "" && filepath.Base(p.Source) != c.source || !slices.Equal(p.Coords, c.coords) {
				t.Errorf("%+v", p)
			}
		})
	}
}

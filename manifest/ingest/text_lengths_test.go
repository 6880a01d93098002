package ingest

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/grid"
	"varve/manifest/store"
)

// TestTextLengths: texts of other lengths are padded with NUL, also in appended files.
func TestTextLengths(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	write := func(day int, length int, texts string) string {
		name := filepath.Join(dir, fmt.Sprintf("%d.nc", day+1))
		f := classic.File{Dims: []classic.Dim{{Name: "time", Length: len(texts) / length}, {Name: fmt.Sprint("string_", length), Length: length}}, Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Data: []int32{int32(day), int32(day + 1)}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 1990-01-01"}}},
			{Name: "name", Dims: []string{"time", fmt.Sprint("string_", length)}, Data: texts},
		}}
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	out := filepath.Join(dir, "out.varve")
	mustBuild(t, out, write(1, 4, "BergOslo"), write(3, 6, "BergenTromso"))
	if _, err := Append(t.Context(), out, optionsFor(write(5, 3, "BgoOsl"))); err != nil {
		t.Fatal(err)
	}
	// This file is before all others, also by its name.
	if _, err := Append(t.Context(), out, optionsFor(write(-1, 5, "MolloHamar"))); err != nil {
		t.Fatal(err)
	}
	if _, err := Append(t.Context(), out, optionsFor(write(7, 7, "DrammenArendal"))); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(context.WithoutCancel(t.Context()), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	a, err := st.Array("/name")
	if err != nil {
		t.Fatal(err)
	}
	shape := a.Schema().Shape
	e := codec.NewElems(codec.Form{Type: a.Schema().DataType.Type(), Shape: shape})
	if err := a.ReadRegion(t.Context(), grid.Whole(shape), e); err != nil {
		t.Fatal(err)
	}
	const want = "Mollo\x00\x00Hamar\x00\x00Berg\x00\x00\x00Oslo\x00\x00\x00Bergen\x00Tromso\x00Bgo\x00\x00\x00\x00Osl\x00\x00\x00\x00DrammenArendal"
	if got := a.Schema().Dims(); got[1] != "string_4" {
		t.Errorf("dimensions %v, want the published string_4", got)
	}
	if string(e.Fixed) != want {
		t.Errorf("%q of shape %v, want %q", e.Fixed, shape, want)
	}
}

package planner

import (
	"context"
	"errors"
	"slices"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
)

// answers is a source of values: it answers each request with a function.
type answers struct {
	calls  int
	answer func(r Request) *manifest.Values
}

func (a *answers) Get(_ context.Context, requests []Request) (values []*manifest.Values, err error) {
	a.calls++
	for _, r := range requests {
		if v := a.answer(r); v != nil {
			values = append(values, v)
		}
	}
	return values, nil
}

// masks adds two files with two arrays that must be equal and whose values are not known.
func masks(m *maker) {
	for i, name := range []string{"a", "b"} {
		m.day(name, i, 1, cube("land", "lat", []int64{3}, []int64{3}), cube("basin", "lat", []int64{3}, []int64{3}))
	}
}

// TestValuesAskedOnce: values of several arrays are requested at once, and kept in the files.
func TestValuesAskedOnce(t *testing.T) {
	m := newMaker()
	masks(m)
	a := &answers{answer: func(Request) *manifest.Values { return &manifest.Values{Data: make([]byte, 12)} }}
	p, err := New(t.Context(), m.files, nil, a)
	if err != nil || a.calls != 1 {
		t.Fatalf("%d calls, want 1; error %v", a.calls, err)
	}
	for _, path := range []string{"/land", "/basin"} {
		if arrayOf(t, p, path).Pieces == nil {
			t.Errorf("%s is not in the manifest", path)
		}
	}
	if again, err := New(t.Context(), m.files, nil, a); err != nil || a.calls != 1 || again == nil {
		t.Errorf("the second plan asked again: %d calls, error %v", a.calls, err)
	}
}

// TestValuesRefusedFirst: nothing is read for files that are refused already.
func TestValuesRefusedFirst(t *testing.T) {
	m := newMaker()
	masks(m)
	m.file("c", days(2, 1), cube("land", "lat", []int64{3}, []int64{3}), lat(), cube("t", "time lat", []int64{1, 3}, []int64{1, 3}))
	a := &answers{answer: func(Request) *manifest.Values { return nil }}
	_, err := New(t.Context(), m.files, nil, a)
	var refused *plan.Error
	if !errors.As(err, &refused) || a.calls != 0 {
		t.Errorf("%d calls, error %v; want a refusal because t has other dimensions", a.calls, err)
	}
}

// TestInvalidValues: values that do not fit their variable, or that are missing, are errors.
func TestInvalidValues(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(r Request) *manifest.Values
		corrupt bool
	}{
		"too few elements": {func(Request) *manifest.Values { return &manifest.Values{Data: make([]byte, 8)} }, true},
		"only a digest":    {func(Request) *manifest.Values { return &manifest.Values{Summed: true, ID: "x"} }, true},
		"fewer values":     {func(Request) *manifest.Values { return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaker()
			masks(m)
			p, err := New(t.Context(), m.files, nil, &answers{answer: c.answer})
			if err == nil || p != nil || errors.Is(err, codec.ErrCorrupt) != c.corrupt {
				t.Errorf("error %v, corrupt %v", err, c.corrupt)
			}
		})
	}
	m := newMaker()
	masks(m)
	if _, err := New(t.Context(), m.files, nil, nil); err == nil {
		t.Error("a plan without a source of values")
	}
}

// TestSourceErrors: an error of the source ends the plan.
func TestSourceErrors(t *testing.T) {
	m := newMaker()
	masks(m)
	var a asked
	if _, err := New(t.Context(), m.files, nil, &a); !errors.Is(err, errAsked) {
		t.Errorf("error %v, want %v", err, errAsked)
	}
	if !slices.Contains(a.requests, Request{File: 0, Variable: 4, Extent: All}) {
		t.Errorf("requests %v", a.requests)
	}
}

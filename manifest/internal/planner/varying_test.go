package planner

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/plan"
)

// TestVaryingAttributes: a plan does not depend on whether the headers of files share memory, which decides whether files
// are in one class.
func TestVaryingAttributes(t *testing.T) {
	planned, merged, tries := 0, 0, 0
	for seed := range soak.Seeds(t, 200) {
		tries++
		r := rand.New(rand.NewPCG(seed, 23))
		m, opts := newMaker(), randomOptions(r)
		switch r.IntN(4) {
		case 0:
			messy(r, m)
		case 1:
			w := &wild{}
			for range 300 {
				w.bytes = append(w.bytes, byte(r.IntN(256)))
			}
			opts, m = w.archive(), w.m
		default:
			series(r, m, opts)
		}
		if len(m.files) == 0 {
			continue
		}
		common := cubeOfNothing()
		ownAttributes(r, 0, &common)
		for i, f := range m.files {
			m.change(f, func(h *manifest.Header) {
				for _, v := range h.Variables {
					// Most coordinates with a packing of their own are refused.
					if v.Type.Varies() || len(v.Shape) < 2 && r.IntN(50) > 0 {
						continue
					}
					// All files have attributes of the same names, so that most have one form.
					own := cubeOfNothing()
					if own.v.Attributes = slices.Clone(common.v.Attributes); r.IntN(2) == 0 {
						for k := range own.v.Attributes {
							change(r, i, &own.v.Attributes[k])
						}
					}
					for _, a := range own.v.Attributes {
						if manifest.Lookup(v.Attributes, a.Name) == nil {
							v.Attributes = append(slices.Clip(v.Attributes), a)
						}
					}
				}
			})
		}
		alone := copied(m.files)
		for _, f := range alone {
			f.Header = manifest.NewFileHeader(f.Header.Expand())
		}
		never := func(*manifest.File, string) bool { return false }
		ends := []int{len(m.files)}
		if r.IntN(2) == 0 && len(m.files) > 1 {
			ends = []int{1 + r.IntN(len(m.files)-1), len(m.files)}
		}
		mixed := copied(m.files) // as in an append: old and new files come from different scans
		second := manifest.NewShared()
		for _, f := range mixed[len(mixed)/2:] {
			h := *f.Header.Expand()
			h.Variables = slices.Clone(h.Variables)
			f.Header = second.Header(&h, nil)
		}
		got, _, err := grow(m.files, ends, opts, never)
		want, _, wantErr := grow(alone, ends, opts, never)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("seed %d, %+v: %v\nbut without shared headers: %v", seed, *opts, err, wantErr)
		}
		two, _, twoErr := grow(mixed, ends, opts, never)
		if (twoErr == nil) != (wantErr == nil) || twoErr != nil && twoErr.Error() != wantErr.Error() {
			t.Fatalf("seed %d, %+v: %v\nbut without shared headers: %v", seed, *opts, twoErr, wantErr)
		}
		if err != nil {
			continue
		}
		if two, want := two.text(t, mixed), want.text(t, alone); two != want {
			t.Fatalf("seed %d, %+v, headers of two scans: %s", seed, *opts, firstDifference(two, want))
		}
		if two.findings != want.findings {
			t.Fatalf("seed %d, %+v, headers of two scans: %s", seed, *opts, firstDifference(two.findings, want.findings))
		}
		planned++
		if classes(t, m.files) < classes(t, alone) {
			merged++
		}
		if got, want := got.text(t, m.files), want.text(t, m.files); got != want {
			t.Fatalf("seed %d, %+v: %s", seed, *opts, firstDifference(got, want))
		}
		if got.findings != want.findings {
			t.Fatalf("seed %d, %+v: %s", seed, *opts, firstDifference(got.findings, want.findings))
		}
		if !bytes.Equal(got.snapshot.State, want.snapshot.State) {
			t.Fatalf("seed %d, %+v: %s", seed, *opts, firstDifference(string(got.snapshot.State), string(want.snapshot.State)))
		}
	}
	t.Logf("%d of %d archives are planned, %d with fewer classes than headers", planned, tries, merged)
	if (planned < tries/4 || merged < tries/10) && !soak.Selected() {
		t.Errorf("%d of %d archives are planned, %d with fewer classes than headers", planned, tries, merged)
	}
}

func cubeOfNothing() wanted { return cube("v", "", nil, nil) }

// change changes the value of an attribute, but not its form.
func change(r *rand.Rand, i int, a *manifest.Attribute) {
	switch {
	case a.Data != nil:
		a.Data = numberData([]float64{0, 1, float64(i), 0.5}[r.IntN(4)])
	case len(a.Texts) == 1:
		a.Texts = []string{[]string{"", "another text", string(rune('a' + i%26))}[r.IntN(3)]}
	}
}

// classes counts the classes of files.
func classes(t *testing.T, files []*manifest.File) int {
	p, err := classify(newEnv(t.Context(), files, &plan.Options{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	return len(p.classes)
}

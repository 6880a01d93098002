package planner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report/reporttest"
)

// static makes a variable along which files are not concatenated.
func static(dims string, shape []int64, numbers ...float64) wanted {
	w := coords("s", dims, int16s, numbers...)
	w.v.Shape, w.v.Storage.Chunks = shape, shape
	return w
}

// never makes a variable that was never written, with its fill value.
func never(fill []byte, attributes ...manifest.Attribute) wanted {
	w := static("y x", []int64{2, 3})
	w.v.Storage, w.v.Fill.Value, w.v.Attributes = manifest.Storage{Layout: manifest.Nothing}, fill, attributes
	w.values = nil
	return w
}

func numberAttribute(name string, value float64) manifest.Attribute {
	return manifest.Attribute{Name: name, Type: float64s, Data: coords("", "", float64s, value).values.Data, Scalar: true}
}

// tenths makes a static variable with packed numbers.
func tenths(numbers ...float64) wanted {
	w := static("y x", []int64{2, 3}, numbers...)
	w.v.Attributes = []manifest.Attribute{numberAttribute("scale_factor", .1)}
	return w
}

// TestStatics: variables without a concatenated dimension must be equal after unpacking and
// transposing, with unwritten elements as fill values.
func TestStatics(t *testing.T) {
	first := static("y x", []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	for _, c := range []struct {
		name string
		a, b wanted
		same bool
	}{
		{"equal", first, static("y x", []int64{2, 3}, 1, 2, 3, 4, 5, 6), true},
		{"transposed", first, static("x y", []int64{3, 2}, 1, 4, 2, 5, 3, 6), true},
		{"the same bytes, transposed", first, static("x y", []int64{3, 2}, 1, 2, 3, 4, 5, 6), false},
		{"packed", first, tenths(10, 20, 30, 40, 50, 60), true},
		{"the same bytes, packed", first, tenths(1, 2, 3, 4, 5, 6), false},
		{"never written", never(nil), never([]byte{0, 0}), true},
		{"never written, with another fill value", never(nil), never([]byte{1, 0}), false},
		{"never written, with another offset", never(nil), never(nil, numberAttribute("add_offset", 273)), false},
		{"never written in one file", first, never(nil), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			m.day("a", 0, 2, c.a)
			m.day("b", 2, 2, c.a)
			m.day("c", 4, 2, c.b)
			_, needs, err := newPlan(m.files, nil)
			var refused *plan.Error
			switch {
			case len(needs) > 0:
				t.Errorf("asks for %v", needs)
			case c.same && err != nil:
				t.Error(err)
			case !c.same && (!errors.As(err, &refused) || refused.Findings[0].Array != "/s" || !strings.HasPrefix(reporttest.Files(&refused.Findings[0]), "c")):
				t.Errorf("not refused: %v", err)
			}
		})
	}
}

// TestPaddedStatics: with padding, narrower files must equal the first values of the widest, whose
// values are used.
func TestPaddedStatics(t *testing.T) {
	narrow := static("y x", []int64{2, 2}, 1, 2, 4, 5)
	for _, c := range []struct {
		name   string
		widest wanted
		coords plan.Coords
		odd    string // the file that is refused, or ""
	}{
		{"equal first values", static("y x", []int64{2, 3}, 1, 2, 3, 4, 5, 6), "", ""},
		{"longer along both axes", static("y x", []int64{3, 3}, 1, 2, 3, 4, 5, 6, 7, 8, 9), "", ""},
		{"transposed", static("x y", []int64{3, 2}, 1, 4, 2, 5, 3, 6), "", ""},
		{"packed", tenths(10, 20, 30, 40, 50, 60), "", ""},
		{"other first values", static("y x", []int64{2, 3}, 1, 2, 3, 4, 6, 6), "", "c"},
		{"the same bytes, packed", tenths(1, 2, 3, 4, 5, 6), "", "c"},
		{"other first values, coords=first", static("y x", []int64{2, 3}, 1, 2, 3, 4, 6, 6), plan.CoordsFirst, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			m.day("a", 0, 2, narrow)
			m.day("b", 2, 2, narrow)
			m.day("c", 4, 2, c.widest)
			made, needs, err := newPlan(m.files, &plan.Options{Pad: plan.PadFill, Coords: c.coords, Inline: new(int64(1))})
			var refused *plan.Error
			switch {
			case len(needs) > 0:
				t.Errorf("asks for %v", needs)
			case c.odd != "" && (!errors.As(err, &refused) || refused.Findings[0].Array != "/s" || !strings.HasPrefix(reporttest.Files(&refused.Findings[0]), c.odd)):
				t.Errorf("not refused: %v", err)
			case c.odd == "" && err != nil:
				t.Error(err)
			case c.odd == "" && !countsAlone(made, "/s", 2):
				t.Errorf("the values are not those of c alone: %+v", made.Placements)
			}
		})
	}
}

// TestPadEmpty: no values are requested from files without elements.
func TestPadEmpty(t *testing.T) {
	for _, widths := range [][]int64{{5, 3}, {3, 5}} {
		m := newMaker()
		for i, width := range widths {
			empty := static("y x", []int64{0, width})
			empty.v.Storage.Chunks, empty.values = []int64{1, width}, nil
			m.day(fmt.Sprint(i), 2*i, 2, empty)
		}
		made, needs, err := newPlan(m.files, &plan.Options{Pad: plan.PadFill, Inline: new(int64(0))})
		if err != nil || len(needs) > 0 || len(made.Compared) > 0 {
			t.Errorf("%v: needs %v, %v, %+v", widths, needs, err, made)
		}
	}
}

// countsAlone reports whether an array has the values of a given file only.
func countsAlone(made *Plan, path string, file int) bool {
	a := slices.IndexFunc(made.Arrays, func(a manifest.Array) bool { return a.Path == path })
	return slices.ContainsFunc(made.Placements, func(p manifest.Placement) bool {
		return p.ID == made.Arrays[a].Placement && len(p.Tiles) == 1 && p.Tiles[0].File == file
	})
}

// TestExtendStaticsOfHeaders: Extend compares values, not bytes, if headers have different packing.
func TestExtendStaticsOfHeaders(t *testing.T) {
	whole := static("y x", []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	for i, c := range []struct {
		more wanted
		same bool
	}{
		{whole, true},
		{tenths(10, 20, 30, 40, 50, 60), true},
		{tenths(1, 2, 3, 4, 5, 6), false},
		{static("y x", []int64{2, 3}, 10, 20, 30, 40, 50, 60), false},
	} {
		m := newMaker()
		m.day("a", 0, 2, whole)
		m.day("b", 2, 2, tenths(10, 20, 30, 40, 50, 60))
		m.day("c", 4, 2, c.more)
		base, needs, err := newPlan(m.files[:2], nil)
		if err != nil || len(needs) > 0 {
			t.Fatal(needs, err)
		}
		x, needs, err := askedExtend(snapshotOf(base, 2), m.files, nil)
		if err != nil || len(needs) > 0 || (x != nil) != c.same {
			t.Errorf("%d: %v, needs %v, %v", i, x, needs, err)
		}
	}
}

// TestExtendPaddedStatics: Extend does not accept equal bytes with another shape.
func TestExtendPaddedStatics(t *testing.T) {
	for _, same := range []bool{true, false} {
		last := static("y x", []int64{3, 2}, 1, 2, 5, 6, 9, 10)
		if !same {
			last = static("y x", []int64{3, 2}, 1, 2, 3, 5, 6, 7)
		}
		m := newMaker()
		for i, w := range []wanted{
			static("y x", []int64{3, 4}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
			static("y x", []int64{2, 3}, 1, 2, 3, 5, 6, 7),
			static("y x", []int64{3, 2}, 1, 2, 5, 6, 9, 10),
			last,
		} {
			m.day(fmt.Sprint(i), 2*i, 2, w)
		}
		base, needs, err := newPlan(m.files[:3], &plan.Options{Pad: plan.PadFill})
		if err != nil || len(needs) > 0 {
			t.Fatal(needs, err)
		}
		x, needs, err := askedExtend(snapshotOf(base, 3), m.files, &plan.Options{Pad: plan.PadFill})
		if err != nil || len(needs) > 0 || (x != nil) != same {
			t.Errorf("%v: %v, needs %v, %v", same, x, needs, err)
		}
	}
}

// TestTextsInAnyOrder: labels may have any order in each file, and files are sorted by their first
// labels.
func TestTextsInAnyOrder(t *testing.T) {
	m := newMaker()
	for i, labels := range [][]string{{"Oslo", "Ystad"}, {"Lund", "Berlin"}, {"Zagreb", "Aachen", "Moss"}} {
		n := int64(len(labels))
		m.file(fmt.Sprint(i), words("station", "station", labels...), cube("t", "station", []int64{n}, []int64{n}))
	}
	if got := tilesOf(t, m.files, planned(t, m, nil), "/t"); got != "1@0+2 0@2+2 2@4+3" {
		t.Error(got)
	}
}

// TestVariableWithPathOfGroup: a variable whose path is a group in another file is refused.
func TestVariableWithPathOfGroup(t *testing.T) {
	for _, group := range []string{"group of a variable", "group of attributes"} {
		m := newMaker()
		m.day("a", 0, 2, coords("g", "g", float64s, 1, 2, 3))
		if group == "group of attributes" {
			m.day("b", 2, 2).Groups = manifest.NewFileGroups(&manifest.GroupAttributes{Groups: []manifest.Group{{Path: "/"}, {Path: "/g"}}})
		} else {
			m.day("b", 2, 2, cube("g/u", "time", []int64{2}, []int64{2}))
		}
		_, _, err := newPlan(m.files, nil)
		var refused *plan.Error
		if !errors.As(err, &refused) || refused.Findings[0].Array != "/g" || !strings.HasPrefix(reporttest.Files(&refused.Findings[0]), "a") {
			t.Errorf("%s: %v", group, err)
		}
		if _, _, err := newPlan(m.files, &plan.Options{Drop: []string{"g"}}); err != nil {
			t.Errorf("%s: %v", group, err)
		}
	}
}

// TestRenamedInAttributes: attributes name variables by their new names, also if files have
// different old names.
func TestRenamedInAttributes(t *testing.T) {
	m := newMaker()
	for i, name := range []string{"lat", "nav_lat"} {
		at := days(2*i, 2).with("bounds", "edges")
		edges := coords("edges", "time nv", int32s, float64(2*i), 1, 2, 3)
		edges.v.Shape, edges.v.Storage.Chunks = []int64{2, 2}, []int64{2, 2}
		m.file(name, at, edges, coords(name, "x", float64s, 1, 2),
			cube("t", "time x", []int64{2, 2}, []int64{2, 2}).with("coordinates", name+" other", "grid_mapping", "crs: "+name, "ancillary_variables", "/"+name, "comment", "edges"))
	}
	p := planned(t, m, &plan.Options{Rename: []plan.Rename{{Old: "nav_lat", New: "lat"}, {Old: "edges", New: "time_bnds"}}})
	for path, want := range map[string]string{
		"/t":    `{"coordinates":"lat other","grid_mapping":"crs: lat","ancillary_variables":"/lat","comment":"edges"}`,
		"/time": `{"standard_name":"time","bounds":"time_bnds","units":"days since 1990-01-01"}`,
	} {
		if got := string(arrayOf(t, p, path).Schema.Attributes.JSON()); got != want {
			t.Errorf("%s: %s, not %s", path, got, want)
		}
	}
}

package planner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/internal/planner/plantest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// unnamedFile adds a file of one day. Only the dimension time has a name.
func (m *maker) unnamedFile(name string, vars ...wanted) {
	f := m.file(name, append(vars, days(len(m.files), 1))...)
	m.change(f, func(h *manifest.Header) {
		for i := range h.Dimensions {
			h.Dimensions[i].Anonymous = h.Dimensions[i].Path != "/time"
		}
	})
}

// TestUnnamedDimensions: unnamed dimensions are matched by the variables that have them, and not by
// their generated numbers.
func TestUnnamedDimensions(t *testing.T) {
	line := func(name, dim string, numbers ...float64) wanted { return coords(name, dim, float64s, numbers...) }
	for _, c := range []struct {
		name string
		opts plan.Options
		make func(m *maker)
		want string
	}{
		{"a file with one dimension less", plan.Options{}, func(m *maker) {
			m.unnamedFile("a", line("x", "phony_dim_0", 1, 2, 3), line("y", "phony_dim_1", 4, 5))
			m.unnamedFile("b", line("x", "phony_dim_0", 1, 2, 3), line("y", "phony_dim_1", 4, 5))
			m.unnamedFile("c", line("y", "phony_dim_0", 4, 5))
		}, "[/x[/phony_dim_0] [3] /y[/phony_dim_1] [2]]"},
		{"equal lengths in one file by chance", plan.Options{Concat: []string{"phony_dim_0"}}, func(m *maker) {
			m.unnamedFile("a", line("x", "phony_dim_0", 1, 2), line("y", "phony_dim_0", 8, 9))
			m.unnamedFile("b", line("x", "phony_dim_0", 3, 4, 5), line("y", "phony_dim_1", 8, 9))
		}, "[/x[/phony_dim_0] [5] /y[/phony_dim_1] [2]]"},
		{"another number in most files", plan.Options{Concat: []string{"phony_dim_0"}}, func(m *maker) {
			m.unnamedFile("a", line("x", "phony_dim_0", 1, 2))
			m.unnamedFile("b", line("x", "phony_dim_1", 3, 4, 5), line("w", "phony_dim_0", 8, 9))
			m.unnamedFile("c", line("x", "phony_dim_1", 6), line("w", "phony_dim_0", 8, 9))
		}, "[/w[/phony_dim_0_2] [2] /x[/phony_dim_0] [6]]"},
		{"the generated name is taken", plan.Options{}, func(m *maker) {
			m.unnamedFile("a", line("x", "phony_dim_0", 1, 2), line("y", "phony_dim_1", 8))
			m.unnamedFile("b", line("x", "phony_dim_0", 1, 2), line("z", "phony_dim_1", 7, 7))
		}, "[/x[/phony_dim_0] [2] /y[/phony_dim_1] [1] /z[/phony_dim_1_2] [2]]"},
		{"equal lengths in the only file with both", plan.Options{}, func(m *maker) {
			m.unnamedFile("a", line("x", "phony_dim_0", 1, 2), line("y", "phony_dim_0", 8, 9))
			m.unnamedFile("b", line("x", "phony_dim_0", 1, 2))
		}, "[/x[/phony_dim_0] [2] /y[/phony_dim_0] [2]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			for range 2 { // the second time in reverse order, with the same result
				var got []string
				for _, a := range planned(t, m, &c.opts).Arrays {
					if a.Path != "/time" {
						got = append(got, fmt.Sprint(a.Path, a.Dims, a.Schema.Shape))
					}
				}
				if fmt.Sprint(got) != c.want {
					t.Errorf("%v, want %s", got, c.want)
				}
				slices.Reverse(m.files)
			}
		})
	}
}

// scale sets the names of a file's dimensions.
func (m *maker) scale(names ...string) {
	f := m.files[len(m.files)-1]
	m.change(f, func(h *manifest.Header) {
		for i := range h.Dimensions {
			h.Dimensions[i].Anonymous = !slices.Contains(names, h.Dimensions[i].Path[1:])
		}
	})
}

// TestNamedBesideUnnamed: an unnamed axis gets the name that other files have for it. Remedies of
// refusals lead to a plan.
func TestNamedBesideUnnamed(t *testing.T) {
	h := func(dims string, shape ...int64) wanted { return cube("h", dims, shape, shape) }
	numbers := func(name, dim string, values ...float64) wanted { return coords(name, dim, float64s, values...) }
	for _, c := range []struct {
		name  string
		make  func(m *maker)
		want  string
		after string // the options of the remedies that were applied
	}{
		{"one unnamed axis", func(m *maker) {
			m.file("a", days(0, 2), numbers("lat", "lat", 1, 2, 3), h("time lat p", 2, 3, 5))
			m.scale("time", "lat")
			m.file("b", numbers("time", "p0", 2, 3).with("units", "days since 1990-01-01", "standard_name", "time"), h("p0 p1 p2", 2, 3, 5))
			m.scale()
		}, "[/h[/time /lat /p] [4 3 5] /lat[/lat] [3] /time[/time] [4]]", ""},
		{"generated numbers of other axes", func(m *maker) {
			m.file("a", days(0, 1), h("time p0 p1", 1, 3, 5))
			m.scale("time")
			m.file("b", days(1, 1), h("time lat p0", 1, 3, 5))
			m.scale("time", "lat")
			m.file("c", days(2, 1), h("time p1 lon", 1, 3, 5))
			m.scale("time", "lon")
		}, "[/h[/time /lat /lon] [3 3 5] /time[/time] [3]]", ""},
		{"a coordinate of an unnamed axis", func(m *maker) {
			m.file("a", days(0, 1), numbers("lat", "lat", 1, 2), h("time lat", 1, 2))
			m.scale("time", "lat")
			m.file("b", days(1, 1), numbers("lat", "p", 1, 7), h("time p", 1, 2))
			m.scale("time")
		}, "[/h[/time /lat] [2 3] /lat[/lat] [3] /time[/time] [2]]", "join=lat=outer"},
		{"different ranks", func(m *maker) {
			m.file("a", days(0, 1), numbers("lat", "lat", 1, 2), h("time lat", 1, 2))
			m.scale("time", "lat")
			m.file("b", days(1, 1), cube("h", "time p q", []int64{1, 1, 2}, []int64{1, 1, 2}))
			m.scale("time")
		}, "[/lat[/lat] [2] /time[/time] [2]]", "drop=h"},
		{"different names in other files", func(m *maker) {
			m.file("a", days(0, 1), h("time lat", 1, 2))
			m.file("b", days(1, 1), h("time latitude", 1, 2))
			m.file("c", days(2, 1), h("time p", 1, 2))
			m.scale("time")
		}, "[/h[/time /lat] [3 2] /time[/time] [3]]", "rename=latitude=lat rename=p=lat"},
		{"different orders in other files", func(m *maker) {
			m.file("a", days(0, 1), h("time lat lon", 1, 4, 4))
			m.file("b", days(1, 1), h("time lon lat", 1, 4, 4))
			m.file("c", days(2, 1), h("time p p", 1, 4, 4))
			m.scale("time")
		}, "[/h[/time /lat /lon] [3 4 4] /time[/time] [3]]", "rename=p=lat rename=p_2=lon"},
		{"one name for different axes", func(m *maker) {
			m.file("a", days(0, 1), h("time lat p", 1, 4, 4))
			m.scale("time", "lat")
			m.file("b", days(1, 1), h("time p lat", 1, 4, 4))
			m.scale("time", "lat")
		}, "[/h[/time /lat /p] [2 4 4] /time[/time] [2]]", "rename=p_2=p"},
		{"one axis with two lengths", func(m *maker) {
			m.file("a", days(0, 1), h("time lat", 1, 4), cube("k", "time lat", []int64{1, 4}, []int64{1, 4}), cube("l", "time lat", []int64{1, 4}, []int64{1, 4}))
			m.scale("time", "lat")
			m.file("b", days(1, 1), h("time p", 1, 4), cube("k", "time q", []int64{1, 5}, []int64{1, 5}), cube("l", "time p", []int64{1, 4}, []int64{1, 4}))
			m.scale("time")
		}, "[/h[/time /lat] [2 4] /l[/time /lat] [2 4] /time[/time] [2]]", "drop=k"},
		{"another length in the unnamed file", func(m *maker) {
			m.file("a", days(0, 1), numbers("lat", "lat", 1, 2), h("time lat", 1, 2))
			m.scale("time", "lat")
			m.file("b", days(1, 1), h("time p", 1, 3))
			m.scale("time")
		}, "[/h[/time /lat] [2 5] /time[/time] [2]]", "drop=lat concat=lat"},
		{"a file without times", func(m *maker) {
			m.file("a", days(0, 2), h("time lat", 2, 2))
			m.file("b", h("p q", 2, 2))
			m.scale()
		}, "[/h[/time /lat] [4 2]]", "drop=time concat=time"},
		{"the same generated name for different axes", func(m *maker) {
			m.file("a", days(0, 1), h("time p", 1, 2))
			m.scale("time")
			m.file("b", days(1, 1), h("time q", 1, 2), cube("k", "time p", []int64{1, 3}, []int64{1, 3}))
			m.scale("time")
		}, "[/h[/time /p] [2 2] /k[/time /p_2] [2 3] /time[/time] [2]]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			for range 2 { // the second time in reverse order, with the same result
				if _, got, after := plannedAfter(t, m); got != c.want || after != c.after {
					t.Errorf("planned %s after the options %q, want %s after %q", got, after, c.want, c.after)
				}
				slices.Reverse(m.files)
			}
		})
	}
}

// plannedAfter plans files, and applies remedies while the plan is refused. It returns the arrays
// and the remedies.
func plannedAfter(t *testing.T, m *maker) (p *Plan, arrays, after string) {
	t.Helper()
	opts := &plan.Options{}
	p, err := planning(m, opts)
	for range 3 {
		var refused *plan.Error
		if !errors.As(err, &refused) {
			break
		}
		after = strings.TrimSpace(after + " " + follow(t, refused, opts))
		p, err = planning(m, opts)
	}
	if err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
	var all []string
	for _, a := range p.Arrays {
		all = append(all, fmt.Sprint(a.Path, a.Dims, a.Schema.Shape))
	}
	return p, fmt.Sprint(all), after
}

func planning(m *maker, opts *plan.Options) (*Plan, error) {
	p, needs, err := newPlan(m.files, opts)
	if len(needs) > 0 {
		err = fmt.Errorf("the plan requests %v", needs)
	}
	return p, err
}

// follow applies the first remedy of each finding, and returns the options that it set.
func follow(t *testing.T, refused *plan.Error, opts *plan.Options) string {
	var followed []string
	for _, f := range refused.Findings {
		i := slices.IndexFunc(f.Remedies, func(r report.Remedy) bool { return r.Option != report.Separate })
		if i < 0 {
			continue
		}
		for _, s := range append([]report.Setting{f.Remedies[i].Setting}, f.Remedies[i].With...) {
			option := string(s.Option) + "=" + s.Value
			if slices.Contains(followed, option) {
				continue
			}
			followed = append(followed, option)
			if err := plantest.SetOption(opts, string(s.Option), s.Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return strings.Join(followed, " ")
}

// TestCoordinateOfUnnamed: the coordinate of an unnamed axis is read even if it is not selected,
// also for an append.
func TestCoordinateOfUnnamed(t *testing.T) {
	m := newMaker()
	for i, last := range []float64{2, 2, 7} {
		dim := []string{"lat", "p", "p"}[i]
		m.file(fmt.Sprint(i), days(i, 1), coords("lat", dim, float64s, 1, last), cube("h", "time "+dim, []int64{1, 2}, []int64{1, 2}))
		m.scale("time", "lat")
	}
	opts := &plan.Options{Vars: []string{"h"}}
	all := m.files
	m.files = all[:2]
	p, err := planning(m, opts)
	if err != nil || len(p.Arrays) != 3 || p.State != nil {
		t.Fatalf("%v, %v", p, err)
	}
	m.files = all
	var refused *plan.Error
	if _, err := planning(m, opts); !errors.As(err, &refused) || refused.Findings[0].Code != report.CoordinateDiffers {
		t.Errorf("error %v, want a refusal because values of lat differ", err)
	}
}

// TestRenamedNumbers: renaming an unnamed dimension applies to all files. The option stays valid after
// a file is added that names the dimension.
func TestRenamedNumbers(t *testing.T) {
	m := newMaker()
	m.file("a", days(0, 1), cube("h", "time p0 p1", []int64{1, 3, 5}, []int64{1, 3, 5}))
	m.scale("time")
	m.file("b", days(1, 1), cube("h", "time p1 p0", []int64{1, 3, 5}, []int64{1, 3, 5}))
	m.scale("time")
	opts := &plan.Options{Rename: []plan.Rename{{Old: "p0", New: "lat"}, {Old: "p1", New: "lon"}}}
	for _, want := range []string{"[/time /lat /lon] [2 3 5]", "[/time /lat /lon] [3 3 5]"} {
		p, err := planning(m, opts)
		if err != nil {
			t.Fatal(err)
		}
		if a := p.Arrays[0]; fmt.Sprint(a.Dims, a.Schema.Shape) != want || !slices.Equal(a.Unnamed, []string{"", "/lat", "/lon"}) || a.Renamed != nil {
			t.Errorf("%v %v, unnamed %v, renamed %v: want %s", a.Dims, a.Schema.Shape, a.Unnamed, a.Renamed, want)
		}
		m.file("c", days(2, 1), cube("h", "time lat lon", []int64{1, 3, 5}, []int64{1, 3, 5}))
	}
	var wrong *plan.OptionError
	if _, err := planning(m, &plan.Options{Rename: []plan.Rename{{Old: "p2", New: "lat"}}}); !errors.As(err, &wrong) {
		t.Errorf("error %v, want an *OptionError because no dimension is called p2", err)
	}
}

// TestKeepingRemediesFirst: remedies that keep all values come before remedies that lose some.
func TestKeepingOptions(t *testing.T) {
	line := func(n float64) wanted { return coords("orbit", "phony_dim_0", float64s, n) }
	for name, c := range map[string]struct {
		make func(m *maker)
		want string
	}{
		"scalars": {func(m *maker) {
			for i, name := range []string{"a", "b"} {
				m.file(name, scalar("member", float64(i)), lat(), cube("t", "lat", []int64{3}, []int64{3}).with("coordinates", "member"))
			}
		}, "new-dim=member=var:member | coords=first | drop=member"},
		"a dimension without a name": {func(m *maker) {
			m.unnamedFile("a", line(1))
			m.unnamedFile("b", line(2))
		}, "concat=phony_dim_0 | broadcast=orbit=time | coords=first | drop=orbit"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			_, _, err := newPlan(m.files, &plan.Options{})
			if f := refusals(t, err)[0]; reporttest.Remedies(&f) != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestNotesInOrder: the same files give the same findings in the same order.
func TestNotesInOrder(t *testing.T) {
	m := newMaker()
	for _, f := range []struct {
		name, lat, lon string
		scales         []string
	}{{"a", "lat", "lon", []string{"time", "lat", "lon"}}, {"b", "p", "q", []string{"time"}}} {
		m.file(f.name, days(len(m.files), 1), cube("h", "time "+f.lat, []int64{1, 2}, []int64{1, 2}), cube("k", "time "+f.lon, []int64{1, 3}, []int64{1, 3}),
			cube("l", "time "+f.lat+" "+f.lon, []int64{1, 2, 3}, []int64{1, 2, 3}))
		m.scale(f.scales...)
	}
	var first string
	for range 20 {
		p, err := planning(m, &plan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if now := fmt.Sprintf("%+v", p.Report.Findings); first == "" {
			first = now
		} else if now != first {
			t.Fatalf("the findings were\n%s\nand are now\n%s", first, now)
		}
	}
	if n := strings.Count(first, string(report.DimByPosition)); n != 3 {
		t.Errorf("%d findings: %s", n, first)
	}
}

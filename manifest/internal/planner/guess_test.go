package planner

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// guessed sets the candidates for the dimensions of the last file: "x y" for the dimension "#x".
func (m *maker) guessed(like ...string) {
	f := m.files[len(m.files)-1]
	m.change(f, func(h *manifest.Header) {
		for _, names := range like {
			for i := range h.Dimensions {
				if d := &h.Dimensions[i]; d.Path == "/#"+strings.Fields(names)[0] {
					for _, name := range strings.Fields(names) {
						d.Anonymous, d.Like = true, append(d.Like, "/"+name)
					}
				}
			}
		}
	})
}

// TestGuesses: a guess is accepted if no file contradicts it. It is refused if files would be
// concatenated along it although another dimension is possible. Remedies of refusals lead to a plan.
func TestGuesses(t *testing.T) {
	const both = "[/h[/y /x] [3 7] /x[/x] [7] /y[/y] [3]]"
	line := func(name string, from, n int) wanted {
		var numbers []float64
		for i := range n {
			numbers = append(numbers, float64(from+i))
		}
		return coords(name, name, float64s, numbers...)
	}
	// tile adds a file whose h has the axes y and x, or candidates for them.
	tile := func(m *maker, from, width int, axes string, like ...string) {
		m.file(fmt.Sprint(len(m.files)), line("x", from, width), line("y", 0, 3), cube("h", axes, []int64{3, int64(width)}, []int64{3, int64(width)}))
		m.guessed(like...)
	}
	for _, c := range []struct {
		name  string
		make  func(m *maker)
		want  string
		after string // the options of the remedies that were applied
		says  string // a part of a finding
	}{
		{"only one dimension has the length", func(m *maker) {
			tile(m, 0, 2, "#y #x", "x", "y")
			tile(m, 2, 5, "#y #x", "x", "y")
		}, both, "", "rename=like_x=NAME"},
		{"only one dimension has the length in another file", func(m *maker) {
			tile(m, 0, 3, "#x #y", "x y", "y x")
			tile(m, 3, 4, "#y #x", "x", "y")
		}, both, "", "rename=like_x=NAME"},
		{"another file names the dimension", func(m *maker) {
			tile(m, 0, 3, "#x #y", "x y", "y x")
			tile(m, 3, 4, "y x")
		}, both, "", "names=[y x]"},
		{"two dimensions with the same length in all files", func(m *maker) {
			tile(m, 0, 3, "#x #y", "x y", "y x")
			tile(m, 3, 3, "#x #y", "x y", "y x")
		}, "[/h[/x /y] [6 3] /x[/x] [6] /y[/y] [3]]", "rename=like_x=x rename=like_y=y", ""},
		{"a length that equals the length of time in one file", func(m *maker) {
			for i, n := range []int{3, 2} {
				m.file(fmt.Sprint(i), days(3*i, n), cube("t", "time", []int64{int64(n)}, []int64{int64(n)}), coords("k", []string{"#time", "p"}[i], float64s, 7, 8, 9))
				m.guessed("time")
				m.change(m.files[i], func(h *manifest.Header) { h.Dimensions[1].Anonymous = true })
			}
		}, "[/k[/like_time] [3] /t[/time] [5] /time[/time] [5]]", "", "rename=like_time=NAME"},
		{"different dimensions with the same length in different files", func(m *maker) {
			for i, name := range []string{"x", "y"} {
				m.file(fmt.Sprint(i), days(i, 1), line(name, 0, 3), cube("h"+name, "time "+name, []int64{1, 3}, []int64{1, 3}), coords("k", "#"+name, float64s, 7, 8, 9))
				m.guessed(name)
			}
		}, "[/hx[/time /x] [2 3] /hy[/time /y] [2 3] /k[/like_x] [3] /time[/time] [2] /x[/x] [3] /y[/y] [3]]", "", "rename=like_x=NAME"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			for range 2 { // the second time in reverse order, with the same result
				p, got, after := plannedAfter(t, m)
				if got != c.want || after != c.after {
					t.Errorf("planned %s after the options %q, want %s after %q", got, after, c.want, c.after)
				}
				if c.says != "" && !slices.ContainsFunc(p.Report.Findings, func(f report.Finding) bool {
					return strings.Contains(reporttest.Facts(&f)+" "+reporttest.Remedies(&f), c.says)
				}) {
					t.Errorf("no finding contains %q: %+v", c.says, p.Report.Findings)
				}
				slices.Reverse(m.files)
			}
		})
	}
}

// TestGuessesOfTiles: tiles of a variable with unnamed axes are combined along the right
// dimensions, or refused if nothing identifies them.
func TestGuessesOfTiles(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	right := 0
	for range 500 {
		dims := []string{"x", "y", "z"}[:2+r.IntN(2)]
		truth := slices.Clone(dims)
		r.Shuffle(len(truth), func(i, j int) { truth[i], truth[j] = truth[j], truth[i] })
		flow, at, m := dims[r.IntN(len(dims))], 0, newMaker()
		fixed := map[string]int{"x": 1 + r.IntN(3), "y": 1 + r.IntN(3), "z": 1 + r.IntN(3)}
		for f := range 2 + r.IntN(2) {
			length := maps.Clone(fixed)
			length[flow] = 1 + r.IntN(3)
			m.tile(fmt.Sprint(f), dims, truth, length, map[string]int{flow: at}, r.IntN(3) == 0)
			at += length[flow]
		}
		p, err := planning(m, &plan.Options{})
		if refused := (*plan.Error)(nil); errors.As(err, &refused) && strings.Contains(reporttest.Remedies(&refused.Findings[0]), "rename=like_") {
			continue
		}
		if err != nil {
			t.Fatalf("%v along %s of %v: %v", truth, flow, fixed, err)
		}
		got := strings.Join(arrayOf(t, p, "/h").Dims, "")
		said := slices.ContainsFunc(p.Report.Findings, func(f report.Finding) bool {
			return f.Code == report.DimGuessed && f.Args["basis"] != "only"
		})
		if want := "/" + strings.Join(truth, "/"); got == want {
			right++
		} else if !said {
			t.Errorf("the dimensions are %s, want %s, along %s of %v: %+v", got, want, flow, fixed, p.Report.Findings)
		}
	}
	if right < 300 {
		t.Errorf("only %d of 500 guesses are right", right)
	}
}

// tile adds a file with coordinates, and a variable whose axes are named or have netCDF's
// candidates.
func (m *maker) tile(name string, dims, truth []string, length, from map[string]int, named bool) {
	var vars []wanted
	for _, d := range dims {
		numbers := make([]float64, length[d])
		for i := range numbers {
			numbers[i] = float64(from[d] + i)
		}
		vars = append(vars, coords(d, d, float64s, numbers...))
	}
	var axes, like []string
	var shape []int64
	for _, d := range truth {
		shape = append(shape, int64(length[d]))
		if named {
			axes = append(axes, d)
			continue
		}
		long := slices.DeleteFunc(slices.Clone(dims), func(e string) bool { return length[e] != length[d] })
		taken := slices.IndexFunc(long, func(e string) bool { return !slices.Contains(axes, "#"+e) })
		axes = append(axes, "#"+long[taken])
		others := slices.DeleteFunc(slices.Clone(long), func(e string) bool { return e == long[taken] })
		like = append(like, strings.Join(append([]string{long[taken]}, others...), " "))
	}
	m.file(name, append(vars, cube("h", strings.Join(axes, " "), shape, shape))...)
	m.guessed(like...)
}

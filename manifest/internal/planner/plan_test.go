package planner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestPlaced: files have the expected positions, and arrays the expected chunks.
func TestPlaced(t *testing.T) {
	m64 := func(n ...int64) []int64 { return n }
	for _, c := range []struct {
		name  string
		opts  plan.Options
		make  func(m *maker)
		array string
		tiles string
		grid  string
	}{
		{"one file", plan.Options{}, func(m *maker) { m.day("a", 0, 4) }, "/t", "a@0+4", "4 3 4"},
		{"the order of values differs from the order of names", plan.Options{}, func(m *maker) { m.day("a", 4, 4); m.day("b", 0, 4); m.day("c", 8, 4) },
			"/t", "b@0+4 a@4+4 c@8+4", "4 3 4"},
		{"lengths of months", plan.Options{}, func(m *maker) { m.day("1", 0, 31); m.day("2", 31, 28); m.day("3", 59, 31); m.day("4", 90, 30) },
			"/t", "1@0+31 2@31+28 3@59+31 4@90+30", "[31 28 31 30] [3] [4]"},
		{"adjacent equal lengths are one run", plan.Options{}, func(m *maker) {
			for i, n := range []int{5, 5, 5, 4, 4} {
				m.day(fmt.Sprint(i), i*10, n)
			}
		}, "/t", "0@0+5 1@5+5 2@10+5 3@15+4 4@19+4", "[5x3 4x2] [3] [4]"},
		{"a short last file of a smaller chunk", plan.Options{}, func(m *maker) { m.day("1", 0, 4); m.day("2", 4, 3) }, "/t", "1@0+4 2@4+3", "[4 3] [3] [4]"},
		{"a padded last chunk keeps the grid regular", plan.Options{}, func(m *maker) {
			m.file("1", days(0, 4), cube("t", "time", m64(4), m64(2)))
			m.file("2", days(4, 3), cube("t", "time", m64(3), m64(2)))
		}, "/t", "1@0+4 2@4+3", "2"},
		{"a padded chunk in the middle", plan.Options{}, func(m *maker) {
			m.file("1", days(0, 3), cube("t", "time", m64(3), m64(2)))
			m.file("2", days(3, 4), cube("t", "time", m64(4), m64(2)))
		}, "/t", "1@0+3 2@3+4", "[2 1 2x2]"},
		{"chunks longer than any file", plan.Options{}, func(m *maker) {
			m.file("1", days(0, 30), cube("t", "time", m64(30), m64(512)))
			m.file("2", days(30, 28), cube("t", "time", m64(28), m64(512)))
		}, "/t", "1@0+30 2@30+28", "[30 512]"},
		{"one file with a longer chunk", plan.Options{}, func(m *maker) { m.file("1", days(0, 30), cube("t", "time", m64(30), m64(512))) }, "/t", "1@0+30", "512"},
		{"a rectilinear grid is requested", plan.Options{Rectilinear: true}, func(m *maker) { m.day("a", 0, 4); m.day("b", 4, 4) }, "/t", "a@0+4 b@4+4", "[4x2] [3] [4]"},
		{"chunks that the user chooses", plan.Options{Schemas: []plan.Override{{Array: "t", Chunks: map[string][]int64{"time": {3}, "lat": {1, 2}}}}},
			func(m *maker) { m.day("a", 0, 4); m.day("b", 4, 4) }, "/t", "a@0+4 b@4+4", "[3x3] [1 2] [4]"},
		{"chunk shapes of most bytes", plan.Options{}, func(m *maker) {
			for i, c := range [][]int64{{4, 3, 2}, {2, 3, 4}, {2, 3, 4}} {
				m.file(fmt.Sprint(i), days(i*4, 4), lat(), lon(), cube("t", "time lat lon", m64(4, 3, 4), c))
			}
		}, "/t", "0@0+4 1@4+4 2@8+4", "[4 2x4] [3] [4]"},
		{"chunks of the file that codec-from names", plan.Options{CodecFrom: "0"}, func(m *maker) {
			for i, c := range [][]int64{{4, 3, 2}, {4, 3, 4}, {4, 3, 4}} {
				m.file(fmt.Sprint(i), days(i*4, 4), lat(), lon(), cube("t", "time lat lon", m64(4, 3, 4), c))
			}
		}, "/t", "0@0+4 1@4+4 2@8+4", "4 3 2"},
		{"decreasing values", plan.Options{}, func(m *maker) {
			m.file("a", coords("y", "y", float64s, 9, 8, 7), cube("t", "y", m64(3), m64(3)))
			m.file("b", coords("y", "y", float64s, 12, 11, 10), cube("t", "y", m64(3), m64(3)))
			m.file("c", coords("y", "y", float64s, 6, 5, 4), cube("t", "y", m64(3), m64(3)))
		}, "/t", "b@0+3 a@3+3 c@6+3", "3"},
		{"texts", plan.Options{}, func(m *maker) {
			m.file("a", words("station", "station", "oslo", "paris"), cube("t", "station", m64(2), m64(2)))
			m.file("b", words("station", "station", "bern"), cube("t", "station", m64(1), m64(1)))
		}, "/t", "b@0+1 a@1+2", "[1 2]"},
		{"one step per file", plan.Options{}, func(m *maker) { m.day("b", 30, 1); m.day("a", 0, 1); m.day("c", 61, 1) }, "/t", "a@0+1 b@1+1 c@2+1", "1 3 4"},
		{"times with different units", plan.Options{}, func(m *maker) {
			m.file("a", coords("time", "time", int32s, 48, 72).with("units", "hours since 1990-01-01"), cube("t", "time", m64(2), m64(2)))
			m.file("b", coords("time", "time", float64s, 0, 1).with("units", "days since 1990-01-01"), cube("t", "time", m64(2), m64(2)))
		}, "/t", "b@0+2 a@2+2", "2"},
		{"tiles of a lattice", plan.Options{}, func(m *maker) {
			for _, y := range []float64{0, 2} {
				for _, x := range []float64{0, 3} {
					m.file(fmt.Sprintf("y%vx%v", y, x), coords("y", "y", float64s, lines(y, 2, 1)...), coords("x", "x", float64s, lines(x, 3-x/3, 1)...),
						cube("t", "y x", m64(2, int64(3-x/3)), m64(2, int64(3-x/3))))
				}
			}
		}, "/t", "y0x0@0,0+2,3 y0x3@0,3+2,2 y2x0@2,0+2,3 y2x3@2,3+2,2", "[2x2] [3 2]"},
		{"a lattice with a hole", plan.Options{}, func(m *maker) {
			for i := range 5 {
				y, x := float64(i/2*2), float64(i%2*3)
				m.file(fmt.Sprint(i), coords("y", "y", float64s, lines(y, 2, 1)...), coords("x", "x", float64s, lines(x, 3, 1)...), cube("t", "y x", m64(2, 3), m64(2, 3)))
			}
		}, "/t", "0@0,0+2,3 1@0,3+2,3 2@2,0+2,3 3@2,3+2,3 4@4,0+2,3", "2 3"},
		{"files without steps", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("none", days(0, 0), lat(), lon(), cube("t", "time lat lon", m64(0, 3, 4), m64(2, 3, 4)))
			m.day("b", 2, 2)
		}, "/t", "a@0+2 b@2+2", "2 3 4"},
		{"the order of names", plan.Options{Concat: []string{"n"}}, func(m *maker) {
			for _, name := range []string{"run10", "run9", "run1"} {
				m.file(name, cube("t", "n", m64(2), m64(2)))
			}
		}, "/t", "run1@0+2 run9@2+2 run10@4+2", "2"},
		{"the order of names, with two variables in different files", plan.Options{Concat: []string{"n"}}, func(m *maker) {
			m.file("t2", cube("t", "n", m64(2), m64(2)), cube("id", "", nil, nil))
			m.file("t1", cube("t", "n", m64(2), m64(2)), cube("id", "", nil, nil))
			m.file("u1", cube("u", "n", m64(2), m64(2)), cube("id", "", nil, nil))
			m.file("u2", cube("u", "n", m64(2), m64(2)), cube("id", "", nil, nil))
			for _, f := range m.files {
				f.Values[1] = m.intern(&manifest.Values{Data: []byte{1, 2, 3, 4}})
			}
		}, "/u", "u1@0+2 u2@2+2", "2"},
		{"one variable per file", plan.Options{}, func(m *maker) {
			for i := range 2 {
				m.file(fmt.Sprint("t", i), days(i*2, 2), cube("t", "time", m64(2), m64(2)))
				m.file(fmt.Sprint("u", i), days(i*2, 2), cube("u", "time", m64(2), m64(2)))
			}
		}, "/u", "u0@0+2 u1@2+2", "2"},
		{"one variable in a file per year, another in files per month", plan.Options{}, func(m *maker) {
			m.file("year", days(0, 6), cube("u", "time", m64(6), m64(6)))
			for i := range 3 {
				m.file(fmt.Sprint("m", i), days(i*2, 2), cube("t", "time", m64(2), m64(2)))
			}
		}, "/t", "m0@0+2 m1@2+2 m2@4+2", "2"},
		{"a new dimension from names", plan.Options{NewDims: []plan.NewDim{{Name: "time", Pattern: `A(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)`}}}, func(m *maker) {
			for _, d := range []string{"A19900301", "A19900201"} {
				m.file(d, lat(), cube("t", "lat", m64(3), m64(3)))
			}
		}, "/t", "A19900201@0+1 A19900301@1+1", "1 3"},
		{"a new dimension before an existing one", plan.Options{NewDims: []plan.NewDim{{Name: "member", Pattern: `r(\d+)`}}}, func(m *maker) {
			for i := range 2 {
				for r := range 2 {
					m.day(fmt.Sprintf("t%d_r%d", i, r), i*2, 2)
				}
			}
		}, "/t", "t0_r0@0,0+1,2 t1_r0@0,2+1,2 t0_r1@1,0+1,2 t1_r1@1,2+1,2", "1 2 3 4"},
		{"a new dimension from a variable", plan.Options{NewDims: []plan.NewDim{{Name: "run", Variable: "n"}}}, func(m *maker) {
			for _, n := range []float64{3, 1, 2} {
				m.file(fmt.Sprint("f", n), lat(), scalar("n", n), cube("t", "lat", m64(3), m64(3)))
			}
		}, "/t", "f1@0+1 f2@1+1 f3@2+1", "1 3"},
		{"a new dimension from the variable of its name", plan.Options{NewDims: []plan.NewDim{{Name: "when", Variable: "when"}}}, func(m *maker) {
			for i, units := range []string{"days since 1990-01-03", "hours since 1990-01-01"} {
				m.file(fmt.Sprint("f", i), lat(), scalar("when", 12).with("units", units), cube("t", "lat", m64(3), m64(3)))
			}
		}, "/t", "f1@0+1 f0@1+1", "1 3"},
		{"overlap=first", plan.Options{Overlap: plan.OverlapFirst}, func(m *maker) { m.day("a", 0, 4); m.day("b", 3, 4); m.day("c", 7, 2) },
			"/t", "a@0+4 b@4+3~1 c@7+2", "[4 3 2] [3] [4]"},
		{"overlap=last", plan.Options{Overlap: plan.OverlapLast}, func(m *maker) { m.day("a", 0, 4); m.day("b", 3, 4); m.day("c", 7, 2) },
			"/t", "a@0+3 b@3+4 c@7+2", "[3 4 2] [3] [4]"},
		{"a file within another, overlap=last", plan.Options{Overlap: plan.OverlapLast}, func(m *maker) { m.day("a", 0, 9); m.day("b", 3, 2) },
			"/t", "a@0+3 b@3+2 a@5+4~5", "[3 2 4] [3] [4]"},
		{"a file within another, overlap=first", plan.Options{Overlap: plan.OverlapFirst}, func(m *maker) { m.day("a", 0, 9); m.day("b", 3, 2) }, "/t", "a@0+9", "9 3 4"},
		{"narrow files are padded", plan.Options{Pad: plan.PadFill}, func(m *maker) {
			m.file("a", days(0, 2), cube("t", "time x", m64(2, 5), m64(2, 5)))
			m.file("b", days(2, 2), cube("t", "time x", m64(2, 3), m64(2, 3)))
			m.file("c", days(4, 2), cube("t", "time x", m64(2, 5), m64(2, 5)))
		}, "/t", "a@0+2 b@2+2 c@4+2", "2 5"},
		{"edges are kept along axes in which files are not placed", plan.Options{}, func(m *maker) {
			m.file("a", edged("t", "y x", m64(60, 100), [][2]int64{{10, 1}, {20, 1}, {30, 1}}, [][2]int64{{50, 2}}))
		}, "/t", "a@+", "[10 20 30] [50x2]"},
		{"edges that grow and shrink", plan.Options{}, func(m *maker) {
			m.file("a", edged("t", "y", m64(44), [][2]int64{{10, 1}, {8, 3}, {10, 1}}))
		}, "/t", "a@+", "[10 8x3 10]"},
		{"a first edge of 1", plan.Options{}, func(m *maker) {
			m.file("a", edged("t", "y", m64(200001), [][2]int64{{1, 1}, {100000, 2}}))
		}, "/t", "a@+", "[1 100000x2]"},
		{"edges along two axes, with a coordinate along one", plan.Options{}, func(m *maker) {
			m.file("a", coords("y", "y", float32s, lines(0, 60, 1)...), edged("t", "y x", m64(60, 100), [][2]int64{{10, 1}, {20, 1}, {30, 1}}, [][2]int64{{5, 1}, {45, 1}, {50, 1}}))
		}, "/t", "a@+", "[10 20 30] [5 45 50]"},
		{"edges along latitude of files along time", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), edged("t", "time y", m64(2, 60), [][2]int64{{1, 2}}, [][2]int64{{10, 1}, {20, 1}, {30, 1}}))
			m.file("b", days(2, 3), edged("t", "time y", m64(3, 60), [][2]int64{{1, 3}}, [][2]int64{{10, 1}, {20, 1}, {30, 1}}))
		}, "/t", "a@0+2 b@2+3", "[1x5] [10 20 30]"},
		{"edges of most bytes, if files differ", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), edged("t", "time y", m64(2, 60), [][2]int64{{1, 2}}, [][2]int64{{10, 1}, {20, 1}, {30, 1}}))
			m.file("b", days(2, 3), edged("t", "time y", m64(3, 60), [][2]int64{{1, 3}}, [][2]int64{{5, 1}, {55, 1}}))
		}, "/t", "a@0+2 b@2+3", "[1x5] [5 55]"},
		{"edges of the chosen file", plan.Options{CodecFrom: "a"}, func(m *maker) {
			m.file("a", days(0, 2), edged("t", "time y", m64(2, 60), [][2]int64{{1, 2}}, [][2]int64{{10, 1}, {20, 1}, {30, 1}}))
			m.file("b", days(2, 3), edged("t", "time y", m64(3, 60), [][2]int64{{1, 3}}, [][2]int64{{5, 1}, {55, 1}}))
		}, "/t", "a@0+2 b@2+3", "[1x5] [10 20 30]"},
		{"edges of a source, with a requested rectilinear grid", plan.Options{Rectilinear: true}, func(m *maker) {
			m.file("a", days(0, 59), edged("t", "time y", m64(59, 4), [][2]int64{{31, 1}, {28, 1}}, [][2]int64{{1, 1}, {3, 1}}))
		}, "/t", "a@0+59", "[31 28] [1 3]"},
		{"edges of chunks that are re-encoded become regular", plan.Options{}, func(m *maker) {
			m.file("a.nc", edged("x", "lat lon", m64(60, 100), [][2]int64{{25, 2}, {10, 1}}, [][2]int64{{30, 3}, {10, 1}}).reencoded())
		}, "/x", "a.nc@+", "25 30"},
		{"edges of verbatim chunks are preferred to those of larger files that are re-encoded", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), edged("t", "time y", m64(2, 60), [][2]int64{{1, 2}}, [][2]int64{{25, 2}, {10, 1}}))
			m.file("b", days(2, 3), edged("t", "time y", m64(3, 60), [][2]int64{{1, 3}}, [][2]int64{{20, 2}, {15, 1}, {5, 1}}).reencoded())
		}, "/t", "a@0+2 b@2+3", "[1x5] [25x2 10]"},
		{"edges become regular if the user chooses other chunks along another axis", plan.Options{Schemas: []plan.Override{{Array: "/t", Chunks: map[string][]int64{"x": {100}}}}}, func(m *maker) {
			m.file("a", edged("t", "y x", m64(60, 100), [][2]int64{{25, 2}, {10, 1}}, [][2]int64{{50, 2}}))
		}, "/t", "a@+", "25 100"},
		{"edges stay if the user chooses the stored chunks along another axis", plan.Options{Schemas: []plan.Override{{Array: "/t", Chunks: map[string][]int64{"x": {50}}}}}, func(m *maker) {
			m.file("a", edged("t", "y x", m64(60, 100), [][2]int64{{25, 2}, {10, 1}}, [][2]int64{{50, 2}}))
		}, "/t", "a@+", "[25x2 10] [50x2]"},
		{"a last edge that extends beyond the file", plan.Options{}, func(m *maker) {
			m.file("a", edged("t", "y x", m64(55, 90), [][2]int64{{10, 1}, {20, 1}, {30, 1}}, [][2]int64{{50, 2}}))
		}, "/t", "a@+", "[10 20 30] [50x2]"},
		{"equal edges are regular", plan.Options{}, func(m *maker) {
			m.file("a", edged("t", "y", m64(55), [][2]int64{{10, 6}}))
		}, "/t", "a@+", "10"},
		{"records are chunks", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 3), bare("t", "time x", m64(3, 5), 40))
			m.file("b", days(3, 4), bare("t", "time x", m64(4, 5), 40))
		}, "/t", "a@0+3 b@3+4", "1 5"},
		{"contiguous storage is split into whole rows", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 12), bare("t", "time y x", m64(12, 1024, 256), 0))
		}, "/t", "a@0+12", "4 1024 256"},
		{"rows that are too long for a chunk are split", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), bare("t", "time y x", m64(2, 4000, 1000), 0))
		}, "/t", "a@0+2", "1 1000 1000"},
		{"a prime length is not split into tiny chunks", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), bare("t", "cell", m64(3000017), 0))
		}, "/t", "a@+", "1048576"},
		{"short records are joined", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), bare("t", "cell", m64(300000), 20))
		}, "/t", "a@+", "50000"},
		{"64 records of 8 bytes are one chunk each", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), bare("t", "cell two", m64(64, 2), 20))
		}, "/t", "a@+", "1 2"},
		{"130 records of 8 bytes are joined", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), bare("t", "cell two", m64(130, 2), 20))
		}, "/t", "a@+", "130 2"},
		{"the number of records includes all files", plan.Options{}, func(m *maker) {
			for i := range 3 {
				m.file(fmt.Sprint(i), days(40*i, 40), bare("t", "time two", m64(40, 2), 20))
			}
		}, "/t", "0@0+40 1@40+40 2@80+40", "40 2"},
		{"10,000 records of 600 bytes are one chunk each", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), bare("t", "cell x", m64(10000, 150), 1200))
		}, "/t", "a@+", "1 150"},
		{"10,001 records of 600 bytes are joined", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), bare("t", "cell x", m64(10001, 150), 1200))
		}, "/t", "a@+", "873 150"},
		{"records of 8 KiB are chunks", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), bare("t", "cell x", m64(20000, 2048), 10000))
		}, "/t", "a@+", "1 2048"},
		{"records that are far apart are joined by 64", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), bare("t", "cell", m64(6400), 1<<20))
		}, "/t", "a@+", "64"},
		{"a contiguous file gets the chunks of other files", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), bare("t", "time y", m64(2, 6), 0))
			for i := range 2 {
				m.file(fmt.Sprint(i), days(2+2*i, 2), cube("t", "time y", m64(2, 6), m64(2, 3)))
			}
		}, "/t", "a@0+2 0@2+2 1@4+2", "2 3"},
		{"a file with another order of axes", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", days(2, 2), lat(), lon(), cube("t", "time lon lat", m64(2, 4, 3), m64(2, 4, 3)))
			m.day("c", 4, 2)
		}, "/t", "a@0+2 b@2+2 c@4+2", "2 3 4"},
		{"a renamed dimension", plan.Options{Rename: []plan.Rename{{Old: "latitude", New: "lat"}}}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", days(2, 2), coords("latitude", "latitude", float32s, -10, 0, 10).with("units", "degrees_north"), lon(),
				cube("t", "time latitude lon", m64(2, 3, 4), m64(2, 3, 4)))
		}, "/t", "a@0+2 b@2+2", "2 3 4"},
		{"one selected group", plan.Options{Group: "/g"}, func(m *maker) {
			w := cube("g/t", "time", m64(2), m64(2))
			m.file("a", days(0, 2), w)
			m.file("b", days(2, 2), w, cube("other", "time", m64(2), m64(2)))
		}, "/t", "a@0+2 b@2+2", "2"},
		{"times along lines", plan.Options{}, func(m *maker) {
			for i, name := range []string{"b", "a"} {
				at := coords("when", "lines", float64s, lines(float64(10*i), 3, 1)...).with("units", "seconds since 2000-01-01")
				m.file(name, at, cube("t", "lines pixels", m64(3, 2), m64(3, 2)))
			}
		}, "/t", "b@0+3 a@3+3", "3 2"},
		{"equal bounds in files with different variables", plan.Options{}, func(m *maker) {
			for i, v := range []string{"t", "u"} {
				bounds := coords("time_bnds", "time", int32s, 0, 1)
				m.file(fmt.Sprint(i), days(0, 2).with("bounds", "time_bnds"), bounds, cube(v, "time", m64(2), m64(2)))
			}
		}, "/u", "1@0+2", "2"},
		{"all files except one are empty", plan.Options{}, func(m *maker) {
			for i, n := range []int64{0, 2, 0} {
				m.file(fmt.Sprint(i), days(0, int(n)), coords("sweep", "fixed", float32s, 0.5), cube("t", "time", m64(n), m64(2)))
			}
		}, "/t", "1@0+2", "2"},
		{"a dimension that one file covers is not concatenated", plan.Options{}, func(m *maker) {
			m.file("1", days(0, 2), words("station", "station", "S0", "S1"), cube("t", "time station", m64(2, 2), m64(2, 2)))
			m.file("2", days(0, 2), words("station", "station"), cube("t", "time station", m64(2, 0), m64(2, 2)))
		}, "/t", "1@0+2", "2 2"},
		{"times along lines, chosen by axis=T", plan.Options{}, func(m *maker) { m.lines("axis", "T") }, "/t", "b@0+2 a@2+2", "2"},
		{"times along lines, chosen by standard_name", plan.Options{}, func(m *maker) { m.lines("standard_name", "time") }, "/t", "b@0+2 a@2+2", "2"},
		{"times along lines that are not selected", plan.Options{Vars: []string{"t"}}, func(m *maker) { m.lines("axis", "T") }, "/t", "b@0+2 a@2+2", "2"},
		{"times along lines, chosen by the name time", plan.Options{}, func(m *maker) { m.lines("comment", "") }, "/t", "a@0+2 b@2+2", "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			p := planned(t, m, &c.opts)
			if got := tilesOf(t, m, p, c.array); got != c.tiles {
				t.Errorf("got tiles %s\nwant      %s", got, c.tiles)
			}
			if got := gridText(arrayOf(t, p, c.array)); got != c.grid {
				t.Errorf("got chunks %s, want %s", got, c.grid)
			}
		})
	}
}

// TestRefused: refusals have the expected finding, files and remedies.
func TestRefused(t *testing.T) {
	m64 := func(n ...int64) []int64 { return n }
	x := func(at ...float64) wanted { return coords("x", "x", float64s, at...) }
	for _, c := range []struct {
		name   string
		opts   plan.Options
		make   func(m *maker)
		code   report.Code
		files  string // base names
		option string // the remedies
	}{
		{"a coordinate with other values", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", days(2, 2), coords("lat", "lat", float32s, -10.004, 0, 10).with("units", "degrees_north"), lon(), cube("t", "time lat lon", m64(2, 3, 4), m64(2, 3, 4)))
			m.day("c", 4, 2)
		}, report.CoordinateDiffers, "b", "tolerance=0.004 | coords=first"},
		{"coordinates with equal float64 values", plan.Options{}, func(m *maker) {
			for i := range 3 {
				x := coords("x", "x", int64s, 1<<60, 1<<60+1<<20)
				x.values.Data[0] = byte(i / 2) // 1<<60+1 is 1<<60 as a float64
				m.file(fmt.Sprint(i), days(i, 1), x, cube("t", "time x", m64(1, 2), m64(1, 2)))
			}
		}, report.CoordinateDiffers, "2", "coords=first"},
		{"bounds too large to convert", plan.Options{}, func(m *maker) {
			for i := range 2 {
				at := coords("time", "time", int32s, float64(10*i), float64(10*i+1)).with("units", fmt.Sprintf("days since 1990-01-%02d", 1+2*i), "bounds", "edges")
				edges := cube("edges", "time nv", m64(2, 3<<20), m64(2, 3<<20))
				edges.v.Type = float64s
				m.file(fmt.Sprint(i), at, edges)
			}
		}, report.BoundsTooLarge, "0 1", "drop=edges"},
		{"a coordinate in reverse order", plan.Options{Coords: plan.CoordsFirst}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", days(2, 2), coords("lat", "lat", float32s, 10, 0, -10).with("units", "degrees_north"), lon(), cube("t", "time lat lon", m64(2, 3, 4), m64(2, 3, 4)))
			m.day("c", 4, 2)
		}, report.DirectionDiffers, "b", ""},
		{"longitudes from -180 and from 0", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", days(2, 2), lat(), coords("lon", "lon", float32s, -180, -90, 0, 90).with("units", "degrees_east"), cube("t", "time lat lon", m64(2, 3, 4), m64(2, 3, 4)))
			m.day("c", 4, 2)
		}, report.CoordinateDiffers, "b", "coords=first"},
		{"values of a coordinate in another order", plan.Options{Coords: plan.CoordsFirst}, func(m *maker) {
			m.file("a", days(0, 1), coords("s", "s", int32s, 3, 1, 2), cube("t", "time s", m64(1, 3), m64(1, 3)))
			m.file("b", days(1, 1), coords("s", "s", int32s, 1, 3, 2), cube("t", "time s", m64(1, 3), m64(1, 3)))
		}, report.CoordinatePermuted, "b", ""},
		{"a file apart from the others, so that half the mosaic is empty", plan.Options{}, func(m *maker) {
			for i := range 3 {
				m.file(fmt.Sprint(i), days(i, 1), x(1, 2), cube("t", "time x", m64(1, 2), m64(1, 2)))
			}
			m.file("moved", days(3, 1), x(11, 12), cube("t", "time x", m64(1, 2), m64(1, 2)))
		}, report.MosaicSparse, "moved", "concat=time,x"},
		{"a coordinate with other units", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", days(2, 2), coords("lat", "lat", float32s, -10, 0, 10).with("units", "radians"), lon(), cube("t", "time lat lon", m64(2, 3, 4), m64(2, 3, 4)))
			m.day("c", 4, 2)
		}, report.CoordinateUnits, "b", "coords=first"},
		{"different calendars", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.day("b", 2, 2)
			m.file("c", days(4, 2).with("calendar", "noleap"), lat(), lon(), cube("t", "time lat lon", m64(2, 3, 4), m64(2, 3, 4)))
		}, report.CoordinateCalendar, "c", ""},
		{"rows of sparse matrices", plan.Options{Concat: []string{"rows", "cells"}}, func(m *maker) {
			for i := range 2 {
				m.file(fmt.Sprint(i), cube("X/indptr", "X/rows", m64(3), m64(3)), cube("X/indices", "X/cells", m64(4), m64(4)), cube("X/data", "X/cells", m64(4), m64(4)))
			}
		}, report.IndexAcrossFiles, "0 1", "separate-manifests | drop=X/indptr"},
		{"indices into categories that differ", plan.Options{Concat: []string{"row"}}, func(m *maker) {
			for i, word := range []string{"B", "T"} {
				m.file(fmt.Sprint(i), cube("kind/codes", "row", m64(3), m64(3)), words("kind/categories", "kind/name", word))
			}
		}, report.StaticDiffers, "1", "broadcast=kind/categories=row | separate-manifests | drop=kind/codes"},
		{"indices into categories that differ, coords=first", plan.Options{Concat: []string{"row"}, Coords: plan.CoordsFirst}, func(m *maker) {
			for i, word := range []string{"B", "T"} {
				m.file(fmt.Sprint(i), cube("kind/codes", "row", m64(3), m64(3)), words("kind/categories", "kind/name", word))
			}
		}, report.StaticDiffers, "1", "broadcast=kind/categories=row | separate-manifests | drop=kind/codes"},
		{"indices into station numbers that differ, coords=first", plan.Options{Concat: []string{"obs"}, Coords: plan.CoordsFirst}, func(m *maker) {
			for i, from := range []float64{1, 1.5} {
				m.file(fmt.Sprint(i), cube("at", "obs", m64(3), m64(3)).with("instance_dimension", "station"), coords("station", "station", float64s, from, from+1))
			}
		}, report.IndexAcrossFiles, "0 1", "separate-manifests | drop=at"},
		{"indices into stations whose heights differ, coords=first", plan.Options{Concat: []string{"obs"}, Coords: plan.CoordsFirst}, func(m *maker) {
			for i := range 2 {
				m.file(fmt.Sprint(i), cube("at", "obs", m64(3), m64(3)).with("instance_dimension", "station"), coords("height", "station", float64s, 7, 8+float64(i)))
			}
		}, report.StaticDiffers, "1", "broadcast=height=obs | separate-manifests | drop=at"},
		{"indices into concatenated categories", plan.Options{Concat: []string{"row", "name"}}, func(m *maker) {
			for i, word := range []string{"B", "T"} {
				m.file(fmt.Sprint(i), cube("kind/codes", "row", m64(3), m64(3)), words("kind/categories", "kind/name", word))
			}
		}, report.IndexAcrossFiles, "0 1", "separate-manifests | drop=kind/codes"},
		{"indices into concatenated stations", plan.Options{Concat: []string{"obs", "station"}}, func(m *maker) {
			for i := range 2 {
				m.file(fmt.Sprint(i), cube("at", "obs", m64(3), m64(3)).with("instance_dimension", "station"), cube("height", "station", m64(2), m64(2)))
			}
		}, report.IndexAcrossFiles, "0 1", "separate-manifests | drop=at"},
		{"indices into concatenated stations, renamed", plan.Options{Concat: []string{"obs", "site"}, Rename: []plan.Rename{{Old: "station", New: "site"}}}, func(m *maker) {
			for i := range 2 {
				m.file(fmt.Sprint(i), cube("at", "obs", m64(3), m64(3)).with("instance_dimension", "station"), cube("height", "station", m64(2), m64(2)))
			}
		}, report.IndexAcrossFiles, "0 1", "separate-manifests | drop=at"},
		{"node indices into concatenated nodes", plan.Options{Concat: []string{"node", "face"}}, func(m *maker) { m.meshes() }, report.IndexAcrossFiles, "0 1", "separate-manifests | drop=corners"},
		{"node indices into concatenated nodes, with a dropped mesh", plan.Options{Concat: []string{"node", "face"}, Drop: []string{"mesh", "lon"}}, func(m *maker) { m.meshes() },
			report.IndexAcrossFiles, "0 1", "separate-manifests | drop=corners"},
		{"face indices into concatenated faces", plan.Options{Concat: []string{"face"}}, func(m *maker) {
			m.meshes(cube("near", "face", m64(3), m64(3)).with("cf_role", "location_index_set", "mesh", "mesh", "location", "face"))
		}, report.IndexAcrossFiles, "0 1", "separate-manifests | drop=near"},
		{"different calendars of times that are no coordinate", plan.Options{}, func(m *maker) {
			for i, calendar := range []string{"standard", "noleap"} {
				m.file(fmt.Sprint(i), days(2*i, 2), coords("seen", "time", float64s, 1, 2).with("units", "days since 1990-01-01", "calendar", calendar))
			}
		}, report.CalendarsDiffer, "1", ""},
		{"times and numbers", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.day("b", 2, 2)
			m.file("c", coords("time", "time", int32s, 4, 5), lat(), lon(), cube("t", "time lat lon", m64(2, 3, 4), m64(2, 3, 4)))
		}, report.CoordinateKind, "c", ""},
		{"files that share steps", plan.Options{}, func(m *maker) { m.day("a", 0, 4); m.day("b", 3, 4); m.day("c", 7, 2) }, report.Overlapping, "a b", "overlap=first | overlap=last"},
		{"files with the same steps", plan.Options{}, func(m *maker) { m.day("a", 0, 2); m.day("b", 0, 2) }, report.Overlapping, "a b", "overlap=first | overlap=last | new-dim=NAME=PATTERN"},
		{"steps between the steps of another file", plan.Options{}, func(m *maker) {
			m.file("a", coords("time", "time", int32s, 0, 2).with("units", "days since 1990-01-01"), cube("t", "time", m64(2), m64(2)))
			m.file("b", coords("time", "time", int32s, 1, 3).with("units", "days since 1990-01-01"), cube("t", "time", m64(2), m64(2)))
		}, report.ValuesInterleave, "a b", "concat=time"},
		{"no coordinate at all", plan.Options{}, func(m *maker) {
			m.file("a", cube("t", "time x", m64(2, 3), m64(2, 3)))
			m.file("b", cube("t", "time x", m64(2, 3), m64(2, 3)))
		}, report.OrderUnknown, "a b", "concat=time"},
		{"no dimension to concatenate along", plan.Options{}, func(m *maker) {
			m.file("a", lat(), cube("t", "lat", m64(3), m64(3)))
			m.file("b", lat(), cube("t", "lat", m64(3), m64(3)))
		}, report.OrderUnknown, "a b", "new-dim=NAME=PATTERN"},
		{"one grid with two-dimensional coordinates", plan.Options{}, func(m *maker) {
			for _, name := range []string{"a", "b"} {
				grid := cube("TLAT", "nlat nlon", m64(2, 3), m64(2, 3)).with("units", "degrees_north")
				grid.values = &manifest.Values{Data: make([]byte, 24)}
				m.file(name, grid, cube("SHF", "nlat nlon", m64(2, 3), m64(2, 3)).with("coordinates", "TLAT"))
			}
		}, report.OrderUnknown, "a b", "new-dim=NAME=PATTERN"},
		{"one file without coordinate values", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.day("b", 2, 2)
			m.file("c", lat(), lon(), cube("t", "time lat lon", m64(2, 3, 4), m64(2, 3, 4)))
		}, report.PositionUnknown, "c", "drop=time concat=time"},
		{"coordinate values in only one of two files", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("c", lat(), lon(), cube("t", "time lat lon", m64(2, 3, 4), m64(2, 3, 4)))
		}, report.PositionUnknown, "c", "drop=time concat=time"},
		{"a different length", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), cube("t", "time x", m64(2, 5), m64(2, 5)))
			m.file("b", days(2, 2), cube("t", "time x", m64(2, 3), m64(2, 3)))
			m.file("c", days(4, 2), cube("t", "time x", m64(2, 5), m64(2, 5)))
		}, report.WidthsDiffer, "b", "pad=fill | concat=x"},
		{"a different dimension name", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", days(2, 2), coords("latitude", "latitude", float32s, -10, 0, 10), lon(), cube("t", "time latitude lon", m64(2, 3, 4), m64(2, 3, 4)))
			m.day("c", 4, 2)
		}, report.DimsDiffer, "b", "rename=latitude=lat"},
		{"dimensions with one name in different groups", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), cube("t", "time x", m64(2, 5), m64(2, 5)))
			m.file("b", days(2, 2), cube("t", "time g/x", m64(2, 5), m64(2, 5)))
			m.file("c", days(4, 2), cube("t", "time x", m64(2, 5), m64(2, 5)))
		}, report.DimsDiffer, "b", "rename=/g/x=/x"},
		{"a different dimension name and another order", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", days(2, 2), coords("latitude", "latitude", float32s, -10, 0, 10), lon(), cube("t", "lon latitude time", m64(4, 3, 2), m64(4, 3, 2)))
			m.day("c", 4, 2)
		}, report.DimsDiffer, "b", "rename=latitude=lat"},
		{"a different length, and names that other dimensions have", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), cube("t", "time wide", m64(2, 5), m64(2, 5)), cube("u", "time narrow", m64(2, 3), m64(2, 3)))
			m.file("b", days(2, 2), cube("t", "time narrow", m64(2, 3), m64(2, 3)), cube("w", "time wide", m64(2, 5), m64(2, 5)))
			m.file("c", days(4, 2), cube("t", "time wide", m64(2, 5), m64(2, 5)), cube("u", "time narrow", m64(2, 3), m64(2, 3)))
		}, report.DimsDiffer, "b", "separate-manifests | drop=t"},
		{"another dimension in a file that has both coordinates", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", days(2, 2), lat(), lon(), coords("site", "site", float32s, 1, 2, 3), cube("t", "time site lon", m64(2, 3, 4), m64(2, 3, 4)))
			m.day("c", 4, 2)
		}, report.DimsDiffer, "b", "separate-manifests | drop=t"},
		{"a missing dimension", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.day("b", 2, 2)
			m.file("c", days(4, 2), lat(), lon(), cube("t", "time lat", m64(2, 3), m64(2, 3)))
		}, report.DimsDiffer, "c", "separate-manifests | drop=t"},
		{"a dimension on two axes", plan.Options{}, func(m *maker) {
			for i, at := range [][]float64{{1, 2}, {3, 4}} {
				m.file(fmt.Sprint(i), x(at...), cube("cov", "x x", m64(2, 2), m64(2, 2)))
			}
		}, report.DimTwice, "0 1", "drop=cov"},
		{"float16 coordinates", plan.Options{}, func(m *maker) {
			for i, bytes := range []string{"\x00\x3c\x00\x40", "\x00\x3c\x00\x40", "\x01\x3c\x01\x40"} {
				w := coords("lat", "lat", int16s, 0, 0)
				w.v.Type = codec.Type{Kind: codec.Float, Size: 2}
				w.values = &manifest.Values{Data: []byte(bytes)}
				m.file(fmt.Sprint(i), days(i, 1), w, cube("t", "time lat", m64(1, 2), m64(1, 2)))
			}
		}, report.CoordinateDiffers, "2", "tolerance=0.002 | coords=first"},
		{"a foreign file", plan.Options{Missing: plan.MissingFill}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("stray", coords("station", "station", int32s, 1, 2), cube("height", "station", m64(2), m64(2)))
			m.day("b", 2, 2)
		}, report.ForeignFile, "stray", "leave-files-out"},
		{"a variable that one file lacks", plan.Options{Missing: plan.MissingRefuse}, func(m *maker) {
			m.day("a", 0, 2)
			m.day("b", 2, 2, cube("u", "time", m64(2), m64(2)))
			m.day("c", 4, 2, cube("u", "time", m64(2), m64(2)))
		}, report.VariableAbsent, "a", "missing=fill | missing=drop"},
		{"a static variable that differs", plan.Options{}, func(m *maker) {
			for i, name := range []string{"a", "b", "c"} {
				land := cube("land", "lat", m64(3), m64(3))
				land.values = &manifest.Values{Data: make([]byte, 12)}
				land.values.Data[0] = byte(i % 2)
				m.day(name, 2*i, 2, land)
			}
		}, report.StaticDiffers, "b", "broadcast=land=time | coords=first | drop=land"},
		{"a new dimension without a value", plan.Options{NewDims: []plan.NewDim{{Name: "n", Pattern: `_(\d+)`}}}, func(m *maker) {
			m.file("a_1", lat(), cube("t", "lat", m64(3), m64(3)))
			m.file("a_2", lat(), cube("t", "lat", m64(3), m64(3)))
			m.file("b", lat(), cube("t", "lat", m64(3), m64(3)))
		}, report.NewDimMissing, "b", ""},
		{"strict and a re-encoded chunk", plan.Options{Strict: true}, func(m *maker) {
			m.file("1", days(0, 3), cube("t", "time", m64(3), m64(2)))
			m.file("2", days(3, 4), cube("t", "time", m64(4), m64(2)))
		}, report.ShortChunkPadded, "1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			_, err := planAnswered(m.files, &c.opts)
			var refused *plan.Error
			if !errors.As(err, &refused) {
				t.Fatalf("error %v; want a refusal", err)
			}
			f := findingOf(t, &report.Report{Findings: refused.Findings}, c.code)
			for url := range f.Files.All() {
				if !strings.Contains(err.Error(), report.Base(url)) {
					t.Errorf("the error does not name %s: %q", url, err)
				}
			}
			if got := reporttest.Files(&f); got != c.files {
				t.Errorf("the finding names %s, want %s: %+v", got, c.files, f)
			}
			if got := reporttest.Remedies(&f); got != c.option {
				t.Errorf("the remedies are %q, want %q", got, c.option)
			}
			if f.Effect != report.Refused || f.Count != f.Files.Len() {
				t.Errorf("%+v", f)
			}
		})
	}
}

package dap

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestRefused checks that constraints that a dataset does not have are refused, with the clause and the reason.
func TestRefused(t *testing.T) {
	d := openTwoFiles(t)
	for query, reason := range map[string]string{
		"nothing":                                  `no variable "nothing"`,
		"t2m[0:1:3][0][0]":                         "along time: the last index is 2",
		"t2m[2:1][0][0]":                           "first index is after the last",
		"t2m[0:0:1][0][0]":                         "step is 0",
		"t2m[-1][0][0]":                            "not an index",
		"t2m[9223372036854775808][0][0]":           "not an index",
		"t2m[0:99999999999999999999999:1][0][0]":   "not an index",
		"t2m[0][0]":                                "3 dimensions, and the hyperslab 2",
		"t2m[0][0][0][0]":                          "3 dimensions, and the hyperslab more",
		"t2m[0][0][0":                              "brackets",
		"t2m[0]]":                                  "brackets",
		"t2m[0:1:2:3][0][0]":                       "FIRST:STEP:LAST",
		"t2m.nothing":                              "no variable",
		"time.time":                                "is no Grid",
		"t2m.lat[2]":                               "last index is 1",
		"time&time>3":                              "sequences",
		"geogrid(t2m,1,2)":                         "functions",
		"time[0],time[1]":                          "requested twice",
		"t2m[0][0][0],t2m.time[1]":                 "requested twice",
		"t2m.time[0],t2m[1][0][0]":                 "requested twice",
		strings.Repeat("t2m.", 200) + "[0]":        "no variable",
		"time," + strings.Repeat("a", 1<<16) + "]": "no variable",
	} {
		_, err := d.parse2(query)
		var wrong *ConstraintError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, reason) {
			t.Errorf("%.100s: got %v, want %q", query, err, reason)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%.100s: an error of %d bytes", query, len(err.Error()))
		}
	}
	for expression, reason := range map[string]string{
		"/nothing": "no variable", "/t2m[0:3][][]": "last index", "/nogroup/t2m": "no variable", "/t2m.time": "no members",
		"time=[0:5];/t2m": "last index", "nodim=[0]": "no dimension", "time=[0];time=[1];/t2m": "selected already", "/time[0];/time[1]": "twice",
	} {
		_, err := d.parse4(expression)
		var wrong *ConstraintError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, reason) {
			t.Errorf("%s: got %v, want %q", expression, err, reason)
		}
	}
}

// TestNames checks that names with any characters are found in the forms in which clients send them, and that a DDS has only
// characters of which all clients make names.
func TestNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a Zarr store is a folder, and Windows has no files with some of these names")
	}
	names := []string{"a b", "a.b", "a,b", "a&b", "a[0]", "a]", "a%41", "ü", "a=b", "a+b", "a#b", "a?b", `a"b`, `a\b`, "a'b", "(a)", "a;b", "a:b", "a|b", "<a>", "A", "*", "~a!", "-1"}
	arrays := map[string][]byte{}
	for i, name := range names {
		arrays["int16 "+name] = bytesOf(t, []int16{int16(i), 0, 0})
	}
	d := open(t, "names", writeZarr(t, arrays))
	dds, err := d.DDS(t.Context(), "")
	if err != nil || strings.Count(dds, ";\n") != len(names)+1 {
		t.Fatalf("%v %s", err, dds)
	}
	for i, name := range names {
		once := Name2(name)
		if !strings.Contains(dds, "Int16 "+once+"[x = 3];") || !isPlain(once[0]) {
			t.Errorf("%s is not declared: %s", name, dds)
		}
		for _, sent := range []string{once, strings.ReplaceAll(once, "%", "%25")} {
			a, err := d.DODS(t.Context(), sent+"[0]", noLimit)
			if got := answerOf(t, a, err); got[len(got)-1] != byte(i) {
				t.Errorf("%s, sent as %s, is %d, not %d", name, sent, got[len(got)-1], i)
			}
		}
		if strings.ContainsAny(name, ";") {
			continue // separates clauses in DAP4
		}
		a, err := d.Data(t.Context(), "/"+name, true, noLimit)
		if got := variablesOf(t, answerOf(t, a, err), 6)[0]; got[0] != byte(i) {
			t.Errorf("%s in DAP4 is %d, not %d", name, got[0], i)
		}
	}
}

// TestMillionClauses checks that a variable that is requested again and again is sent once.
func TestMillionClauses(t *testing.T) {
	d := openTwoFiles(t)
	choices, err := d.parse2(strings.Repeat("time[0:1:2],t2m.lat,", 500_000) + "time")
	if err != nil || len(choices) != 2 {
		t.Errorf("%d choices, %v", len(choices), err)
	}
	if choices, err = d.parse4(strings.Repeat("/time;", 1_000_000)); err != nil || len(choices) != 1 {
		t.Errorf("%d choices, %v", len(choices), err)
	}
}

// FuzzConstraint checks that an expression is refused with a ConstraintError, or selects elements within the arrays, whose
// answers have the announced size.
func FuzzConstraint(f *testing.F) {
	d := openTwoFiles(f)
	for _, seed := range []string{"", "time", "t2m[0:1:2][1][0:2]", "t2m.t2m[0][0][0],t2m.lat[1]", "/t2m[0][][]", "time=[0:1];/t2m", "a%2Eb%20c", "a%252Eb c", `/a\.b c[0]`,
		"t2m%5B0%5D%5B1%5D%5B2%5D", "t2m[9223372036854775807][0][0]", "t2m[0:9223372036854775807:2][0][0]", "&t2m>1", ",,", ";;", "[", "]", "t2m[", "t2m[]", ".", "%", "time[*]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) ([]*choice, error){d.parse2, d.parse4} {
			choices, err := parse(text)
			var wrong *ConstraintError
			if err != nil && !errors.As(err, &wrong) {
				t.Fatal(err)
			}
			for _, c := range choices {
				for _, l := range c.leaves() {
					for axis, s := range l.slabs {
						if s.first < 0 || s.step < 1 || s.last < s.first || s.last >= l.dims[axis].length {
							t.Fatalf("%q selects %+v of %d", text, s, l.dims[axis].length)
						}
					}
				}
			}
		}
		check := func(a *Answer, err error) {
			if err != nil {
				return // refused by parse, or a number that DAP2 lacks
			}
			n := &counter{}
			if err := a.Write(t.Context(), n); err != nil || n.bytes != a.Size {
				t.Fatalf("%q: %d bytes, not %d: %v", text, n.bytes, a.Size, err)
			}
		}
		check(d.DODS(t.Context(), text, noLimit))
		check(d.Data(t.Context(), text, true, noLimit))
	})
}

// counter counts the bytes that are written.
type counter struct{ bytes int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

package plantest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestParseRefuses: lines that mean nothing are refused.
func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"t(x=3) float32",
		"part 0 at 0 from 0 shape 1",
		"option nothing 3",
		"option tolerance near",
		"file",
		"file a like b",
		"file a whole",
		"file a\npart 0 at 0 from 0 shape 1",
		"file a\nt",
		"file a\nt(x=3)",
		"file a\nt(x=many) float32",
		"file a\nt(x=3) float33",
		"file a\nt(x=3) float32 whole",
		"file a\nt(x=3) float32 chunks 3xa",
		"file a\nt(x=3) float32 codecs zlib{",
		"file a\nt(x=3) int8 = 1 2 300",
		"file a\nt(x=3) int8 = 1*99999999999",
		"file a\nt(x=3) float64 = 0..1e99",
		"file a\nt(x=3) float64 = 0..1/1",
		"file a\nt(x=3) string = a b c",
		"file a\nt(x=3) float64 = summary of nothing",
		"file a\nt(x=3) float64\n@units m",
		"file a\nt(x=3) float64\npart 0 at 0 from 0",
		"file a\ndim x=3 large",
		"file a\nt(x=3) int8 enum clear",
		"file a hidden\n@title \"a\"",
	} {
		if a, err := Parse(strings.Split(text, "\n")); err == nil {
			t.Errorf("%q is %+v", text, a)
		}
	}
}

// FuzzParse: what Parse accepts is the same archive after Write and Parse.
func FuzzParse(f *testing.F) {
	names, err := filepath.Glob("../testdata/*.plan")
	if err != nil || len(names) == 0 {
		f.Fatal("no cases", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n== ") {
			_, input, _ := strings.Cut(part, "\n")
			input, _, _ = strings.Cut(input, "\n--\n")
			if len(input) < 4000 {
				f.Add(input)
			}
		}
	}
	f.Add("file a\nc(x=1) uint8 enum clear=0,\"a b\"=1")
	f.Add("file a\n\"values\"(x=1) int8 = 1\n\"dim\"(x=1) int8 = 1\nfile b like a\n\"values\" = 2\n\"dim\" = 3")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(strings.Split(text, "\n"))
		if err != nil {
			return
		}
		lines := Write(a)
		again, err := Parse(lines)
		if err == nil {
			err = Equal(a, again)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(lines, "\n"))
		}
	})
}

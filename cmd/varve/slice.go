package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"varve/manifest"
)

// sliceFlag is the value of --slice.
type sliceFlag struct{ manifest.Slice }

func (s *sliceFlag) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Number, s.Of)
}

func (s *sliceFlag) Set(text string) error {
	number, of, _ := strings.Cut(text, "/")
	parsed := manifest.Slice{}
	var bad, worse error
	parsed.Number, bad = strconv.ParseInt(number, 10, 64)
	parsed.Of, worse = strconv.ParseInt(of, 10, 64)
	if bad != nil || worse != nil || parsed.Of < 1 {
		return fmt.Errorf("give a number, a slash and the number of slices, such as 0/10")
	}
	s.Slice = parsed
	return parsed.Check()
}

func (s *sliceFlag) Type() string { return "number/of" }

// addSlice declares the flag of commands whose work machines can divide. does says what a slice does.
func addSlice(f *pflag.FlagSet, to *sliceFlag, does string) {
	f.Var(to, "slice", does+"; the first of ten is 0/10")
}

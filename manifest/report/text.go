package report

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"varve/manifest"
)

// Text writes findings for people, those that stop everything first:
//
//	refused   coordinate  /lat: 1 of 4 files has other values of lat, first at 0: …
//	                      swh_2003-04-05.nc
//	                      --coords first takes those of the first file
func (r *Report) Text(w io.Writer) error {
	out := bufio.NewWriter(w)
	few := fewBroken(r.Findings)
	for _, refused := range []bool{true, false} {
		for _, f := range few {
			if (f.Effect == Refused) == refused {
				f.text(out)
			}
		}
	}
	return out.Flush()
}

// mostBroken is how many files that cannot be read are shown to people with a finding each.
const mostBroken = 20

// fewBroken makes one finding of those on files that cannot be read, but for the first of them.
func fewBroken(findings []Finding) []Finding {
	out := make([]Finding, 0, len(findings))
	broken, rest := 0, -1
	for _, f := range findings {
		if f.Kind != Broken {
			out = append(out, f)
			continue
		}
		switch broken++; {
		case broken <= mostBroken:
			out = append(out, f)
		case rest < 0:
			rest = len(out)
			out = append(out, f)
		default:
			out[rest].Count += f.Count
			out[rest].Files = []string{out[rest].Files[0], f.Files[len(f.Files)-1]}
		}
	}
	if rest >= 0 && out[rest].Count > 1 {
		out[rest].Says = Thousands(out[rest].Count) + " more cannot be read, the first of them: " + out[rest].Says
	}
	return out
}

const indent = "                       "

func (f *Finding) text(out *bufio.Writer) {
	fmt.Fprintf(out, "%-9s  %-10s  %s\n", f.Effect, f.Kind, f.Sentence())
	if files := f.files(); files != "" {
		fmt.Fprintln(out, indent+files)
	}
	if f.Option != "" {
		fmt.Fprintln(out, indent+"option: "+f.Option)
	}
}

// Sentence is what a finding says, with the path of its array in front unless it names that.
func (f *Finding) Sentence() string {
	names := func(word string) bool { return strings.TrimRight(word, ".,:;") == f.Array }
	if f.Array == "" || slices.ContainsFunc(strings.Fields(f.Says), names) {
		return f.Says
	}
	return f.Array + ": " + f.Says
}

// files names the files of the odd side: all of one or two, else the first and the last.
func (f *Finding) files() string {
	switch {
	case len(f.Files) == 0:
		return ""
	case len(f.Files) == 1 || f.Files[0] == f.Files[len(f.Files)-1]:
		return Base(f.Files[0])
	case f.Count == int64(len(f.Files)):
		names := make([]string, len(f.Files))
		for i, name := range f.Files {
			names[i] = Base(name)
		}
		return strings.Join(names, ", ")
	}
	return Base(f.Files[0]) + " … " + Base(f.Files[len(f.Files)-1]) + " (" + Thousands(f.Count) + " files)"
}

// Base is the last element of a path or URL, which is how people know their files.
func Base(name string) string {
	return path.Base(strings.TrimRight(manifest.ToSlash(name), "/"))
}

// Thousands writes a number with commas.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	start := len(digits) % 3
	if n < 0 {
		start = (len(digits) - 1) % 3
		start++
	}
	var b strings.Builder
	b.WriteString(digits[:start])
	for i := start; i < len(digits); i += 3 {
		if b.Len() > 0 && digits[:i] != "-" {
			b.WriteByte(',')
		}
		b.WriteString(digits[i : i+3])
	}
	return b.String()
}

// Size writes a number of bytes as people say it.
func Size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, unit := float64(n)/1024, 0
	for value >= 1023.95 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + units[unit:unit+1] + "iB"
}

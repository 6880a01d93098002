package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"varve/manifest/report"
)

// view gives the functions in entries access to a finding.
type view struct {
	f *report.Finding
	p *Printer
}

// files says how many files have the finding: "3 of 12 files".
func (v *view) files() string {
	if v.f.Of == 0 {
		return count(v.f.Count, "file")
	}
	return report.Thousands(v.f.Count) + " of " + count(v.f.Of, "file")
}

// in returns the name of the file that has the finding, or the number of files if there are several.
func (v *view) in() string {
	if v.f.Count == 1 && v.f.Files.Len() == 1 {
		for name := range v.f.Files.All() {
			return v.f.Files.Label(name)
		}
	}
	return count(v.f.Count, "file")
}

// others says how many files have the usual value: others_count, or else all files that do not have the finding.
func (v *view) others() string {
	n := v.f.Of - v.f.Count
	if v.has("others_count") {
		n = v.number("others_count")
	}
	if n == 1 {
		return "the other file"
	}
	return report.Thousands(n) + " other files"
}

// verb returns the singular or plural form of a verb for the files that have the finding.
func (v *view) verb(one, many string) string {
	if v.f.Count == 1 {
		return one
	}
	return many
}

func (v *view) have() string { return v.verb("has", "have") }

func (v *view) text(name string) string {
	switch x := v.f.Args[name].(type) {
	case string:
		return x
	case report.File:
		return v.f.Files.Label(string(x))
	case report.Bytes:
		return report.Size(int64(x))
	case int64:
		return report.Thousands(x)
	case int:
		return report.Thousands(int64(x))
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case []string:
		return some(x)
	case []report.File:
		names := make([]string, len(x))
		for i, f := range x {
			names[i] = v.f.Files.Label(string(f))
		}
		return some(names)
	case []int64:
		words := make([]string, len(x))
		for i, n := range x {
			words[i] = report.Thousands(n)
		}
		return some(words)
	}
	return ""
}

func (v *view) has(name string) bool { _, ok := v.f.Args[name]; return ok }

// number returns an argument that is an integer, or 0.
func (v *view) number(name string) int64 {
	switch x := v.f.Args[name].(type) {
	case int64:
		return x
	case int:
		return int64(x)
	}
	return 0
}

func (v *view) list(name string) []string { x, _ := v.f.Args[name].([]string); return x }

func (v *view) dims(name string) string { return "(" + strings.Join(v.list(name), ", ") + ")" }

// span returns the first and the last file of an argument.
func (v *view) span(name string) string {
	files, _ := v.f.Args[name].([]report.File)
	switch {
	case len(files) == 0:
		return ""
	case len(files) == 1 || files[0] == files[len(files)-1]:
		return v.f.Files.Label(string(files[0]))
	}
	return v.f.Files.Label(string(files[0])) + " … " + v.f.Files.Label(string(files[len(files)-1]))
}

// mostPlaces is the number of places that a sentence lists.
const mostPlaces = 3

// places lists the first places of a finding: "member 3, time 2001-05 … 2001-07; and 4 more".
func (v *view) places() string {
	places, _ := v.f.Args["places"].([][]report.Place)
	var words []string
	for _, place := range places[:min(len(places), mostPlaces)] {
		var along []string
		for _, p := range place {
			from, to := p.From, p.To
			if from == "" {
				from, to = fmt.Sprintf("position %d", p.Start), ""
				if p.Count > 1 {
					to = fmt.Sprint(p.Start + p.Count - 1)
				}
			}
			if to != "" {
				from += " … " + to
			}
			along = append(along, p.Dim+" "+from)
		}
		words = append(words, strings.Join(along, ", "))
	}
	if more := v.number("places_count") - int64(len(words)); len(words) > 0 && more > 0 {
		words = append(words, fmt.Sprintf("and %s more", report.Thousands(more)))
	}
	return strings.Join(words, "; ")
}

// mostVariants is the number of values that a sentence lists.
const mostVariants = 3

// differs says which values files have: "scale_factor is 0.005 in 12 files and 0.01 in 24 other files".
func (v *view) differs(what string) string {
	main := v.text("main")
	odd, _ := v.f.Args["odd"].([]report.Variant)
	if len(odd) == 1 {
		return fmt.Sprintf("%s %s in %s and %s in %s", what, is(what, odd[0].Value), v.in(), orMissing(main), v.others())
	}
	head := fmt.Sprintf("%s %s in %s and different in %s", what, is(what, main), count(v.f.Of-v.f.Count, "file"), v.in())
	if v.f.Of == v.f.Count { // no file has the declared value
		head = fmt.Sprintf("%s %s different in %s", what, verb(what), v.in())
	}
	if len(odd) > mostVariants {
		return fmt.Sprintf("%s (%s variants)", head, report.Thousands(max(v.number("variants"), int64(len(odd)))))
	}
	words := make([]string, len(odd))
	for i, o := range odd {
		words[i] = fmt.Sprintf("%s in %s", orMissing(o.Value), report.Thousands(o.Files))
	}
	return head + ": " + strings.Join(words, ", ")
}

// verb returns "are" for a plural noun, or "is".
func verb(noun string) string {
	if strings.HasSuffix(noun, "s") && !strings.Contains(noun, " of ") {
		return "are"
	}
	return "is"
}

func is(what, value string) string {
	if value == "" {
		value = "missing"
	}
	return verb(what) + " " + value
}

func orMissing(value string) string {
	if value == "" {
		return "missing"
	}
	return value
}

// count formats a number and a noun, in the plural unless the number is 1.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return report.Thousands(n) + " " + noun + "s"
}

// quoted returns a unit in quotes, or "missing".
func quoted(units string) string {
	if units == "" {
		return "missing"
	}
	return strconv.Quote(units)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// oddFiles says which arrays differ in which files.
func (v *view) oddFiles() string {
	odd, _ := v.f.Args["odd"].([]report.Odd)
	var words []string
	for _, o := range odd[:min(len(odd), mostPlaces)] {
		in := count(o.Files.Len(), "file")
		for name := range o.Files.All() {
			if o.Files.Len() == 1 {
				in = v.f.Files.Label(name)
			}
			break
		}
		words = append(words, some(o.Arrays)+" in "+in)
	}
	if n := len(odd) - len(words); n > 0 {
		words = append(words, fmt.Sprintf("and %s more", report.Thousands(int64(n))))
	}
	return strings.Join(words, ", ")
}

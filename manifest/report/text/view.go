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

// view is a finding as sentences look at it.
type view struct {
	f *report.Finding
	p *Printer
}

// files counts the files on the odd side: "3 of 12 files".
func (v *view) files() string {
	if v.f.Of == 0 {
		return count(v.f.Count, "file")
	}
	return report.Thousands(v.f.Count) + " of " + count(v.f.Of, "file")
}

// in names the file on the odd side if there is one, and counts them otherwise.
func (v *view) in() string {
	if v.f.Count == 1 && v.f.Files.Len() == 1 {
		for name := range v.f.Files.All() {
			return v.f.Files.Label(name)
		}
	}
	return count(v.f.Count, "file")
}

// others counts the files that are not on the odd side.
func (v *view) others() string {
	n := v.f.Of - v.f.Count
	if n == 1 {
		return "the other file"
	}
	return report.Thousands(n) + " other files"
}

// verb returns the form of a verb for the files on the odd side.
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

// span names the first and the last of some files.
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

// mostVariants is the number of values that a sentence lists.
const mostVariants = 3

// differs states the values that files have: "scale_factor is 0.005 in 12 files and 0.01 in 24".
func (v *view) differs(what string) string {
	main := v.text("main")
	odd, _ := v.f.Args["odd"].([]report.Variant)
	if len(odd) == 1 {
		return fmt.Sprintf("%s %s in %s and %s in %s", what, is(what, odd[0].Value), v.in(), orMissing(main), v.others())
	}
	head := fmt.Sprintf("%s %s in %s and different in %s", what, is(what, main), count(v.f.Of-v.f.Count, "file"), v.in())
	if v.f.Of == v.f.Count { // the declared value is none that files have
		head = fmt.Sprintf("%s %s different in %s", what, verb(what), v.in())
	}
	if len(odd) > mostVariants {
		return fmt.Sprintf("%s (%s variants)", head, report.Thousands(int64(len(odd))))
	}
	words := make([]string, len(odd))
	for i, o := range odd {
		words[i] = fmt.Sprintf("%s in %s", orMissing(o.Value), report.Thousands(o.Files))
	}
	return head + ": " + strings.Join(words, ", ")
}

// verb returns the form of to be for a noun.
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

// count writes a number and a noun.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return report.Thousands(n) + " " + noun + "s"
}

// quoted quotes a unit, or says that there is none.
func quoted(units string) string {
	if units == "" {
		return "missing"
	}
	return strconv.Quote(units)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

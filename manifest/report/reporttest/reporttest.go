// Package reporttest formats findings as short data, so that tests need not compare English.
package reporttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve/manifest/report"
)

// Facts formats the arguments of a finding, sorted by name: "main=0.01 name=scale_factor odd=[0.005:417]".
func Facts(f *report.Finding) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(f.Args)) {
		words = append(words, name+"="+fact(f.Args[name]))
	}
	return strings.Join(words, " ")
}

func fact(x any) string {
	switch x := x.(type) {
	case report.File:
		return report.Base(string(x))
	case []report.File:
		var names []string
		for _, f := range x {
			names = append(names, report.Base(string(f)))
		}
		return fmt.Sprint(names)
	case []report.Variant:
		var words []string
		for _, v := range x {
			words = append(words, fmt.Sprintf("%s:%d", v.Value, v.Files))
		}
		return fmt.Sprint(words)
	case []report.Odd:
		var words []string
		for _, o := range x {
			words = append(words, fmt.Sprintf("%s:%s", strings.Join(o.Arrays, ","), Files(&report.Finding{Files: o.Files})))
		}
		return fmt.Sprint(words)
	case []report.Gap:
		var words []string
		for _, g := range x {
			words = append(words, fmt.Sprintf("%s/%s..%s/%s", report.Base(string(g.Before)), g.From, g.To, report.Base(string(g.After))))
		}
		return fmt.Sprint(words)
	}
	return fmt.Sprint(x)
}

// Remedies formats the remedies of a finding: "tolerance=0.004 | coords=first", "drop=time concat=time".
func Remedies(f *report.Finding) string {
	var all []string
	for _, r := range f.Remedies {
		words := []string{setting(r.Setting)}
		for _, s := range r.With {
			words = append(words, setting(s))
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, " | ")
}

func setting(s report.Setting) string {
	if s.Value == "" {
		return string(s.Option)
	}
	return string(s.Option) + "=" + s.Value
}

// Files returns the base names of a finding's files.
func Files(f *report.Finding) string {
	var names []string
	for name := range f.Files.All() {
		names = append(names, report.Base(name))
	}
	return strings.Join(names, " ")
}

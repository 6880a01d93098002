package plan

import (
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/report"
)

// named is how many files a message names.
const named = 10

// odd fills in the files of a finding.
func (p *inquiry) odd(f report.Finding, files []int32, of int64) report.Finding {
	return p.sample(files).in(f, of)
}

// sample is what is said of some files: their number, and the names of all if they are few, else
// those of the first ones and the last, in the order of names.
type sample struct {
	count int
	urls  []string
}

// in fills in the files of a finding.
func (s sample) in(f report.Finding, of int64) report.Finding {
	f.Files, f.Count, f.Of = s.urls, int64(s.count), of
	return f
}

// sample keeps no more names than it returns: there are findings on all files, for each array.
func (p *inquiry) sample(files []int32) sample {
	urls := make([]string, 0, min(len(files), named))
	last := ""
	for _, f := range files {
		url := p.files[f].URL
		if last == "" || natural(url, last) > 0 {
			last = url
		}
		if len(urls) == named && natural(url, urls[named-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(urls, url, natural)
		urls = slices.Insert(urls[:min(len(urls), named-1)], at, url)
	}
	if len(files) > named {
		urls[named-1] = last
	}
	return sample{len(files), urls}
}

// find adds a finding to the report, and stops the plan if nothing can be made of the files.
func (p *inquiry) find(f report.Finding) {
	if p.opts.Strict && (f.Effect == report.Reencoded || f.Effect == report.Filled) {
		f.Says += ", which --strict does not allow"
		f.Effect, f.Option = report.Refused, ""
	}
	p.report.Add(f)
}

// span names the first and the last of some files.
func (p *inquiry) span(files []int32) string {
	first, last := p.files[files[0]].URL, p.files[files[0]].URL
	for _, n := range files[1:] {
		url := p.files[n].URL
		if natural(url, first) < 0 {
			first = url
		}
		if natural(url, last) > 0 {
			last = url
		}
	}
	if first == last {
		return p.label(first)
	}
	return p.label(first) + " … " + p.label(last)
}

// label is what people call a file: its name, with its folder where there are several of the
// name.
func (p *inquiry) label(url string) string {
	if p.bases == nil {
		p.bases = make(map[string]int, len(p.files))
		for _, f := range p.files {
			p.bases[report.Base(f.URL)]++
		}
	}
	name := report.Base(url)
	if p.bases[name] < 2 {
		return name
	}
	return path.Join(path.Base(path.Dir(manifest.ToSlash(url))), name)
}

// CompareNames compares names of files as a plan orders files that nothing else tells apart.
func CompareNames(a, b string) int { return natural(a, b) }

// natural compares names as people do: numbers in them by their values. Files come in the same order
// where folders are divided by a backslash.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m > 0 && n > 0 {
			if c := number(x[:m], y[:n]); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if c := int(slash(x[0])) - int(slash(y[0])); c != 0 {
			return c
		}
		x, y = x[1:], y[1:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

func slash(c byte) byte {
	if c == '\\' {
		return '/'
	}
	return c
}

// digits is the length of the number that a text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// number compares two numbers of any length.
func number(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// some lists a few names, and says how many more there are.
func some(names []string) string {
	if len(names) > named {
		return strings.Join(names[:named], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

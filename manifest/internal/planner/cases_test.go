package planner

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/internal/planner/plantest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// The files testdata/*.plan hold cases: files and options, and the plan or the refusal that they give.
//
//	== the lengths of months are chunk lengths
//	# confirmed: xarray
//	option coords first
//	file jan.nc
//	  time(time*=31) int32 = 0..30
//	    @units "days since 1990-01-01"
//	  t(time*=31 lat=3) float32 chunks 31x3
//	file feb.nc …
//	--
//	array t(time=59 lat=3) float32 chunks [31 28] [3] of jan.nc@0+31 feb.nc@31+28
//	noted lengths-differ dim=time files=jan.nc,feb.nc/2 max=31 min=28
//
// Package plantest explains the form of files. If the plan requests values, the result has a line with "reads". The
// test provides the values "on request", or else values that differ between files.
// The lines after "--" are the expected result. `go test -record-plans` writes them again: compare them with the
// result of another program, or with the contents of the files, before you commit them.

var recordPlans = flag.Bool("record-plans", false, "write the expected plans into testdata/*.plan")

// planCase is one case of a file of cases.
type planCase struct {
	name  string
	input []string // lines
	want  string
	*plantest.Archive
	isArchive bool // of files that exist or existed; the findings are too long to be examples in the documentation
}

// allCases yields the cases of all files in testdata, with names of both.
func allCases(t *testing.T) iter.Seq2[string, *planCase] {
	t.Helper()
	names, err := filepath.Glob("testdata/*.plan")
	if err != nil || len(names) == 0 {
		t.Fatal("no cases", err)
	}
	return func(yield func(string, *planCase) bool) {
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, cases, err := parseCases(string(text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, c := range cases {
				if !yield(name+": "+c.name, c) {
					return
				}
			}
		}
	}
}

// TestCases: the files and options of each case give the expected plan or refusal.
func TestCases(t *testing.T) {
	names, err := filepath.Glob("testdata/*.plan")
	if err != nil || len(names) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, cases, err := parseCases(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out := head
		isArchive := isOfArchives(filepath.Base(name))
		for _, c := range cases {
			c.isArchive = isArchive
			var got string
			t.Run(strings.TrimSuffix(filepath.Base(name), ".plan")+"/"+c.name, func(t *testing.T) {
				if got = c.result(t); got != c.want && !*recordPlans {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
			})
			c.checkConfirmed(t, got)
			out += "== " + c.name + "\n" + strings.Join(c.input, "\n") + "\n--\n" + got + "\n"
		}
		if *recordPlans {
			if err := os.WriteFile(name, []byte(strings.TrimRight(out, "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// isOfArchives reports whether a file of cases has headers that were scanned, so that something else read the values.
func isOfArchives(name string) bool {
	return strings.HasPrefix(name, "made-up-") || strings.HasPrefix(name, "real-") || name == "mistakes.plan"
}

// checkConfirmed checks that the result is a refusal if and only if the case says that something else confirmed one.
// Each case of an archive has to say what confirmed it.
func (c *planCase) checkConfirmed(t *testing.T, got string) {
	i := slices.IndexFunc(c.input, func(line string) bool { return strings.HasPrefix(line, "# confirmed: ") })
	if i < 0 && c.isArchive {
		t.Fatalf("%s: nothing confirmed the values", c.name)
	}
	if i < 0 {
		return
	}
	if isRefused := strings.HasPrefix(got, "refused ") || strings.Contains(got, "\nrefused "); isRefused != strings.Contains(c.input[i], "refus") {
		t.Errorf("%s: %s, and the result is\n%s", c.name, c.input[i], got)
	}
}

// parseCases returns the lines before the first case, and the cases.
func parseCases(text string) (head string, cases []*planCase, err error) {
	var c *planCase
	isWanted := false
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		name, isCase := strings.CutPrefix(line, "== ")
		switch {
		case isCase:
			c, isWanted = &planCase{name: name}, false
			cases = append(cases, c)
		case c == nil:
			head += line + "\n"
		case line == "--":
			isWanted = true
		case isWanted:
			c.want += line + "\n"
		default:
			c.input = append(c.input, line)
		}
	}
	for _, c := range cases {
		c.want = strings.TrimRight(c.want, "\n") + "\n"
		if c.Archive, err = plantest.Parse(c.input); err != nil {
			return "", nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return head, cases, lines.Err()
}

// result plans the case and describes the plan or the refusal.
func (c *planCase) result(t *testing.T) string {
	p, reads, err := c.plan()
	var b strings.Builder
	b.WriteString(c.readsText(reads))
	var refused *plan.Error
	switch {
	case errors.As(err, &refused):
		for i := range refused.Findings {
			b.WriteString(findingText(&refused.Findings[i]))
			for url := range refused.Findings[i].Files.All() {
				if !strings.Contains(err.Error(), report.Base(url)) {
					t.Errorf("the error does not name %s: %q", url, err)
				}
			}
		}
	case err != nil:
		fmt.Fprintf(&b, "error %T\n", err)
	default:
		checkPlan(t, c.Files, p)
		known := valuesByID(p.Values)
		for i := range p.Arrays {
			a := &p.Arrays[i]
			var dims []string
			for k, d := range a.Dims {
				dims = append(dims, fmt.Sprintf("%s=%d", strings.TrimPrefix(d, "/"), a.Schema.Shape[k]))
			}
			fmt.Fprintf(&b, "array %s(%s) %s chunks %s", a.Path[1:], strings.Join(dims, " "), a.Schema.DataType.Type(), gridText(a))
			if a.Placement != "" {
				fmt.Fprintf(&b, " of %s\n", shortened(strings.Fields(tilesOf(t, c.Files, p, a.Path)), " "))
				continue
			}
			data, texts := elementsOfPieces(t, a, known)
			text := plantest.FormatValues(a.Schema.DataType.Type(), &manifest.Values{Data: data, Texts: texts})
			fmt.Fprintf(&b, " = %s\n", shortened(strings.Fields(text), " "))
		}
		for i := range p.Report.Findings {
			b.WriteString(findingText(&p.Report.Findings[i]))
		}
	}
	return b.String()
}

// plan plans the files of the case, and answers requests for values.
func (c *planCase) plan() (made *Plan, reads []Request, err error) {
	planned := newPlan
	if c.isArchive {
		planned = triedPlan
	}
	for {
		p, requests, err := planned(c.Files, &c.Options)
		if len(requests) == 0 {
			return p, reads, err
		}
		reads = append(reads, requests...)
		for _, r := range requests {
			if values := c.OnRequest[plantest.Place{File: r.File, Variable: r.Variable}]; values != nil {
				c.Files[r.File].Values[r.Variable] = values
				continue
			}
			answerDifferent(c.Files, r)
		}
	}
}

// readsText has a line for the variables that were read from the same files.
func (c *planCase) readsText(reads []Request) string {
	type variable struct {
		extent Extent
		name   string
	}
	var variables []variable
	files := map[variable][]string{}
	for _, r := range reads {
		f := c.Files[r.File]
		v := variable{r.Extent, f.Header.Variable(r.Variable).Path[1:]}
		if files[v] == nil {
			variables = append(variables, v)
		}
		files[v] = append(files[v], report.Base(f.URL))
	}
	var lines []string
	names := map[string][]string{}
	for _, v := range variables {
		what := map[Extent]string{All: "reads", ForComparison: "reads", Sum: "reads digests of", Summarized: "reads summaries of"}[v.extent]
		line := what + " %s of " + shortened(files[v], " ")
		if len(files[v]) == len(c.Files) && len(c.Files) > 2 {
			line = fmt.Sprintf("%s %%s of all %d files", what, len(c.Files))
		}
		if names[line] == nil {
			lines = append(lines, line)
		}
		names[line] = append(names[line], v.name)
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.Replace(line, "%s", strings.Join(names[line], ","), 1) + "\n")
	}
	return b.String()
}

// shortened joins words. It writes only the first and last of many, their number, and a digest of all.
func shortened(words []string, separator string) string {
	const most, bytes, first, last = 16, 400, 4, 2
	all := strings.Join(words, separator)
	if len(words) <= first+last || len(words) <= most && len(all) <= bytes {
		return all
	}
	sum := sha256.Sum256([]byte(all))
	middle := fmt.Sprintf("… (%d, digest %x) …", len(words), sum[:4])
	return strings.Join(slices.Concat(words[:first], []string{middle}, words[len(words)-last:]), separator)
}

// findingText formats a finding in a line.
func findingText(f *report.Finding) string {
	words := []string{string(f.Effect), string(f.Code)}
	for _, a := range append(slices.Clone(f.Arrays), f.Array) {
		if a != "" {
			words = append(words, "array="+strings.TrimPrefix(a, "/"))
		}
	}
	if f.Dim != "" {
		words = append(words, "dim="+f.Dim)
	}
	if f.Count > 0 {
		words = append(words, fmt.Sprintf("files=%s/%d", shortened(strings.Fields(reporttest.Files(f)), ","), f.Of))
	}
	if facts := reporttest.Facts(f); facts != "" {
		words = append(words, facts)
	}
	line := strings.Join(words, " ") + "\n"
	if remedies := reporttest.Remedies(f); remedies != "" {
		line += "  remedies: " + remedies + "\n"
	}
	return line
}

package text

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"varve/manifest/report"
)

var record = flag.Bool("record", false, "write docs/reference/findings.md")

// codes returns the constants of type Code in package report.
func codes(t *testing.T) (list []report.Code) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, report.Code(code))
		}
		return true
	})
	return list
}

// TestEveryCodeHasWords checks that each code has a sentence, an explanation and an example.
func TestEveryCodeHasWords(t *testing.T) {
	list := codes(t)
	if len(list) < 80 || len(list) != len(entries) {
		t.Errorf("%d codes and %d entries", len(list), len(entries))
	}
	for _, code := range list {
		if _, ok := entries[code]; !ok {
			t.Errorf("%s has no sentence", code)
		}
		if explanations[code] == "" {
			t.Errorf("%s has no explanation", code)
		}
		if Example(code) == "" {
			t.Errorf("%s has no example: a test of manifest/internal/planner or manifest/ingest has to cause it; then run it with -record", code)
		}
	}
}

// TestEveryReplanHasWords checks that each reason for a new plan has words.
func TestEveryReplanHasWords(t *testing.T) {
	data, err := os.ReadFile("../replan.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if _, value, ok := strings.Cut(line, ` Replan = "`); ok {
			n++
			if reason, _, _ := strings.Cut(value, `"`); replanWords[report.Replan(reason)] == "" {
				t.Errorf("%s has no words", reason)
			}
		}
	}
	if n != len(replanWords) {
		t.Errorf("%d reasons, words for %d", n, len(replanWords))
	}
}

// TestFindingsPage checks that docs/reference/findings.md has the current codes, explanations and examples.
func TestFindingsPage(t *testing.T) {
	var page bytes.Buffer
	fmt.Fprintln(&page, "# Findings\n\n`varve check` and `varve build` report findings: facts about the files, and places where files disagree.")
	fmt.Fprintln(&page, "Each has a code in brackets, which stays the same. `varve explain CODE` prints its section of this page,")
	fmt.Fprintln(&page, "and `varve check --json` has findings with all their arguments, files and remedies. An argument lists at most 1,000")
	fmt.Fprintln(&page, "values; if there are more, `variants` has their number.")
	fmt.Fprintln(&page, "\nThe first word of a finding is its effect: `verbatim` and `noted` change nothing, `re-encoded` chunks are converted,")
	fmt.Fprintln(&page, "`filled` places hold fill values, `dropped` things are left out, and `refused` means that there is no dataset.")
	for _, code := range codes(t) {
		title, _ := Title(code)
		fmt.Fprintf(&page, "\n## %s\n\n%s%s.\n\n%s\n\n", code, strings.ToUpper(title[:1]), title[1:], wrap(explanations[code], 110))
		fmt.Fprintf(&page, "```text\n%s\n```\n", Example(code))
	}
	const name = "../../../docs/reference/findings.md"
	if *record {
		if err := os.MkdirAll("../../../docs/reference", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, page.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(have, page.Bytes()) {
		t.Errorf("%s is not up to date: go test ./manifest/report/text -record (%v)", name, err)
	}
}

// wrap splits a text into lines of at most width bytes.
func wrap(text string, width int) string {
	var b strings.Builder
	line := 0
	for i, word := range strings.Fields(text) {
		if i > 0 {
			if line+1+len(word) > width {
				b.WriteByte('\n')
				line = 0
			} else {
				b.WriteByte(' ')
				line++
			}
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}

// TestFiles: up to ten files are listed by name, and more as the ends of each run.
func TestFiles(t *testing.T) {
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("/d/a_%02d.nc", i))
	}
	s := report.NewSources(names)
	for _, c := range []struct {
		places []int32
		want   string
	}{
		{nil, ""},
		{[]int32{3, 1}, "a_01.nc, a_03.nc"},
		{[]int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 31}, "a_01.nc … a_12.nc, a_31.nc: 13 files"},
	} {
		if got := Files(s.Files(c.places)); got != c.want {
			t.Errorf("%v: %q, want %q", c.places, got, c.want)
		}
	}
}

// TestLabels: a label has as many path elements as are needed to identify the file.
func TestLabels(t *testing.T) {
	s := report.NewSources([]string{"/x/2001/a.nc", "/x/2002/a.nc", "/y/2002/a.nc", "/x/b.nc"})
	for name, want := range map[string]string{"/x/2001/a.nc": "2001/a.nc", "/x/2002/a.nc": "x/2002/a.nc", "/y/2002/a.nc": "y/2002/a.nc", "/x/b.nc": "b.nc"} {
		if got := s.Label(name); got != want {
			t.Errorf("%s is shown as %s, want %s", name, got, want)
		}
	}
}

// TestOneLine checks that names cannot add lines to a report or give orders to a terminal.
func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä":        "plain ä",
		"a\nrefused b":   `a\x0arefused b`,
		"\x1b[31m\u202e": `\x1b[31m\u202e`,
		"\xff\t":         "\xff" + `\x09`,
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestManyUnreadable: the first unreadable files have their own findings, and the rest share one.
func TestManyUnreadable(t *testing.T) {
	for _, n := range []int{0, 1, mostUnreadable, mostUnreadable + 1, 100 * mostUnreadable} {
		findings := []report.Finding{{Code: report.WidthsPadded}}
		for i := range n {
			findings = append(findings, report.Finding{Code: report.UnreadableFile, Files: report.Named(fmt.Sprintf("/%d.nc", i)), Count: 1, Args: report.Args{"reason": "ends early"}})
		}
		few, count := fewUnreadable(findings), int64(0)
		for _, f := range few[1:] {
			count += f.Files.Len()
		}
		if len(few) > mostUnreadable+2 || count != int64(n) || len(findings) != n+1 {
			t.Errorf("%d findings of %d files for %d", len(few), count, n)
		}
	}
}

// TestUsualFiles: of three calendars, the number of files is of those with the usual one, and not of all others.
func TestUsualFiles(t *testing.T) {
	f := report.Finding{Code: report.CoordinateCalendar, Files: report.Named("c"), Count: 1, Of: 4, Args: report.Args{"calendar": "noleap", "others": "360_day"}}
	for _, c := range []struct {
		count any
		want  string
	}{{nil, "3 other files"}, {int64(2), "2 other files"}, {int64(1), "the other file"}} {
		if c.count != nil {
			f.Args["others_count"] = c.count
		}
		if got := (&view{&f, nil}).others(); got != c.want {
			t.Errorf("%v: got %q", c.count, got)
		}
	}
}

// TestOddFiles: a finding about arrays that differ in other files says which differ where.
func TestOddFiles(t *testing.T) {
	s := report.NewSources([]string{"/d/a.nc", "/d/b.nc", "/d/c.nc", "/d/e.nc"})
	f := report.Finding{Code: report.StaticDiffers, Effect: report.Refused, Arrays: []string{"/depth", "/land", "/mask"}, Files: s.Files([]int32{1, 2}), Count: 2, Of: 4,
		Args: report.Args{"odd": []report.Odd{{Arrays: []string{"/depth", "/mask"}, Files: s.Files([]int32{1})}, {Arrays: []string{"/land"}, Files: s.Files([]int32{1, 2})}}}}
	const want = "/depth, /land, /mask: values differ in 2 of 4 files: /depth, /mask in b.nc, /land in 2 files; they have no dimension along which files are concatenated"
	if got := (*Printer)(nil).Sentence(&f); got != want {
		t.Errorf("got %q", got)
	}
}

// Package text formats findings as English. No other package has English text for them: the planner returns
// codes and arguments, and a command says how its options are written.
//
//	refused     /lat: units are "degrees_north" in sst_201901.nc and missing in 6 other files [coordinate-units-differ]
//	            sst_201901.nc
//	            fix: --coords first (take the values of the first file)
package text

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve/manifest/report"
)

// Printer writes findings. The zero value writes options by their names in the library.
type Printer struct {
	// Option formats a setting as the user would write it, such as --coords first. If it is nil, settings
	// are formatted as coords=first.
	Option func(report.Setting) string
}

// Report writes the findings of a report, the refusals first. It writes each finding at once, so that a writer sees whole
// words.
func (p *Printer) Report(w io.Writer, findings []report.Finding) error {
	out := bufio.NewWriter(w)
	few := fewUnreadable(findings)
	for _, refused := range []bool{true, false} {
		for i := range few {
			if f := &few[i]; (f.Effect == report.Refused) == refused {
				p.write(out, f)
				if err := out.Flush(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// indent is the width of the column of effects.
const indent = "            "

func (p *Printer) write(out *bufio.Writer, f *report.Finding) {
	fmt.Fprintf(out, "%-10s  %s [%s]\n", f.Effect, p.Sentence(f), f.Code)
	if files := Files(f.Files); files != "" {
		fmt.Fprintln(out, indent+files)
	}
	if cost := p.Cost(f); cost != "" {
		fmt.Fprintln(out, indent+cost)
	}
	for i := range f.Remedies {
		fmt.Fprintln(out, indent+"fix: "+p.remedyOf(f, &f.Remedies[i]))
	}
}

// Line returns a finding as one line: the sentence, the files and the remedies.
func (p *Printer) Line(f *report.Finding) string {
	var b strings.Builder
	b.WriteString(p.Sentence(f))
	if files := Files(f.Files); files != "" {
		b.WriteString(": " + files)
	}
	for i := range f.Remedies {
		b.WriteString([]string{"; fix: ", ", or "}[min(i, 1)] + p.remedyOf(f, &f.Remedies[i]))
	}
	return b.String() + " [" + string(f.Code) + "]"
}

// Sentence returns a finding as one sentence that begins with its array or dimension.
func (p *Printer) Sentence(f *report.Finding) string {
	e, ok := entries[f.Code]
	if !ok {
		return string(f.Code)
	}
	v := &view{f, p}
	text := e.say(v)
	if f.By.Option != "" {
		switch f.Effect {
		case report.Refused:
			text += ", which " + p.Setting(f.By) + " does not allow"
		case report.Noted, report.Filled, report.Dropped, report.Reencoded, report.Verbatim:
			text += " (" + p.Setting(f.By) + ")"
		}
	}
	if about := v.about(); about != "" {
		text = about + ": " + text
	}
	return oneLine(text)
}

// IsControl reports whether a terminal may obey a character instead of showing it. That includes the characters that
// change the direction of the text around them.
func IsControl(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// oneLine quotes the control characters of a text. Names of files and variables may contain line breaks, which must not
// look like new lines of a report, and other characters that a terminal obeys.
func oneLine(text string) string {
	if strings.IndexFunc(text, IsControl) < 0 {
		return text
	}
	var b strings.Builder
	for at, n := 0, 0; at < len(text); at += n {
		var r rune
		r, n = utf8.DecodeRuneInString(text[at:])
		switch {
		case !IsControl(r):
			b.WriteString(text[at : at+n]) // bytes that are no UTF-8 stay the same
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// about returns the arrays or the dimension of a finding.
func (v *view) about() string {
	switch {
	case len(v.f.Arrays) > 0:
		return some(v.f.Arrays)
	case v.f.Array != "":
		return v.f.Array
	}
	return v.f.Dim
}

// Setting formats an option as the user would write it.
func (p *Printer) Setting(s report.Setting) string {
	if p != nil && p.Option != nil {
		return p.Option(s)
	}
	if s.Value == "" {
		return string(s.Option)
	}
	return string(s.Option) + "=" + s.Value
}

// mostLeftOut is the largest number of files that a remedy names. The finding always lists all files.
const mostLeftOut = 3

// remedyOf formats a remedy as Remedy does. If few files have to be removed from the list of sources, it names
// them.
func (p *Printer) remedyOf(f *report.Finding, r *report.Remedy) string {
	if n := f.Files.Len(); r.Option == report.LeaveOut && n > 0 && n <= mostLeftOut {
		return "remove " + Files(f.Files) + " from the list of sources"
	}
	return p.Remedy(r)
}

// Remedy formats what to do, and in parentheses the consequence.
func (p *Printer) Remedy(r *report.Remedy) string {
	var text string
	switch r.Option {
	case report.LeaveOut:
		return "remove these files from the list of sources"
	case report.Separate:
		text = "build a manifest for each kind of files"
	default:
		text = p.Setting(r.Setting)
	}
	for _, s := range r.With {
		text += " " + p.Setting(s)
	}
	if does := consequences[r.Consequence]; does != "" {
		text += " (" + does + ")"
	}
	return oneLine(text)
}

// Cost says how many chunks a disagreement re-encodes, or returns "".
func (p *Printer) Cost(f *report.Finding) string {
	c := f.Cost
	if c == nil || c.Reencoded+c.Verbatim == 0 {
		return ""
	}
	all := report.Thousands(c.Reencoded + c.Verbatim)
	with := fmt.Sprintf("%s of %s chunks are re-encoded as %s", report.Thousands(c.Reencoded), all, c.DataType)
	if c.Verbatim == 0 {
		with = fmt.Sprintf("all %s chunks are re-encoded as %s", all, c.DataType)
	}
	without := fmt.Sprintf("%s would be without this difference", report.Thousands(c.ReencodedWithout))
	switch c.ReencodedWithout {
	case 0:
		without = "none would be without this difference"
	case c.Reencoded: // another difference re-encodes them anyway
		without = "with or without this difference"
	}
	return fmt.Sprintf("%s, %s; exports hold about %s for them before compression", with, without, report.Size(c.ExportBytes))
}

// mostListed is the number of names that a text lists.
const mostListed = 10

// Files lists the files of a finding: up to ten by name, and more as the first and the last of each run.
func Files(f report.Files) string {
	n := f.Len()
	if n == 0 {
		return ""
	}
	var names []string
	if n <= mostListed {
		for name := range f.All() {
			names = append(names, f.Label(name))
		}
		return oneLine(strings.Join(names, ", "))
	}
	runs := f.Runs()
	shown := runs
	if len(runs) > mostListed {
		shown = runs[:mostListed]
	}
	for _, r := range shown {
		if r[0] == r[1] {
			names = append(names, f.Label(r[0]))
			continue
		}
		names = append(names, f.Label(r[0])+" … "+f.Label(r[1]))
	}
	if len(shown) < len(runs) {
		names = append(names, fmt.Sprintf("and %s more runs", report.Thousands(int64(len(runs)-len(shown)))))
	}
	return oneLine(strings.Join(names, ", ")) + ": " + report.Thousands(n) + " files"
}

// mostUnreadable is the number of unreadable files that have their own lines.
const mostUnreadable = 20

// fewUnreadable merges the findings about unreadable files after the first mostUnreadable into one.
func fewUnreadable(findings []report.Finding) []report.Finding {
	out := make([]report.Finding, 0, len(findings))
	seen, rest := 0, -1
	var names []string
	for _, f := range findings {
		if f.Code != report.UnreadableFile {
			out = append(out, f)
			continue
		}
		seen++
		if seen <= mostUnreadable {
			out = append(out, f)
			continue
		}
		if rest < 0 {
			rest = len(out)
			out = append(out, f)
		}
		for name := range f.Files.All() {
			names = append(names, name)
		}
	}
	if len(names) > 1 {
		f := &out[rest]
		f.Files, f.Count = report.Named(names...), int64(len(names))
		f.Args = report.Args{"reason": f.Args["reason"], "more": f.Count}
	}
	return out
}

// some lists up to mostListed names, and an ellipsis if there are more.
func some(names []string) string {
	if len(names) > mostListed {
		return strings.Join(names[:mostListed], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

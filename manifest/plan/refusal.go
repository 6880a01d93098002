package plan

import (
	"strings"

	"varve/manifest/report"
	english "varve/manifest/report/text"
)

// Error says why files cannot be combined with the given options. Each finding has its files, and
// the options that resolve it.
type Error struct {
	Findings []report.Finding
}

// Error returns one line for each finding, with options under their names in the library.
func (e *Error) Error() string {
	var printer english.Printer
	lines := make([]string, len(e.Findings))
	for i := range e.Findings {
		lines[i] = printer.Line(&e.Findings[i])
	}
	return strings.Join(lines, "\n")
}

// OptionError is the error for an option with an invalid value, or with a value that applies to no
// file, such as a mistyped name.
type OptionError struct {
	report.Setting
	Says     string
	Remedies []report.Remedy // options to use instead or in addition
}

// Error returns the option's name in the library, the reason and the remedies.
func (e *OptionError) Error() string {
	var printer english.Printer
	out := printer.Setting(e.Setting) + ": " + e.Says
	for i := range e.Remedies {
		out += []string{"; fix: ", ", or "}[min(i, 1)] + printer.Remedy(&e.Remedies[i])
	}
	return out
}

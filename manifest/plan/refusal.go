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

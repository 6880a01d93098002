package plan

import (
	"strings"

	"varve/manifest/report"
	english "varve/manifest/report/text"
)

// Error says why files cannot be combined as asked: every reason with its files and the options that allow
// it.
type Error struct {
	Findings []report.Finding
}

// Error lists the reasons, one a line, with options by their names in the library.
func (e *Error) Error() string {
	var printer english.Printer
	lines := make([]string, len(e.Findings))
	for i := range e.Findings {
		lines[i] = printer.Line(&e.Findings[i])
	}
	return strings.Join(lines, "\n")
}

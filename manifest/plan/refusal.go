package plan

import (
	"strings"

	"varve/manifest/report"
)

// Error says why files cannot be combined as asked: every reason, with the files' names and
// the option that would allow it.
type Error struct {
	Findings []report.Finding
}

// Error lists the reasons, one a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.Says
		if f.Option != "" {
			lines[i] += " (allowed by " + f.Option + ")"
		}
	}
	return strings.Join(lines, "\n")
}

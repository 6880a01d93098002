package plan

import (
	"fmt"
	"slices"
	"strings"

	"varve/manifest/report"
)

// together makes one of findings that say the same of several arrays.
func together(findings []report.Finding) []report.Finding {
	var out []report.Finding
	at := map[string]int{}
	arrays := map[string][]string{}
	for _, f := range findings {
		bare := f
		bare.Array = ""
		key := fmt.Sprintf("%+v", bare)
		if _, ok := at[key]; !ok {
			at[key] = len(out)
			out = append(out, f)
		}
		if f.Array != "" {
			arrays[key] = append(arrays[key], f.Array)
		}
	}
	for key, i := range at {
		slices.Sort(arrays[key])
		if paths := slices.Compact(arrays[key]); len(paths) > 1 {
			out[i].Array, out[i].Says = "", some(paths)+": "+out[i].Says
		}
	}
	return out
}

// Error says why files cannot be combined as asked: every reason, with the files' names and
// the option that would allow it.
type Error struct {
	Findings []report.Finding
	labels   map[string]string // of the files that findings name
}

// Error lists the reasons, one a line:
//
//	coordinate: /lat: 1 of 4 files has other values of lat, …: swh_2003-04-05.nc (allowed by --coords first)
func (e *Error) Error() string {
	lines := make([]string, len(e.Findings))
	for i := range e.Findings {
		lines[i] = e.line(&e.Findings[i])
	}
	return strings.Join(lines, "\n")
}

func (e *Error) line(f *report.Finding) string {
	var b strings.Builder
	b.WriteString(string(f.Kind) + ": " + f.Sentence())
	for i, url := range f.Files {
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		if label, ok := e.labels[url]; ok {
			url = label
		}
		b.WriteString(url)
	}
	if more := f.Count - int64(len(f.Files)); more > 0 && len(f.Files) > 0 {
		b.WriteString(" and " + report.Thousands(more) + " more")
	}
	if f.Option != "" {
		b.WriteString(" (allowed by " + f.Option + ")")
	}
	return b.String()
}

package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"varve/manifest/ingest"
	"varve/manifest/report"
	"varve/readers/source"
)

// checkGitHub writes findings as annotations of GitHub Actions, which shows them beside the files of a pull request: one for each
// finding, with the first of its files. The log has all of it.
func checkGitHub(out io.Writer, o *ingest.Result, _ bool) error {
	w, findings := bufio.NewWriter(out), o.Report.Findings
	for i := range findings {
		f := &findings[i]
		properties := "title=varve " + escapeProperty(string(f.Code))
		for name := range f.Files.All() {
			if path, ok := inRepository(name); ok {
				properties = "file=" + escapeProperty(path) + "," + properties
			}
			break
		}
		fmt.Fprintf(w, "::%s %s::%s\n", annotation(f.Effect), properties, escapeMessage(printer.Line(f)))
	}
	return w.Flush()
}

// annotation returns the kind of annotation for an effect.
func annotation(e report.Effect) string {
	switch e {
	case report.Refused:
		return "error"
	case report.Filled, report.Dropped, report.Reencoded:
		return "warning"
	case report.Verbatim, report.Noted:
	}
	return "notice"
}

// inRepository returns the path of a local file below the working directory, which is that of the repository.
func inRepository(name string) (string, bool) {
	path, err := source.LocalPath(source.Outer(name))
	if err != nil {
		return "", false
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return "", false
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", false
	}
	path, err = filepath.Rel(here, path)
	return filepath.ToSlash(path), err == nil && filepath.IsLocal(path)
}

var (
	messageEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeMessage(text string) string  { return messageEscapes.Replace(text) }
func escapeProperty(text string) string { return propertyEscapes.Replace(text) }

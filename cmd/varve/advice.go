package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/text"
	"varve/manifest/scan"
	"varve/manifest/store"
	"varve/readers/source"
)

// printer writes findings with the flags of this command. The library knows options by names of its own.
var printer = &text.Printer{Option: flagText}

// flagText writes an option and its value as a shell takes them: --allow '/data/my files'. An option of
// another command, such as build/rename, is written with that command.
func flagText(s report.Setting) string {
	if s.Option == report.Refresh {
		return "varve refresh OUT"
	}
	command, option, isOther := strings.Cut(string(s.Option), "/")
	if !isOther {
		command, option = "", command
	} else {
		command = "varve " + command + " "
	}
	if s.Value == "" {
		return command + "--" + option
	}
	return command + "--" + option + " " + shellWord(s.Value)
}

// shellWord quotes a text where a shell would take it apart.
func shellWord(s string) string {
	isPlain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f || strings.ContainsRune("_-./:=@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !isPlain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// findingsJSON are findings in JSON documents: the data, and the sentence that people would see.
type findingsJSON []report.Finding

func (l findingsJSON) MarshalJSON() ([]byte, error) {
	type document struct {
		report.Finding
		Text string `json:"text"`
	}
	docs := make([]document, len(l))
	for i := range l {
		docs[i] = document{l[i], printer.Sentence(&l[i])}
		if l[i].Remedies == nil {
			docs[i].Remedies = []report.Remedy{} // scripts iterate over it
		}
	}
	return json.Marshal(docs)
}

// printedError is an error that the command has already shown in full.
type printedError struct{ error }

func (p printedError) Unwrap() error { return p.error }

// alreadyPrinted marks a refusal that is part of a report which has been printed.
func alreadyPrinted(err error) error {
	if len(refusalsIn(err)) > 0 {
		return printedError{err}
	}
	return err
}

// refusalsIn returns the findings that an error consists of: files that cannot be combined, or not be read.
func refusalsIn(err error) []report.Finding {
	var refused *plan.Error
	var broken *scan.BrokenError
	switch {
	case errors.As(err, &refused):
		return refused.Findings
	case errors.As(err, &broken):
		return ingest.UnreadableFindings(broken)
	}
	return nil
}

// errorText writes an error for a user, with flags for the options that its parts name.
func errorText(err error) string {
	var printed printedError
	var broken *scan.BrokenError
	switch isPrinted := errors.As(err, &printed); {
	case isPrinted && errors.As(err, &broken):
		return unreadable(broken) + "; the report lists the reasons"
	case isPrinted:
		return "the files cannot be combined as asked; the report lists the reasons"
	}
	message := err.Error()
	for part := range errorParts(err) {
		if old, with := part.Error(), withFlags(part); with != "" {
			message = strings.Replace(message, old, with, 1)
		}
	}
	return message
}

// withFlags returns the text of an error that carries options, or "" for any other.
func withFlags(err error) string {
	switch e := err.(type) {
	case *scan.BrokenError:
		return brokenText(e)
	case *plan.Error:
		lines := make([]string, len(e.Findings))
		for i := range e.Findings {
			lines[i] = printer.Line(&e.Findings[i])
		}
		return strings.Join(lines, "\n")
	case *plan.OptionError:
		return flagText(e.Setting) + ": " + e.Says + remediesText(e.Remedies)
	case *store.ForbiddenError:
		return forbiddenText(e)
	case *manifest.RemedyError:
		remedies := make([]report.Remedy, len(e.Remedies))
		for i, r := range e.Remedies {
			remedies[i] = report.Do(report.Option(r.Option), r.Value, "")
		}
		return errorText(e.Err) + remediesText(remedies)
	case *source.AddressError:
		return e.Error() + remediesText([]report.Remedy{report.Do(report.Allow, e.Place(), "")})
	case *source.NoRangesError:
		return e.Error() + remediesText([]report.Remedy{report.Do(report.Download, "", "")})
	}
	return ""
}

// mostBroken is the number of unreadable sources that an error lists.
const mostBroken = 20

func unreadable(err *scan.BrokenError) string {
	return plural(int64(len(err.Broken)), "source", "sources") + " cannot be read"
}

func brokenText(err *scan.BrokenError) string {
	lines := []string{unreadable(err)}
	for i, f := range ingest.UnreadableFindings(err) {
		if i == mostBroken {
			lines = append(lines, fmt.Sprintf("and %d more", len(err.Broken)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%s: %s%s [%s]", err.Broken[i].URL, printer.Sentence(&f), remediesText(f.Remedies), f.Code))
	}
	return strings.Join(lines, "\n  ")
}

func remediesText(remedies []report.Remedy) string {
	if len(remedies) == 0 {
		return ""
	}
	ways := make([]string, len(remedies))
	for i := range remedies {
		ways[i] = printer.Remedy(&remedies[i])
	}
	return fmt.Sprintf("; fix: %s", strings.Join(ways, ", or "))
}

// errorParts yields the errors that an error wraps and that carry options, the outer ones first.
func errorParts(err error) func(yield func(error) bool) {
	return func(yield func(error) bool) { walkErrors(err, yield) }
}

func walkErrors(err error, yield func(error) bool) bool {
	switch err.(type) {
	case nil:
		return true
	case *scan.BrokenError, *plan.Error, *plan.OptionError, *manifest.RemedyError, *store.ForbiddenError, *source.NoRangesError, *source.AddressError:
		return yield(err) // its text covers what it wraps
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return walkErrors(e.Unwrap(), yield)
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if !walkErrors(part, yield) {
				return false
			}
		}
	}
	return true
}

// forbiddenText says why a source is not read, and what permits it. It names the first places only: a manifest may read
// thousands of folders.
func forbiddenText(e *store.ForbiddenError) string {
	const most = 10
	text := e.Source + ": not allowed: " + e.Reason() + ". If you trust it:"
	if e.Manifest != "" {
		text += " varve trust " + shellWord(e.Manifest)
		// These places are not among the manifest's sources.
		if (e.IsOwn || e.Target != "") && len(e.Allow) > 0 {
			text += " " + shellWord(e.Allow[0])
		}
		text += ", or each time"
	}
	for _, place := range e.Allow[:min(len(e.Allow), most)] {
		text += " --allow " + shellWord(place)
	}
	if more := len(e.Allow) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + " (or the variable VARVE_ALLOW)"
}

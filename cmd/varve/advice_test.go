package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// TestOptionsAreFlags checks that every option of a remedy is a flag of build or append.
func TestOptionsAreFlags(t *testing.T) {
	for _, option := range report.Options {
		if of, isOfBuild := strings.CutPrefix(string(option), "build/"); isOfBuild && newBuildCommand().Flags().Lookup(of) != nil {
			continue
		}
		if newBuildCommand().Flags().Lookup(string(option)) == nil && newAppendCommand().Flags().Lookup(string(option)) == nil {
			t.Errorf("no flag --%s", option)
		}
	}
}

// TestFlagText checks that a shell hands over a remedy's value unchanged, and that the option takes it for the
// variable that was meant and no other.
func TestFlagText(t *testing.T) {
	if got := flagText(report.Setting{Option: report.Allow, Value: "/data/a-b_c.d"}); got != "--allow /data/a-b_c.d" {
		t.Errorf("got %s", got)
	}
	if got := flagText(report.Setting{Option: "build/rename", Value: "OLD=NEW"}); got != "varve build --rename OLD=NEW" {
		t.Errorf("got %s", got)
	}
	for _, name := range []string{"t", "Land Mask", "it's", `a"b`, "a,b", "$HOME", "p[hPa]", "x*", "a?b", `back\slash`, "ä", "; ls", "~", "\n", "(x)"} {
		if got := handedOver(t, flagText(report.Setting{Option: report.Rename, Value: name + "=NAME"})); got != name+"=NAME" {
			t.Errorf("%q is handed over as %q", name, got)
		}
		fields, err := csv.NewReader(strings.NewReader(handedOver(t, flagText(report.DropPath("/g/"+name).Setting)))).Read()
		if err != nil || len(fields) != 1 {
			t.Fatalf("%q: %q, %v", name, fields, err)
		}
		if ok, err := path.Match(fields[0], "/g/"+name); !ok {
			t.Errorf("%q does not match %q: %v", fields[0], name, err)
		}
		for _, other := range []string{"/g/ph", "/g/xy", "/g/a_b"} {
			if ok, _ := path.Match(fields[0], other); ok {
				t.Errorf("%q matches %s", fields[0], other)
			}
		}
	}
}

// handedOver returns the second word that a shell makes of a text.
func handedOver(t *testing.T, text string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `set -- `+text+`; printf %s "$2"`).Output()
	if err != nil {
		t.Skip(err)
	}
	return string(out)
}

// TestErrorText checks that errors of the library get the flags of this command.
func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "plain"},
		{fmt.Errorf("x.varve: %w", manifest.WithRemedy(errors.New("it exists"), "force", "").Or("append", "")), "x.varve: it exists; fix: --force, or --append"},
		{errors.Join(&plan.OptionError{Setting: report.Setting{Option: report.Pad, Value: "yes"}, Says: "want fill"}), "--pad yes: want fill"},
		{alreadyPrinted(&plan.Error{Findings: []report.Finding{{Code: report.OrderUnknown}}}), "the files cannot be combined as asked; the report lists the reasons"},
	} {
		if got := errorText(c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestExplain prints what a code means, and lists the codes.
func TestExplain(t *testing.T) {
	out, code, err := run(t, "explain", "overlap")
	if err != nil || code != exitDone || !strings.Contains(out, "--overlap first") {
		t.Errorf("%v: %s", err, out)
	}
	if out, _, err := run(t, "explain"); err != nil || strings.Count(out, "\n") < 80 {
		t.Errorf("%v: %s", err, out)
	}
	if _, code, _ := run(t, "explain", "nothing"); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}

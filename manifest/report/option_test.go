package report

import (
	"encoding/csv"
	"os/exec"
	"path"
	"strings"
	"testing"
)

// TestFlags: what is written of an option is what the shell hands over, and what the option makes of
// that is what was to be named.
func TestFlags(t *testing.T) {
	if got := Flag("allow", "/data/a-b_c.d"); got != "--allow /data/a-b_c.d" {
		t.Errorf("%s is quoted and need not be", got)
	}
	for _, name := range []string{"t", "Land Mask", "it's", `a"b`, "a,b", "$HOME", "p[hPa]", "x*", "a?b", `back\slash`, "ä", "; ls", "~", "", "\n", "(x)"} {
		if got := handed(t, Flag("rename", name+"=NAME")); got != name+"=NAME" {
			t.Errorf("%q is handed over as %q", name, got)
		}
		list := func(text string) string {
			fields, err := csv.NewReader(strings.NewReader(text)).Read()
			if err != nil || len(fields) != 1 {
				t.Fatalf("%q: %q, %v", name, fields, err)
			}
			return fields[0]
		}
		if name == "" {
			continue
		}
		if got := list(handed(t, ListFlag("concat", name))); got != name {
			t.Errorf("%q is taken for %q", name, got)
		}
		glob := list(handed(t, Drop("/g/"+name)))
		if ok, err := path.Match(glob, "/g/"+name); !ok {
			t.Errorf("%q does not match %q: %v", glob, name, err)
		}
		for _, other := range []string{"/g/ph", "/g/xy", "/g/a_b"} {
			if ok, _ := path.Match(glob, other); ok {
				t.Errorf("%q matches %s", glob, other)
			}
		}
	}
}

// handed is the second word that a shell makes of a text.
func handed(t *testing.T, text string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `set -- `+text+`; printf %s "$2"`).Output()
	if err != nil {
		t.Skip(err)
	}
	return string(out)
}

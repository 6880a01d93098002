package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// configured are the options of a command line beside a file.
func configured(t *testing.T, file string, args ...string) (*combineOptions, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "varve.yaml")
	if err := os.WriteFile(name, []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	var o combineOptions
	cmd := &cobra.Command{}
	o.addSourceFlags(cmd.Flags())
	o.addPlanFlags(cmd.Flags())
	if err := cmd.ParseFlags(append(args, "--config", name)); err != nil {
		t.Fatal(err)
	}
	return &o, o.takeConfig(cmd)
}

// TestConfig checks that a file of options means the same as the command line.
func TestConfig(t *testing.T) {
	o, err := configured(t, `
drop: [010, 2020-01-01, yes, "a b", 1e3]
vars: 0x1f
concat: &dim time
missing: drop
new-dim:
  - member=r(\d+)
  - *dim
skip-broken: true
rename: []
`, "--missing", "refuse")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][2][]string{
		{o.drop, {"010", "2020-01-01", "yes", "a b", "1e3"}},
		{o.vars, {"0x1f"}},
		{o.concat, {"time"}},
		{o.newDims, {`member=r(\d+)`, "time"}},
		{o.rename, nil},
	} {
		if !slices.Equal(list[0], list[1]) {
			t.Errorf("got %q, want %q", list[0], list[1])
		}
	}
	if o.missing != "refuse" || !o.skipBroken {
		t.Errorf("got %q and %v", o.missing, o.skipBroken)
	}
}

// TestNamesOfConfig: a variable that a file of options names need not exist, but one that the command line names must.
// The names that a manifest was built with need not exist in files that are added.
func TestNamesOfConfig(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	const january, february = "../../fixtures/demo/2021-01.nc", "../../fixtures/demo/2021-02.nc"
	dir := t.TempDir()
	file, out := filepath.Join(dir, "varve.yaml"), filepath.Join(dir, "m.varve")
	if err := os.WriteFile(file, []byte("vars: 't2m,tmp'\ndrop: [quality]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"check", january, "--vars", "t2m", "--vars", "t2n"}, exitUsage},
		{[]string{"check", january, "--drop", "quality"}, exitUsage},
		{[]string{"check", january, "--config", file, "--drop", "other"}, exitUsage},
		{[]string{"check", january, "--drop", "q*"}, exitDone},
		{[]string{"build", out, january, "--config", file}, exitDone},
		{[]string{"append", out, february, "--drop", "other"}, exitUsage},
		{[]string{"append", out, february, "--coords", "first"}, exitDone},
		{[]string{"refresh", out, "--config", file}, exitDone},
	} {
		text, err := runCommand(t, t.Context(), c.args...)
		if code := exitCode(err, false); code != c.code {
			t.Errorf("%v: exit code %d, want %d: %v\n%s", c.args, code, c.code, err, text)
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	for file, says := range map[string]string{
		"drop:\n":               "line 1: drop: want a value",
		"\ndrop: [a, [b]]":      "line 2: drop: want a value",
		"drop: {a: b}":          "line 1: drop: want a value",
		"missing: [fill, drop]": "line 1: missing: want one value",
		"mising: fill":          "line 1: mising: unknown option",
		"config: other.yaml":    "line 1: config: unknown option",
		"drop: a\ndrop: b":      `"drop" already defined at line 1`,
		"skip-broken: perhaps":  "line 1: skip-broken: ",
		"- drop":                "cannot unmarshal",
		"drop: [a":              "varve.yaml: yaml: ",
	} {
		if _, err := configured(t, file); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", file, err, says)
		}
	}
}

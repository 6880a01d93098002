package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var recordCommands = flag.Bool("record-commands", false, "write docs/reference/commands.md")

// TestCommandsReference holds docs/reference/commands.md to the help of the commands.
func TestCommandsReference(t *testing.T) {
	const name = "../../docs/reference/commands.md"
	want := commandsReference()
	if *recordCommands {
		if err := os.WriteFile(name, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/reference/commands.md is out of date: go test ./cmd/varve -run TestCommandsReference -record-commands")
	}
}

// eachCommand calls do with every command that the help lists.
func eachCommand(c *cobra.Command, do func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			do(sub)
			eachCommand(sub, do)
		}
	}
}

func commandsReference() string {
	var b strings.Builder
	b.WriteString("# Commands\n\nLook up a command, its flags and its exit codes. This page is generated from the commands; `varve man DIR`\n" +
		"writes the same as manual pages, and `varve completion SHELL` prints completions.\n")
	root := newRootCommand()
	b.WriteString("\n## All commands\n\n| command | what it does |\n|---|---|\n")
	eachCommand(root, func(c *cobra.Command) {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short)
	})
	fmt.Fprintf(&b, "\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.says)
	}
	eachCommand(root, func(c *cobra.Command) {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```text\n%s\n```\n\n```text\n%s\n```\n", c.CommandPath(), c.Short, c.UseLine(), c.Long)
		if c.Example != "" {
			examples := strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n")
			fmt.Fprintf(&b, "\nExamples:\n\n<!-- run by: TestExamples -->\n```sh\n%s\n```\n", examples)
		}
		if !c.LocalFlags().HasAvailableFlags() {
			return
		}
		b.WriteString("\nFlags:\n\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				fmt.Fprintf(&b, "- `%s`: %s\n", flagForm(f), markdown(flagHelp(f)))
			}
		})
	})
	return b.String()
}

// markdown escapes characters that Markdown would interpret.
func markdown(text string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "|", `\|`).Replace(text)
}

// TestHelpOfFlags: the help of a flag is short, and begins with an imperative verb in lower case.
func TestHelpOfFlags(t *testing.T) {
	eachCommand(newRootCommand(), func(c *cobra.Command) {
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, text := pflag.UnquoteUsage(f)
			if n := len([]rune(text)); n > 100 && !f.Hidden {
				t.Errorf("%s --%s: the help has %d characters, and may have 100: %s", c.CommandPath(), f.Name, n, text)
			}
		})
	})
}

// TestManPages: every command has a manual page with its flags.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	if _, code, err := run(t, "man", dir); code != exitDone {
		t.Fatal(err)
	}
	eachCommand(newRootCommand(), func(c *cobra.Command) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(string(page), roff("--"+f.Name)) && !f.Hidden {
				t.Errorf("the page of %s has no --%s", c.CommandPath(), f.Name)
			}
		})
	})
}

// TestQuietAndJSON: every command that changes something has --quiet and --json, which print nothing
// and one document.
func TestQuietAndJSON(t *testing.T) {
	out := seaArchive(t)
	dir := filepath.Dir(out)
	var history []struct{ Snapshot string }
	if text, _, err := run(t, "history", out, "--json"); err != nil || json.Unmarshal([]byte(text), &history) != nil || len(history) == 0 {
		t.Fatalf("history prints %q, %v", text, err)
	}
	for _, line := range []string{
		"build DIR/new.varve DIR/sea.nc --force", "append OUT DIR/sea.nc --skip-known",
		"verify OUT", "gc OUT", "compact OUT", "export kerchunk OUT DIR/k.json --force", "export table OUT DIR/t.parquet --force",
		"export zarr OUT DIR/z --force", "export icechunk OUT DIR/ice", "scan DIR/sea.nc -o DIR/part.parquet",
		"restore OUT FIRST",
	} {
		args := strings.Fields(strings.NewReplacer("OUT", out, "DIR", dir, "FIRST", history[len(history)-1].Snapshot).Replace(line))
		if text, code, err := run(t, append(args, "--quiet")...); code != exitDone || text != "" {
			t.Errorf("%s --quiet: exit code %d, %v, prints %q", line, code, err, text)
		}
		text, code, err := run(t, append(args, "--json", "--quiet")...)
		var doc map[string]any
		if code != exitDone || json.Unmarshal([]byte(text), &doc) != nil {
			t.Errorf("%s --json: exit code %d, %v, prints %q", line, code, err, text)
		}
		for name, value := range doc {
			if value == nil && name != "snapshot" { // compact without anything to do makes no snapshot
				t.Errorf("%s --json: %s is null; an empty list has to be []", line, name)
			}
		}
	}
}

// TestInfoAsDataset: info prints dimensions, coordinates with range and units, and variables.
func TestInfoAsDataset(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	if out, _, err := run(t, "demo", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, _, err := run(t, "info", filepath.Join(dir, "t2m.varve"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"Dimensions:  lat = 6, lon = 8, time = 90\n",
		"  * time  (time) float64  2021-01-01 … 2021-03-31\n          units: days since 2021-01-01\n",
		"  * lat   (lat) float64  45 … 55\n",
		"    t2m   (time, lat, lon) float32\n          long_name: 2 metre temperature\n",
		"Attributes:\n    title: Daily mean temperature\n",
		"Storage:\n/lat  (lat: 6)  float64\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("info does not print %q:\n%s", line, text)
		}
	}
}

// TestMissingSources: sources in a folder that was moved are reported in one line, with the remedy.
func TestMissingSources(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	if out, _, err := run(t, "demo", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, out := filepath.Join(dir, "files"), filepath.Join(dir, "t2m.varve")
	if err := os.Rename(files, filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	_, code, err := run(t, "verify", out)
	want := fmt.Sprintf("3 of 3 sources are missing (the folder %s does not exist). Moved? varve relocate %s %s NEW", files, out, files)
	if code != exitSource || fmt.Sprint(err) != want {
		t.Errorf("exit code %d, %v; want %s", code, err, want)
	}
	if text, code, err := run(t, "relocate", out, files, filepath.Join(dir, "moved"), "--json"); code != exitDone || !strings.Contains(text, `"sources": 3`) {
		t.Errorf("relocate: exit code %d, %v\n%s", code, err, text)
	}
	if err := os.Rename(filepath.Join(dir, "moved"), files); err != nil {
		t.Fatal(err)
	}
	if text, code, err := run(t, "relocate", out, filepath.Join(dir, "moved"), files, "--quiet"); code != exitDone || text != "" {
		t.Errorf("relocate --quiet: exit code %d, %v, prints %q", code, err, text)
	}
}

// TestCompletions: arrays, dimensions, snapshots and option values are completed.
func TestCompletions(t *testing.T) {
	out := seaArchive(t)
	for line, want := range map[string]string{
		"read OUT |":             "/sst\n",
		"read OUT sst --isel |":  "time=\n",
		"restore OUT |":          "\tbuild\n",
		"check x.nc --missing |": "refuse\n",
		"check x.nc --overlap |": "last\n",
		"explain |":              "units-differ\n",
		"export zarr --format |": "2\n",
		"serve --log-format |":   "json\n",
		"scan --grib-index |":    "require\n",
	} {
		args := []string{"__complete"}
		for _, word := range strings.Fields(strings.ReplaceAll(line, "OUT", out)) {
			args = append(args, strings.TrimSuffix(word, "|"))
		}
		if text, _, err := run(t, args...); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v\n%s; want %q", line, err, text, want)
		}
	}
}

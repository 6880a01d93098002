package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages for man(1)",
		Long: `Write a manual page for each command into the folder DIR, which is created if it does not exist.
The pages have the same text as --help.`,
		Example: `  varve man ~/.local/share/man/man1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkLocal(args[0]); err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return ownError{err}
			}
			return writeManPages(args[0], c.Root())
		},
	}
}

// writeManPages writes the pages of a command and of its subcommands.
func writeManPages(dir string, c *cobra.Command) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	err := writeWhole(filepath.Join(dir, name), func(w io.Writer) error {
		_, err := io.WriteString(w, manPage(c))
		return err
	})
	if err != nil {
		return ownError{err}
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := writeManPages(dir, sub); err != nil {
			return err
		}
	}
	return nil
}

// manPage returns the manual page of a command in the man macros of roff.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	title := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"varve %s\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(title), roff(versionName()), roff(title), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n.SH DESCRIPTION\n%s", roff(c.UseLine()), roffBlock(c.Long))
	section := func(heading string, flags *pflag.FlagSet) {
		if !flags.HasAvailableFlags() {
			return
		}
		fmt.Fprintf(&b, ".SH %s\n", heading)
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(flagForm(f)), roff(flagHelp(f)))
			}
		})
	}
	section("OPTIONS", c.NonInheritedFlags())
	section("GLOBAL OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n%s", roffBlock(c.Example))
	}
	var also []string
	if c.HasParent() {
		also = append(also, c.Parent().CommandPath())
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			also = append(also, sub.CommandPath())
		}
	}
	for i, path := range also {
		also[i] = fmt.Sprintf("\\fB%s\\fR(1)", roff(strings.ReplaceAll(path, " ", "-")))
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	}
	return b.String()
}

// flagForm returns how a flag is written, for example "-o, --output file".
func flagForm(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	form := "--" + f.Name
	if f.Shorthand != "" {
		form = "-" + f.Shorthand + ", " + form
	}
	if value != "" {
		form += " " + value
	}
	return form
}

// flagHelp returns the help of a flag with its default, unless that is empty or in the help.
func flagHelp(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "false", "[]", "0":
		return text
	}
	if strings.Contains(text, "(default") {
		return text
	}
	return fmt.Sprintf("%s (default %s)", text, f.DefValue)
}

// roff escapes a line of text.
func roff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "-", `\-`)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text // a dot or an apostrophe would begin a macro
	}
	return text
}

// roffBlock returns lines of text. Indented lines keep their form.
func roffBlock(text string) string {
	var b strings.Builder
	fixed := false
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !fixed:
			b.WriteString(".nf\n")
		case !indented && fixed:
			b.WriteString(".fi\n")
		}
		fixed = indented
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	if fixed {
		b.WriteString(".fi\n")
	}
	return b.String()
}

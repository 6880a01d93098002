package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// didYouMean returns " Did you mean …?" for the names that are most similar to a wrong one, or ""
// if none is similar.
func didYouMean(wrong string, names []string) string {
	near := nearest(wrong, names)
	if len(near) == 0 {
		return ""
	}
	for i, name := range near {
		near[i] = strconv.Quote(name)
	}
	return fmt.Sprintf(" Did you mean %s?", strings.Join(near, " or "))
}

// nearest returns the names with the smallest edit distance to a wrong one. At most a third
// of the letters may differ, and at least one: "biuld" is near "build".
func nearest(wrong string, names []string) (near []string) {
	least := max(len(wrong)/3, 1)
	if len(wrong) > 4 {
		// A swap of two letters, the most frequent mistake, counts as two edits.
		least = max(least, 2)
	}
	for _, name := range names {
		switch n := distance(wrong, name); {
		case n > least:
		case n < least:
			near, least = []string{name}, n
		default:
			near = append(near, name)
		}
	}
	return near
}

// distance returns the Levenshtein distance of two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// commandNames returns the names of the subcommands that the help lists.
func commandNames(of *cobra.Command) (names []string) {
	for _, c := range of.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	return names
}

// flagError rewords an error of pflag: it names similar flags, and drops Go's own error texts.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		name := unknown.GetSpecifiedName()
		hint := ""
		if near := nearest(name, flagNames(c.Flags())); len(near) > 0 {
			hint = " Did you mean --" + strings.Join(near, " or --") + "?"
		}
		return usageError{fmt.Errorf("unknown flag --%s.%s See %s --help", name, hint, c.CommandPath())}
	case errors.As(err, &wrong):
		err = fmt.Errorf("--%s %s: %w", wrong.GetFlag().Name, wrong.GetValue(), wanted(wrong))
	}
	return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
}

// wanted returns the error of a wrong value of a flag.
func wanted(e *pflag.InvalidValueError) error {
	switch e.GetFlag().Value.Type() {
	case "float64":
		return errors.New("want a number")
	case "bool":
		return errors.New("want true or false")
	case "duration":
		return errors.New("want a duration, such as 30s or 5m")
	}
	return e.Unwrap()
}

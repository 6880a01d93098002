package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/manifest/plan"
)

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
		if near := plan.Nearest(name, flagNames(c.Flags())); len(near) > 0 {
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

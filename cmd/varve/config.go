package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"varve/manifest/plan"
	"varve/manifest/report"
)

// takeFiles sets flags from the YAML file of --config, and then from the recipe of --recipe.
func (o *combineOptions) takeFiles(cmd *cobra.Command) error {
	if err := o.takeConfig(cmd); err != nil {
		return err
	}
	return o.takeRecipe(cmd)
}

// takeConfig sets flags from the YAML file of --config. Flags of the command line take precedence.
func (o *combineOptions) takeConfig(cmd *cobra.Command) error {
	if o.config == "" {
		return nil
	}
	text, err := os.ReadFile(o.config)
	if err != nil {
		return usageError{fmt.Errorf("--config: %w", err)}
	}
	var values map[string]yaml.Node
	if err := yaml.Unmarshal(text, &values); err != nil {
		return usageError{fmt.Errorf("%s: %w", o.config, err)}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, before := values[name], cmd.Flags().Changed(name)
		if err := setFlag(cmd.Flags(), name, &value); err != nil {
			return usageError{fmt.Errorf("%s: line %d: %s: %w", o.config, value.Line, name, err)}
		}
		if option := report.Option(name); !before && (option == report.Vars || option == report.Drop) {
			o.mayMatchNothing(option, map[report.Option][]string{report.Vars: o.vars, report.Drop: o.drop}[option])
		}
	}
	return useAccess(cmd)
}

// mayMatchNothing notes patterns of a file of options, which may be for several archives: they need not match anything.
func (o *combineOptions) mayMatchNothing(option report.Option, patterns []string) {
	for _, pattern := range patterns {
		o.optional = append(o.optional, report.Setting{Option: option, Value: pattern})
	}
}

// setFlag sets a flag to the text of a YAML value. It does not use the value itself: in YAML, 010 is
// eight and 2020-01-01 is a time.
func setFlag(flags *pflag.FlagSet, name string, value *yaml.Node) error {
	flag := flags.Lookup(name)
	if flag == nil || name == "config" || name == "help" {
		return fmt.Errorf("unknown option.%s", plan.DidYouMean(name, flagNames(flags)))
	}
	if flag.Changed {
		return nil
	}
	items := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		if _, takesMany := flag.Value.(pflag.SliceValue); !takesMany {
			return errors.New("want one value")
		}
		items = value.Content
	}
	for _, item := range items {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return errors.New("want a value, or a list of values")
		}
		if err := flag.Value.Set(item.Value); err != nil {
			return err
		}
	}
	flag.Changed = len(items) > 0
	return nil
}

// flagNames returns the names of all flags.
func flagNames(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

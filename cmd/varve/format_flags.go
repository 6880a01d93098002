package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"varve/manifest/plan"
	"varve/readers"
	"varve/readers/formats"
)

// formatFlags are the flags of the options of formats, in the order of formats.Options.
type formatFlags []*pflag.Flag

// addTo declares the flags.
func (l *formatFlags) addTo(f *pflag.FlagSet) {
	for _, o := range formats.Options() {
		help := o.Help
		switch o.Kind {
		case readers.OptionSwitch:
			f.Bool(o.Name, o.DefaultValue().(bool), help)
		case readers.OptionFiles:
			f.StringArray(o.Name, nil, help)
		case readers.OptionNumber:
			f.Float64(o.Name, o.DefaultValue().(float64), help)
		case readers.OptionWord:
			f.String(o.Name, "", fmt.Sprintf("%s (default %s)", help, o.DefaultValue()))
		default:
			f.String(o.Name, o.DefaultValue().(string), help)
		}
		*l = append(*l, f.Lookup(o.Name))
	}
}

// set takes the values of the flags that have one.
func (l formatFlags) set(to *plan.Options) error {
	options := formats.Options()
	for i, flag := range l {
		o := &options[i]
		if !flag.Changed || o.Kind == readers.OptionWord && flag.Value.String() == "" {
			continue
		}
		words := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			words = list.GetSlice()
		}
		value, err := o.Parse(words...)
		if err != nil {
			return fmt.Errorf("--%s %s: %w", o.Name, flag.Value, err)
		}
		if to.Formats == nil {
			to.Formats = readers.Settings{}
		}
		to.Formats[o.Name] = value
	}
	return nil
}

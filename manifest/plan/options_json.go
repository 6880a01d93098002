package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"varve/manifest/report"
	"varve/readers"
	"varve/readers/formats"
)

// plain has the fields of Options, without their methods.
type plain Options

// MarshalJSON writes the options as a snapshot stores them. Of the options of formats it has those that are stored and differ from
// their defaults: some have keys beside the fields, because earlier versions read them there, and others are in Formats.
func (o Options) MarshalJSON() ([]byte, error) {
	own, nested := readers.Settings{}, maps.Clone(o.Formats)
	for _, option := range formats.Options() {
		value, err := option.Value(o.Formats)
		if err != nil {
			return nil, err
		}
		switch {
		case option.Scope == readers.ForCommand || reflect.DeepEqual(value, option.DefaultValue()):
			delete(nested, option.Name)
		case option.Key != "":
			delete(nested, option.Name)
			own[option.Key] = value
		default:
			nested[option.Name] = value
		}
	}
	o.Formats = nested
	text, err := json.Marshal(plain(o))
	if err != nil || len(own) == 0 {
		return text, err
	}
	first, err := json.Marshal(own)
	if err != nil || string(text) == "{}" {
		return first, err
	}
	return append(append(first[:len(first)-1], ','), text[1:]...), nil
}

// UnmarshalJSON reads the options of a snapshot. The files that are added now may lack what Vars, Drop and Flip name, so
// these may match nothing: see IsOptional.
func (o *Options) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*plain)(o)); err != nil {
		return err
	}
	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		return err
	}
	for _, option := range formats.Options() {
		if value, ok := keys[option.Key]; ok && option.Key != "" {
			if o.Formats == nil {
				o.Formats = readers.Settings{}
			}
			o.Formats[option.Name] = value
		}
	}
	o.stored = nil
	for _, glob := range o.Vars {
		o.stored = append(o.stored, report.Setting{Option: report.Vars, Value: glob})
	}
	for _, glob := range o.Drop {
		o.stored = append(o.stored, report.Setting{Option: report.Drop, Value: glob})
	}
	for dim := range o.Flip {
		o.stored = append(o.stored, report.Setting{Option: report.Flip, Value: dim})
	}
	return nil
}

// RevisedFormats returns the options of formats for files that are added to a manifest with the options built: those that the
// manifest stores, and those of o. The error is an *OptionError if o has another value where all files of a manifest need the same.
func (o *Options) RevisedFormats(built *Options) (readers.Settings, error) {
	out := maps.Clone(built.Formats)
	if out == nil {
		out = readers.Settings{}
	}
	for _, option := range formats.Options() {
		if _, isSet := o.Formats[option.Name]; !isSet {
			continue
		}
		asked, err := option.Value(o.Formats)
		if err != nil {
			return nil, optionError(report.Option(option.Name), fmt.Sprint(o.Formats[option.Name]), err.Error())
		}
		was, err := option.Value(built.Formats)
		if err == nil && option.Scope == readers.ForManifest && !reflect.DeepEqual(asked, was) {
			return nil, optionError(report.Option(option.Name), fmt.Sprint(asked), fmt.Sprintf("the manifest was built with %s=%v; build it again to change that", option.Name, was))
		}
		out[option.Name] = asked
	}
	return out, (&Options{Formats: out}).checkFormats()
}

// checkFormats returns the errors of options of formats.
func (o *Options) checkFormats() error {
	var errs []error
	for _, e := range formats.CheckSettings(o.Formats) {
		errs = append(errs, optionError(report.Option(e.Option), fmt.Sprint(e.Value), e.Says))
	}
	return errors.Join(errs...)
}

package readers

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Option is an option of a format. The flags of commands, the keys of configuration files, the options of the library and the
// stored options of a manifest follow from it.
type Option struct {
	// Name has lower-case letters, digits and dashes, such as "grib-times". It is also the name of the flag.
	Name  string
	Kind  OptionKind
	Words []string // of OptionWord: the values; the first one is the default
	// Default is the value if none is set. nil means the first of Words, or the zero value of the kind.
	Default any
	// Check returns an error for a text, or for a name of OptionFiles, that the option does not allow. It may be nil, and is not
	// asked about an empty text.
	Check func(text string) error
	// Place returns the folder or prefix in a text, or in a name of OptionFiles, to which sources may refer, because the user named
	// it: see Config.Allow. nil means that there is none.
	Place func(text string) string
	// Help is a text for the flag. A word in backquotes is the placeholder of its value.
	Help  string
	Scope OptionScope
	// Key is the name in the stored options of a manifest, if it is not Name. Versions of varve that know it read it there.
	Key string
}

// OptionKind is the type of an option's value.
type OptionKind uint8

// The kinds of options.
const (
	OptionWord   OptionKind = iota // string, one of Option.Words
	OptionSwitch                   // bool
	OptionNumber                   // float64
	OptionText                     // string
	OptionFiles                    // []string, names of files
)

// OptionScope says for how long a value is valid.
type OptionScope uint8

// The scopes of options.
const (
	ForCommand  OptionScope = iota // one command: the value is not stored
	ForManifest                    // stored: a later command that sets another is refused
)

// Settings are values of options, by their names: string, bool, float64 (or int) and []string.
type Settings map[string]any

// DefaultValue returns the value of the option if none is set.
func (o *Option) DefaultValue() any {
	if o.Default != nil {
		return o.Default
	}
	switch o.Kind {
	case OptionSwitch:
		return false
	case OptionNumber:
		return 0.0
	case OptionFiles:
		return []string(nil)
	case OptionWord:
		if len(o.Words) > 0 {
			return o.Words[0]
		}
	}
	return ""
}

// Value returns the value of the option in settings, or its default. The error says which values the option has.
func (o *Option) Value(s Settings) (any, error) {
	given, ok := s[o.Name]
	if !ok || given == nil {
		return o.DefaultValue(), nil
	}
	switch v := given.(type) {
	case string:
		if o.Kind == OptionWord && v == "" {
			v, _ = o.DefaultValue().(string)
		}
		if o.Kind == OptionText && v != "" && o.Check != nil {
			if err := o.Check(v); err != nil {
				return nil, err
			}
		}
		if o.Kind == OptionText || o.Kind == OptionWord && slices.Contains(o.Words, v) {
			return v, nil
		}
	case bool:
		if o.Kind == OptionSwitch {
			return v, nil
		}
	case int:
		if o.Kind == OptionNumber {
			return float64(v), nil
		}
	case float64:
		// JSON, in which manifests store options, has no infinities and no NaN.
		if o.Kind == OptionNumber && !math.IsInf(v, 0) && !math.IsNaN(v) {
			return v, nil
		}
	case []string:
		if o.Kind == OptionFiles {
			return v, o.checkAll(v)
		}
	case []any: // from JSON
		if o.Kind == OptionFiles {
			return o.files(v)
		}
	}
	return nil, o.wantError()
}

// checkAll returns the first error of Check.
func (o *Option) checkAll(names []string) error {
	for _, name := range names {
		if o.Check != nil {
			if err := o.Check(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Places returns the folders and prefixes in the value of the option in settings: see Option.Place.
func (o *Option) Places(s Settings) (places []string) {
	if o.Place == nil {
		return nil
	}
	texts := s.Files(o.Name)
	if word := s.Word(o.Name); word != "" {
		texts = []string{word}
	}
	for _, text := range texts {
		places = append(places, o.Place(text))
	}
	return places
}

func (o *Option) files(list []any) (any, error) {
	names := make([]string, len(list))
	for i, v := range list {
		name, isText := v.(string)
		if !isText {
			return nil, o.wantError()
		}
		names[i] = name
	}
	return names, nil
}

func (o *Option) wantError() error { return fmt.Errorf("want %s", o.wants()) }

// wants says which values the option has.
func (o *Option) wants() string {
	switch o.Kind {
	case OptionWord:
		return strings.Join(o.Words, " or ") + ", or nothing"
	case OptionSwitch:
		return "true or false"
	case OptionNumber:
		return "a finite number"
	case OptionFiles:
		return "a list of texts"
	}
	return "a text"
}

// Parse returns the value that texts of a command line set.
func (o *Option) Parse(words ...string) (any, error) {
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	var value any = last
	var err error
	switch o.Kind {
	case OptionFiles:
		value = words
	case OptionSwitch:
		value, err = strconv.ParseBool(last)
	case OptionNumber:
		value, err = strconv.ParseFloat(last, 64)
	}
	if err != nil {
		return nil, o.wantError()
	}
	return o.Value(Settings{o.Name: value})
}

// Word returns the value of an option of texts or words, or "" if it is not set.
func (s Settings) Word(name string) string { v, _ := s[name].(string); return v }

// Switch returns the value of a switch, or false if it is not set.
func (s Settings) Switch(name string) bool { v, _ := s[name].(bool); return v }

// Number returns the value of an option of numbers, or 0 if it is not set.
func (s Settings) Number(name string) float64 { v, _ := s[name].(float64); return v }

// Files returns the value of an option of names of files, or nil if it is not set.
func (s Settings) Files(name string) []string { v, _ := s[name].([]string); return v }

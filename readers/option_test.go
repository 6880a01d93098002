package readers

import (
	"math"
	"reflect"
	"testing"
)

// TestOptionValue lists values that options take, and those that they refuse (want nil).
func TestOptionValue(t *testing.T) {
	for _, c := range []struct {
		option      Option
		given, want any
	}{
		{Option{Words: []string{"a", "b"}}, "b", "b"},
		{Option{Words: []string{"a", "b"}}, "", "a"},
		{Option{Words: []string{"a", "b"}}, "c", nil},
		{Option{Kind: OptionSwitch}, true, true},
		{Option{Kind: OptionSwitch}, "true", nil},
		{Option{Kind: OptionNumber}, 2, 2.0},
		{Option{Kind: OptionNumber}, 2.5, 2.5},
		{Option{Kind: OptionNumber}, math.NaN(), nil},
		{Option{Kind: OptionNumber}, math.Inf(-1), nil},
		{Option{Kind: OptionNumber}, true, nil},
		{Option{Kind: OptionText}, "", ""},
		{Option{Kind: OptionText}, 1.0, nil},
		{Option{Kind: OptionFiles}, []string{"a"}, []string{"a"}},
		{Option{Kind: OptionFiles}, []any{"a", "b"}, []string{"a", "b"}},
		{Option{Kind: OptionFiles}, []any{"a", 1.0}, nil},
		{Option{Kind: OptionFiles}, "a", nil},
	} {
		c.option.Name = "x"
		got, err := c.option.Value(Settings{"x": c.given})
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("kind %d, %#v: got %#v, %v", c.option.Kind, c.given, got, err)
		}
	}
	for _, word := range []string{"NaN", "inf", "1e999", "x"} {
		if got, err := (&Option{Name: "x", Kind: OptionNumber}).Parse(word); err == nil {
			t.Errorf("%s: got %v", word, got)
		}
	}
}

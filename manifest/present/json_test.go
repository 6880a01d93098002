package present

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"varve/fixtures/classic"
)

// TestJSONAttributes checks which attributes JSON has beside decoded and stored numbers: those of packed numbers are wrong for
// decoded ones.
func TestJSONAttributes(t *testing.T) {
	files := threeMonths(t, "standard")
	for f := range files {
		files[f].Vars[4].Attributes = append(files[f].Vars[4].Attributes, classic.Attribute{Name: "valid_range", Value: []int16{0, 4000}})
	}
	st := built(t, files)
	format, _ := FormatOf("json")
	for decode, want := range map[bool][]string{
		false: {"add_offset", "coordinates", "long_name", "scale_factor", "units", "valid_range"},
		true:  {"coordinates", "long_name", "units"},
	} {
		_, err := format.Output(t.Context(), st, decode, selected(t, st, "/sst", []string{"time=0", "lat=0"}, nil), Whole(arrayOf(t, st, "/flags")))
		if !errors.Is(err, errors.ErrUnsupported) { // lat is 1 and 3 elements long
			t.Errorf("two lengths of lat: %v", err)
		}
		o, err := format.Output(t.Context(), st, decode, selected(t, st, "/sst", []string{"time=0"}, nil), Whole(arrayOf(t, st, "/flags")))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := o.Write(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Vars map[string]struct {
				Attrs map[string]any `json:"attrs"`
			} `json:"data_vars"`
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range got.Vars["sst"].Attrs {
			names = append(names, name)
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("decode %v: %q", decode, names)
		}
		if masks, ok := got.Vars["flags"].Attrs["flag_masks"].([]any); !ok || len(masks) != 3 {
			t.Errorf("decode %v: flags are not packed, and keep flag_masks: %v", decode, got.Vars["flags"].Attrs)
		}
	}
}

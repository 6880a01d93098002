package plan

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"varve/readers"
	"varve/readers/formats"
)

// TestFormatsJSON: options of formats are stored under the keys of earlier versions, others in Formats. Defaults, and options of one
// command, are not stored.
func TestFormatsJSON(t *testing.T) {
	registerKinds(t)
	for _, c := range []struct {
		settings readers.Settings
		want     string
	}{
		{nil, `{}`},
		{readers.Settings{"names": "cf", "keep-shards": false, "grib-index": "require", "grib-template": []string{"x"}}, `{}`},
		{readers.Settings{"names": "eccodes"}, `{"Names":"eccodes"}`},
		{readers.Settings{"grib-times": "valid", "keep-shards": true}, `{"GRIBTimes":"valid","KeepShards":true}`},
		{readers.Settings{"kinds-word": "b", "kinds-switch": true}, `{"Formats":{"kinds-switch":true,"kinds-word":"b"}}`},
		{readers.Settings{"kinds-word": "", "kinds-number": 1, "kinds-text": ""}, `{}`},
		{readers.Settings{"kinds-number": 2, "kinds-text": "c"}, `{"Formats":{"kinds-number":2,"kinds-text":"c"}}`},
		{readers.Settings{"kinds-files": []string{"d", "e"}}, `{"Formats":{"kinds-files":["d","e"]}}`},
		{readers.Settings{"of-another-program": 1.5}, `{"Formats":{"of-another-program":1.5}}`},
	} {
		text, err := json.Marshal(Options{Formats: c.settings})
		if string(text) != c.want || err != nil {
			t.Errorf("%v: got %s, %v", c.settings, text, err)
		}
		var back Options
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(&back); string(again) != c.want || err != nil {
			t.Errorf("%s became %s, %v", text, again, err)
		}
		for _, option := range formats.Options() {
			if option.Scope == readers.ForCommand {
				continue
			}
			was, err := option.Value(c.settings)
			is, later := option.Value(back.Formats)
			if !reflect.DeepEqual(is, was) || errors.Join(err, later) != nil {
				t.Errorf("%s: %s is %v, not %v: %v, %v", text, option.Name, is, was, err, later)
			}
		}
	}
	text, err := json.Marshal(Options{Group: "a", Formats: readers.Settings{"names": "wgrib2"}})
	if want := `{"Names":"wgrib2","Group":"a"}`; string(text) != want || err != nil {
		t.Errorf("got %s, %v", text, err)
	}
}

// registerKinds registers a format with a stored option of each kind.
func registerKinds(t *testing.T) {
	t.Helper()
	kinds := readers.Format{Name: "Kinds", Magic: []readers.Magic{{Bytes: "KINDS"}}, New: func(*readers.Config) readers.Reader { return nil }}
	for _, o := range []readers.Option{
		{Name: "kinds-word", Kind: readers.OptionWord, Words: []string{"a", "b"}},
		{Name: "kinds-switch", Kind: readers.OptionSwitch},
		{Name: "kinds-number", Kind: readers.OptionNumber, Default: 1.0},
		{Name: "kinds-text", Kind: readers.OptionText},
		{Name: "kinds-files", Kind: readers.OptionFiles},
	} {
		o.Scope, o.Help = readers.ForManifest, "an option"
		kinds.Options = append(kinds.Options, o)
	}
	if err := formats.Register(kinds); err != nil {
		t.Fatal(err)
	}
}

// TestRevisedFormats: an append has the stored options, and its own where files may differ.
func TestRevisedFormats(t *testing.T) {
	built := &Options{Formats: readers.Settings{"names": "eccodes", "keep-shards": true}}
	for _, c := range []struct {
		asked readers.Settings
		isOK  bool
	}{
		{nil, true},
		{readers.Settings{"names": "eccodes"}, true},
		{readers.Settings{"grib-index": "ignore"}, true},
		{readers.Settings{"names": "cf"}, false},
		{readers.Settings{"grib-times": "valid"}, false},
		{readers.Settings{"keep-shards": false}, false},
		{readers.Settings{"grib-index": "never"}, false},
		{readers.Settings{"unknown": true}, false},
	} {
		opts := &Options{Formats: c.asked}
		got, err := opts.RevisedFormats(built)
		err = errors.Join(err, opts.Check())
		var invalid *OptionError
		if (err == nil) != c.isOK || !c.isOK && !errors.As(err, &invalid) {
			t.Errorf("%v: got %v", c.asked, err)
		}
		if c.isOK && (got.Word("names") != "eccodes" || !got.Switch("keep-shards") || got.Word("grib-index") != c.asked.Word("grib-index")) {
			t.Errorf("%v: got %v", c.asked, got)
		}
	}
	// The manifest has an option of a format that this program does not have.
	built.Formats["other-level"] = 2.0
	if got, err := new(Options).RevisedFormats(built); err == nil {
		t.Errorf("got %v", got)
	}
}

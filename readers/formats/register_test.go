package formats_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/formats"
	"varve/readers/readertest"
	"varve/readers/source"
)

// level is a format of the tests: a file of 8 bytes, its magic at offset 4. The dataset has the settings in its name.
type level struct{ settings readers.Settings }

func (l level) Open(_ context.Context, src *source.Source) (*readers.Dataset, error) {
	return &readers.Dataset{Source: src, Format: "LVL " + l.settings.Word("lvl-kind"), Root: &readers.Group{Path: "/"}}, nil
}

func levels() readers.Format {
	return readers.Format{
		Name: "LVL", Magic: []readers.Magic{{Bytes: "LEVELS"}, {At: 4, Bytes: "LVL1"}}, Suffixes: []string{".lvl"},
		Sidecar: func(name string) []string {
			if stem, found := strings.CutSuffix(name, ".lvx"); found {
				return []string{stem}
			}
			return nil
		},
		Options: []readers.Option{
			{Name: "lvl-kind", Words: []string{"plain", "deep"}, Help: "a kind", Scope: readers.ForManifest},
			{Name: "lvl-scale", Kind: readers.OptionNumber, Default: 2.5, Help: "a scale"},
		},
		New: func(c *readers.Config) readers.Reader { return level{c.Settings} },
	}
}

// TestRegister registers a format once, and lists what cannot be registered.
func TestRegister(t *testing.T) {
	for name, change := range map[string]func(*readers.Format){
		"no name":               func(f *readers.Format) { f.Name = "" },
		"a blank":               func(f *readers.Format) { f.Name = "L V" },
		"a name of varve":       func(f *readers.Format) { f.Name = "hdf5"; f.Options = nil },
		"no reader":             func(f *readers.Format) { f.New = nil },
		"no magic":              func(f *readers.Format) { f.Magic = nil },
		"empty magic":           func(f *readers.Format) { f.Magic[0].Bytes = "" },
		"magic before the file": func(f *readers.Format) { f.Magic[1].At = -1 },
		"an option of varve":    func(f *readers.Format) { f.Options[0].Name = "names" },
		"an option twice":       func(f *readers.Format) { f.Options[1].Name = "lvl-kind" },
		"an empty alias":        func(f *readers.Format) { f.Aliases = []string{""} },
		"an alias of varve":     func(f *readers.Format) { f.Aliases = []string{"netCDF-3 64-bit"} },
		"a longer alias":        func(f *readers.Format) { f.Aliases = []string{"zarr of levels"} },
		"a key":                 func(f *readers.Format) { f.Options[0].Key = "Vars" },
		"a known option":        func(f *readers.Format) { f.Name, f.Options = "Keep", f.Options[:1]; f.Options[0].Name = "keep-shards" },
		"no words":              func(f *readers.Format) { f.Options[0].Words = nil },
		"a wrong default":       func(f *readers.Format) { f.Options[1].Default = "2.5" },
	} {
		f := levels()
		change(&f)
		if err := formats.Register(f); err == nil {
			t.Errorf("%s: the format was registered", name)
		}
	}
	if err := formats.Register(levels()); err != nil {
		t.Fatal(err)
	}
	if err := formats.Register(levels()); err == nil {
		t.Error("the format was registered twice")
	}
	open := func(text string, settings readers.Settings) (string, error) {
		src := source.New("x", &readertest.Memory{Data: []byte(text)})
		data, err := formats.Open(t.Context(), src, &readers.Config{Settings: settings})
		if err != nil {
			return "", err
		}
		return data.Format, nil
	}
	for text, isLevel := range map[string]bool{"....LVL1": true, "LEVELS": true, "...LVL1": false, "LEVEL": false, "....LVL2": false} {
		if got, err := open(text, nil); (err == nil) != isLevel || isLevel && got != "LVL plain" {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	if got, err := open("LEVELS", readers.Settings{"lvl-kind": "deep", "grib-times": "valid"}); got != "LVL deep" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, wrong := range []readers.Settings{{"lvl-kind": "wide"}, {"lvl-kind": true}, {"lvl-scale": "3"}, {"lvl-none": 1.0}} {
		if got, err := open("LEVELS", wrong); err == nil {
			t.Errorf("%v: got %q", wrong, got)
		}
	}
	longer := levels()
	longer.Name, longer.Options = "LVLX", nil
	if err := formats.Register(longer); err != nil {
		t.Error(err)
	}
	for format, want := range map[string]string{"LVL": "LVL", "LVLX": "LVLX", "LVLX 2": "LVLX", "HDF5X": "", "netCDF-3 64-bit offset": "netCDF-3", "GRIB 1 and 2": "GRIB"} {
		if got := formats.Named(format).Name; got != want {
			t.Errorf("%s is of the format %q, not %q", format, got, want)
		}
	}
	if formats.Named("LVL deep").Name != "LVL" || formats.Named("LV").Name != "" {
		t.Error("the format has another name")
	}
	if got := formats.SourcesOf("a/x.lvx"); !slices.Equal(got[:3], []string{"a/x", "a/x.lvl", "a/x.LVL"}) {
		t.Errorf("a sidecar of %q", got)
	}
}

// TestOwnAttributes: own attributes of a registered format are removed from its sources only.
func TestOwnAttributes(t *testing.T) {
	if err := formats.Register(readers.Format{Name: "Own", Magic: []readers.Magic{{Bytes: "OWNATTR"}}, OwnAttributes: []string{"title"},
		New: func(*readers.Config) readers.Reader { return titled{} }}); err != nil {
		t.Fatal(err)
	}
	data, err := formats.Open(t.Context(), source.New("x", &readertest.Memory{Data: []byte("OWNATTR")}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]readers.Attribute{data.Root.Attributes, data.Root.Variables[0].Attributes} {
		if len(list) != 1 || list[0].Name != "units" {
			t.Errorf("the attributes are %v", list)
		}
	}
	if formats.IsOwnAttribute("title") || !formats.IsOwnAttribute("DIMENSION_LIST") {
		t.Error("the attributes of other formats changed")
	}
}

// titled is a format whose group and variable have a title and units.
type titled struct{}

func (titled) Open(_ context.Context, src *source.Source) (*readers.Dataset, error) {
	list := []readers.Attribute{{Name: "title"}, {Name: "units"}}
	v := &readers.Variable{Name: "v", Path: "/v", Attributes: list}
	return &readers.Dataset{Source: src, Format: "Own", Root: &readers.Group{Path: "/", Attributes: list, Variables: []*readers.Variable{v}}}, nil
}

// TestFailingFolder: a folder that a registered format cannot read is still recognized.
func TestFailingFolder(t *testing.T) {
	if err := formats.Register(readers.Format{Name: "Fails", New: func(*readers.Config) readers.Reader { return titled{} },
		Detect: func(_ context.Context, src *source.Source) (bool, error) {
			if src.IsFolder() && strings.HasSuffix(src.Name(), "failing") {
				return false, io.ErrUnexpectedEOF
			}
			return false, nil
		}}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{`{"n5": "2.0.0"}`: true, "{}": false} {
		dir := filepath.Join(t.TempDir(), "failing")
		if err := errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(filepath.Join(dir, "attributes.json"), []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
		folder, err := source.OpenFolder(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if is := formats.IsStore(t.Context(), folder); is != want {
			t.Errorf("%s: a store: %v", text, is)
		}
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOptionsOfFormats checks the options of all formats of varve.
func TestOptionsOfFormats(t *testing.T) {
	for _, o := range formats.Options() {
		if v, err := o.Value(nil); err != nil || v == nil {
			t.Errorf("%s: %v, %v", o.Name, v, err)
		}
	}
	for _, c := range []struct {
		option string
		words  []string
		want   any
	}{
		{"grib-times", []string{"valid"}, "valid"},
		{"grib-template", []string{"a", "b"}, 2},
		{"keep-shards", []string{"true"}, true},
		{"keep-shards", []string{"perhaps"}, nil},
		{"names", []string{"any"}, nil},
	} {
		for _, o := range formats.Options() {
			if o.Name != c.option {
				continue
			}
			got, err := o.Parse(c.words...)
			if list, ok := got.([]string); ok {
				got = len(list)
			}
			if got != c.want || (err == nil) != (c.want != nil) {
				t.Errorf("%s %q: got %v, %v", c.option, c.words, got, err)
			}
		}
	}
}

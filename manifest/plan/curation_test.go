package plan

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestParseCuration reads each part of a curation file.
func TestParseCuration(t *testing.T) {
	c, err := ParseCuration([]byte(`
attributes: {title: "Sea: surface", history: null, version: 2, old: 010, date: 2020-01-01, nan: .nan}
coordinates: [lat2d]
dimensions: {y: lat}
groups: {model/: {attributes: {members: [1, 2.5]}}}
variables:
  t2m: {rename: temperature, units: K, attributes: {standard_name: air_temperature}, coordinates: [lat, lon]}
  model/x: {rename: z, attributes: {is_good: true}}
  "*_qc": {drop: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Rename":[{"Old":"y","New":"lat"},{"Old":"t2m","New":"temperature"},{"Old":"model/x","New":"z"}],"Drop":["*_qc"],"Edits":[` +
		`{"Group":"/model","Set":[{"Name":"members","JSON":[1,2.5]}]},` +
		`{"Variable":"temperature","Set":[{"Name":"units","JSON":"K"},{"Name":"standard_name","JSON":"air_temperature"}],"Coordinates":["lat","lon"]},` +
		`{"Variable":"model/z","Set":[{"Name":"is_good","JSON":true}]},` +
		`{"Group":"/","Set":[{"Name":"title","JSON":"Sea: surface"},{"Name":"version","JSON":2},{"Name":"old","JSON":"010"},{"Name":"date","JSON":"2020-01-01"},{"Name":"nan","JSON":".nan"}],"Drop":["history"],"Coordinates":["lat2d"]}]}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if c, err := ParseCuration(nil); err != nil || !c.IsEmpty() {
		t.Errorf("an empty file: %v, %v", c, err)
	}
}

// TestCurationRefused checks the errors of curation files, which name the line.
func TestCurationRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: b: c", "yaml"},
		{"- a", "line 1: want a mapping with some of attributes"},
		{"attributs: {a: b}", `unknown key "attributs", want attributes, coordinates, dimensions, groups, variables. Did you mean "attributes"?`},
		{"variables:\n  t: {name: x}", `line 2: unknown key "name"`},
		{"variables: {t: {atributes: {}}}", `Did you mean "attributes"?`},
		{"variables: {t: x}", "line 1: want a mapping"},
		{"variables: {t: {units: K, attributes: {units: C}}}", `"units" is given twice`},
		{"variables: {t: {units: K}, t: {units: K}}", "twice"},
		{"variables: {t: {units: null}}", "want units"},
		{"variables: {t: {attributes: {scale_factor: 2}}}", "cannot be changed"},
		{"variables: {t: {attributes: {_FillValue: null}}}", "cannot be changed"},
		{"variables: {t: {attributes: {a: {b: c}}}}", "want a text, a number"},
		{"variables: {t: {attributes: {a: []}}}", "want a list of one"},
		{"variables: {t: {attributes: {a: [[1]]}}}", "want a text or a number"},
		{"variables: {t: {coordinates: lat}}", "want a list of names"},
		{"variables: {t: {coordinates: [lat, lat]}}", "each once"},
		{"variables: {t: {drop: false}}", "want true"},
		{"variables: {t: {drop: true, units: K}}", "t is dropped"},
		{"variables: {t: {drop: true, rename: x}}", "t is dropped"},
		{"variables: {'t*': {rename: x}}", "a pattern cannot be renamed"},
		{"variables: {'t[': {units: K}}", "no glob"},
		{"dimensions: {y: null}", "want the new name of y"},
		{"dimensions: [y]", "want a mapping"},
	} {
		if _, err := ParseCuration([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := ParseCuration(make([]byte, maxCurationBytes+1)); err == nil {
		t.Error("a large file is read")
	}
	twice, err := ParseCuration([]byte("variables: {t: {coordinates: [a], attributes: {coordinates: b}}}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Options{Curation: twice}).Check(); err == nil {
		t.Error("coordinates may be given twice")
	}
}

// TestDocumentedCuration reads the examples of the documentation.
func TestDocumentedCuration(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/curation.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if c, err := ParseCuration([]byte(text)); err != nil || c.IsEmpty() {
			t.Errorf("block %d: %+v, %v", i+1, c, err)
		}
	}
}

func FuzzCuration(f *testing.F) {
	f.Add([]byte("attributes: {a: null, b: [1, x]}\nvariables: {t: {rename: x, units: K}, '*': {drop: true}}"))
	f.Add([]byte("variables: {t: &a {units: K}, u: *a}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseCuration(text)
		if err == nil {
			_ = (&Options{Curation: c}).Check()
			_ = c.IsEmpty()
		}
	})
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/fixtures/classic"
	"varve/readers/source/sourcetest"
)

// TestCheckReading checks that check says how much it reads from servers, and nothing about local files.
func TestCheckReading(t *testing.T) {
	s, folder := sourcetest.NewServer(t), t.TempDir()
	var urls []string
	for i := range 3 {
		f := classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 1}},
			Vars: []classic.Var{{Name: "time", Dims: []string{"time"}, Data: []float64{float64(i)},
				Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}}},
		}
		name := filepath.Join(folder, fmt.Sprintf("%d.nc", i))
		err := f.Write(name)
		var data []byte
		if err == nil {
			data, err = os.ReadFile(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, s.Put(fmt.Sprintf("/%d.nc", i), data))
	}
	out, _, err := run(t, append([]string{"check", "--quiet"}, urls...)...)
	requests, bytes := s.Counts()
	if want := fmt.Sprintf("reading: %d requests", requests); err != nil || !strings.Contains(out, want) {
		t.Errorf("want %q: %v\n%s", want, err, out)
	}
	out, _, err = run(t, append([]string{"check", "--json", "--quiet"}, urls...)...)
	var doc struct{ Reading readingJSON }
	if err == nil {
		err = json.Unmarshal([]byte(out), &doc)
	}
	if err != nil || doc.Reading.Requests != requests || doc.Reading.Bytes != bytes || doc.Reading.Seconds <= 0 {
		t.Errorf("want %d requests and %d bytes: %+v, %v", requests, bytes, doc, err)
	}
	out, _, err = run(t, "check", "--json", "--quiet", filepath.Join(folder, "0.nc"))
	if err != nil || strings.Contains(out, `"reading"`) {
		t.Errorf("of a local file: %v\n%s", err, out)
	}
}

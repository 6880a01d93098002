package ingest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/readers/source"
)

const (
	stacItems = `{"type":"FeatureCollection","numberMatched":2,"features":[
		{"type":"Feature","id":"a","links":[{"rel":"self","href":"https://stac.example.org/c/a.json"}],"assets":{
			"nc":{"href":"../files/a.nc","roles":["data"]},"thumbnail":{"href":"https://host/a.png","roles":["thumbnail"]}}},
		{"type":"Feature","id":"b","assets":{"nc":{"href":"s3://bucket/b 1.nc","roles":["data"]},"meta":{"href":"https://host/b.xml"}}}]}`
	ummItems = `{"hits":2,"took":5,"items":[
		{"meta":{"concept-id":"G1"},"umm":{"RelatedUrls":[
			{"URL":"https://host/1.nc","Type":"GET DATA"},{"URL":"s3://bucket/1.nc","Type":"GET DATA VIA DIRECT ACCESS"},
			{"URL":"https://host/1.nc.md5","Type":"EXTENDED METADATA"}]}},
		{"meta":{"concept-id":"G2"},"umm":{"RelatedUrls":[
			{"URL":"https://host/2.nc","Type":"GET DATA"},{"URL":"https://host/2.txt","Type":"GET DATA"},{"URL":"s3://bucket/2.nc","Type":"GET DATA VIA DIRECT ACCESS"}]}}]}`
	cmrItems = `{"feed":{"entry":[{"id":"G1","links":[
			{"rel":"http://esipfed.org/ns/fedsearch/1.1/data#","href":"https://host/1.nc"},
			{"rel":"http://esipfed.org/ns/fedsearch/1.1/s3#","href":"s3://bucket/1.nc"},
			{"rel":"http://esipfed.org/ns/fedsearch/1.1/data#","href":"https://host/all/","inherited":true}]}]}}`
	bandItem = `{"type":"Feature","id":"L8","assets":{"B1":{"href":"https://host/B1.nc","roles":["data"]},"B2":{"href":"https://host/B2.nc","roles":["data"]}}}`
)

// TestSearches takes the files from saved search results.
func TestSearches(t *testing.T) {
	for _, c := range []struct {
		name, text, asset, match string
		want                     []string
		err                      error
		says                     string
	}{
		{"STAC", stacItems, "", "", []string{"https://stac.example.org/files/a.nc", "s3://bucket/b 1.nc"}, nil, ""},
		{"STAC by key", stacItems, "nc", "", []string{"https://stac.example.org/files/a.nc", "s3://bucket/b 1.nc"}, nil, ""},
		{"STAC without the key", stacItems, "thumbnail", "", nil, fs.ErrNotExist, `item "b": no file of the kind "thumbnail"; it has meta, nc`},
		{"one item", bandItem, "b2", "", []string{"https://host/B2.nc"}, nil, ""},
		{"all data of an item", bandItem, "data", "", []string{"https://host/B1.nc", "https://host/B2.nc"}, nil, ""},
		{"several assets", bandItem, "", "", nil, fs.ErrInvalid, "B1, B2"},
		{"several assets, one match", bandItem, "", "B1*", []string{"https://host/B1.nc"}, nil, ""},
		{"UMM", ummItems, "", "*.nc", []string{"https://host/1.nc", "https://host/2.nc"}, nil, ""},
		{"UMM with all files", ummItems, "", "", []string{"https://host/1.nc", "https://host/2.nc", "https://host/2.txt"}, nil, ""},
		{"UMM in S3", ummItems, "s3", "", []string{"s3://bucket/1.nc", "s3://bucket/2.nc"}, nil, ""},
		{"UMM by type", ummItems, "get data via direct access", "", []string{"s3://bucket/1.nc", "s3://bucket/2.nc"}, nil, ""},
		{"no match", ummItems, "", "*.tif", nil, fs.ErrNotExist, "whose name matches *.tif; it has EXTENDED METADATA, GET DATA"},
		{"CMR", cmrItems, "", "", []string{"https://host/1.nc"}, nil, ""},
		{"CMR in S3", cmrItems, "s3", "", []string{"s3://bucket/1.nc"}, nil, ""},
		{"some of the items", strings.Replace(ummItems, `"hits":2`, `"hits":5`, 1), "s3", "", nil, fs.ErrInvalid, "2 of 5 items"},
		{"a next page", strings.Replace(stacItems, `"numberMatched":2`, `"links":[{"rel":"next","href":"x"}]`, 1), "", "", nil, fs.ErrInvalid, "another page"},
		{"a local file", strings.Replace(bandItem, "https://host/B1.nc", "file:///etc/passwd", 1), "B1", "", nil, source.ErrForbidden, "file of this machine"},
		{"a path", strings.Replace(bandItem, "https://host/B1.nc", "/etc/passwd", 1), "B1", "", nil, fs.ErrInvalid, "relative"},
		{"an empty address", strings.Replace(bandItem, "https://host/B1.nc", "", 1), "B1", "", nil, fs.ErrInvalid, "no address"},
		{"a dataset", `{"zarr_format":3}`, "", "", nil, fs.ErrInvalid, "want a STAC ItemCollection"},
		{"no JSON", `<xml>`, "", "", nil, nil, "not a search result"},
		{"wrong types", `{"type":"FeatureCollection","features":[{"id":1}]}`, "", "", nil, nil, "not a search result"},
		{"nothing", `{"type":"FeatureCollection","features":[]}`, "", "", nil, ErrNoFiles, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "items.json")
			if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			s := Sources{Searches: []string{name}, Asset: c.asset, Match: c.match}
			got, err := s.Expand(t.Context())
			if c.want != nil {
				if err != nil || !slices.Equal(got, c.want) {
					t.Errorf("got %q, %v, want %q", got, err, c.want)
				}
				return
			}
			if err == nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestSearchPages joins the pages of a search, which may overlap.
func TestSearchPages(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "1.json"), filepath.Join(dir, "2.json")
	for name, text := range map[string]string{
		first:  strings.Replace(ummItems, `"hits":2`, `"hits":3`, 1),
		second: `{"hits":3,"items":[{"umm":{"RelatedUrls":[{"URL":"s3://bucket/2.nc","Type":"GET DATA VIA DIRECT ACCESS"},{"URL":"s3://bucket/3.nc","Type":"GET DATA VIA DIRECT ACCESS"}]}}]}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := Sources{Searches: []string{first, second}, Asset: "s3"}
	got, err := s.Expand(t.Context())
	if want := []string{"s3://bucket/1.nc", "s3://bucket/2.nc", "s3://bucket/3.nc"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func FuzzSearch(f *testing.F) {
	for _, text := range []string{stacItems, ummItems, cmrItems, bandItem, `{"type":"Feature"}`, `{"feed":{}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		page, err := parseSearch(text)
		if err != nil {
			return
		}
		s := Sources{}
		for i := range page.items {
			files, err := s.filesOf(&page.items[i])
			for _, name := range files {
				if err == nil && !source.IsURL(name) {
					t.Errorf("%q is no URL", name)
				}
			}
		}
	})
}

package icechunk

import (
	"slices"
	"testing"
	"time"

	"varve/manifest"
)

func TestLocation(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"/a/b.nc", "file:///a/b.nc"},
		{"/a b/%41#1?x=[1]{y}'\":é.nc", "file:///a%20b/%2541%231%3Fx%3D%5B1%5D%7By%7D%27%22%3A%C3%A9.nc"},
		{"file:///a%20b/c.nc", "file:///a%20b/c.nc"},
		{"https://EXAMPLE.org:443/a%20b/c.nc", "https://example.org/a%20b/c.nc"},
		{"http://example.org:8080/c.nc", "http://example.org:8080/c.nc"},
		{"s3://bucket/a b/100%.nc", "s3://bucket/a%20b/100%25.nc"},
		{"https://example.org/c.nc?sig=1", ""},
		{"https://me:secret@example.org/c.nc", ""},
		{"ftp://example.org/c.nc", ""},
		{"relative.nc", ""},
		{"/root.nc", ""},
		{"/a/\xff.nc", ""},
	} {
		if got, err := location(test.name); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: got %s, %v, want %s", test.name, got, err, test.want)
		}
	}
}

func TestCheck(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, test := range []struct {
		name    string
		source  manifest.Source
		where   string
		kind    refKind
		seconds uint32
		etag    string
	}{
		{"whole second", manifest.Source{Modified: at}, "file:///a", modified, 1000, ""},
		{"rounded up", manifest.Source{Modified: at.Add(1)}, "file:///a", modified, 1001, ""},
		{"1970", manifest.Source{Modified: time.Unix(0, 0)}, "file:///a", modified, 1, ""},
		{"before 1970", manifest.Source{Modified: time.Unix(-5, 5)}, "file:///a", modified, 1, ""},
		{"after 2106", manifest.Source{Modified: time.Unix(1<<33, 0)}, "file:///a", virtual, 0, ""},
		{"unknown", manifest.Source{ETag: `"e"`}, "https://a/b", virtual, 0, ""},
		{"server", manifest.Source{Modified: at, ETag: `"e"`}, "https://a/b", modified, 1000, ""},
		{"bucket", manifest.Source{Modified: at, ETag: `"e"`}, "s3://a/b", tagged, 0, `"e"`},
		{"weak", manifest.Source{Modified: at, ETag: `W/"e"`}, "s3://a/b", modified, 1000, ""},
	} {
		if k, seconds, etag := check(test.source, test.where); k != test.kind || seconds != test.seconds || etag != test.etag {
			t.Errorf("%s: got %d, %d, %q", test.name, k, seconds, etag)
		}
	}
}

func TestReach(t *testing.T) {
	for _, test := range []struct {
		name  string
		where []string
		want  []string
	}{
		{"one folder", []string{"file:///a/b/c.nc", "file:///a/b/d.nc"}, []string{"file:///a/b/"}},
		{"what they share", []string{"file:///a/b/x/c.nc", "file:///a/bc/d.nc"}, []string{"file:///a/"}},
		{"nothing but the root", []string{"file:///a/b/c.nc", "file:///x/d.nc"}, []string{"file:///a/b/", "file:///x/"}},
		{"names that are escaped", []string{"file:///a/b%20c/d.nc"}, []string{"file:///a/"}},
		{"an escaped first name", []string{"file:///a%20b/c/d.nc"}, []string{"file:///a b/c/"}},
		{"servers", []string{"https://a/x/y.nc", "https://b/y.nc", "s3://c/k/l.nc"}, []string{"https://a/x/", "https://b/", "s3://c/k/"}},
	} {
		r := &reach{}
		for _, w := range test.where {
			r.add(w)
		}
		if got := r.list(); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestContainers(t *testing.T) {
	unnamed := func(string) string { return "" }
	config, added, err := withContainers(nil, []string{"file:///a/b/"}, unnamed, S3{})
	if err != nil || !slices.Equal(added, []string{"file:///a/b/"}) {
		t.Fatalf("added %q, %v", added, err)
	}
	if same, added, err := withContainers(config, []string{"file:///a/b/c/"}, unnamed, S3{}); err != nil || added != nil || string(same) != string(config) {
		t.Errorf("a folder within: added %q, %v", added, err)
	}
	more, added, err := withContainers(config, []string{"file:///a/b/", "https://x/"}, unnamed, S3{})
	if err != nil || !slices.Equal(added, []string{"https://x/"}) {
		t.Errorf("added %q, %v", added, err)
	}
	v, err := decodeFlex(more)
	if err != nil || len(v.(map[string]any)["virtual_chunk_containers"].(map[string]any)) != 2 {
		t.Errorf("got %v, %v", v, err)
	}
	if _, _, err := withContainers([]byte{1, 2, 3, 4}, nil, unnamed, S3{}); err == nil {
		t.Error("a damaged configuration was read")
	}
}

func TestNamedContainers(t *testing.T) {
	named, err := containersOf([]Container{{"a", "/x/"}, {"b", "s3://bucket/y"}, {"c", "/x/long er/.."}, {"d", "/x/y"}})
	if err == nil {
		t.Errorf("two containers with one prefix: %v", named)
	}
	named, err = containersOf([]Container{{"a", "/x/"}, {"b", "s3://bucket/y"}, {"d", "/x/y"}})
	if err != nil {
		t.Fatal(err)
	}
	r := &reach{named: named}
	for where, want := range map[string]string{
		"file:///x/a%20b.nc": "vcc://a/a%20b.nc", "file:///x/y/1/z.nc": "vcc://d/1/z.nc", "s3://bucket/y/z.nc": "vcc://b/z.nc",
		"s3://bucket/yy/z.nc": "s3://bucket/yy/z.nc", "https://h/x.nc": "https://h/x.nc",
	} {
		if got := r.reference(where); got != want {
			t.Errorf("%s: %s, want %s", where, got, want)
		}
	}
	list := r.list()
	if want := []string{"file:///x/", "file:///x/y/", "https://h/", "s3://bucket/y/", "s3://bucket/yy/"}; !slices.Equal(list, want) {
		t.Errorf("%q, want %q", list, want)
	}
	config, added, err := withContainers(nil, list, r.nameOf, S3{})
	if err != nil || !slices.Equal(added, list) {
		t.Fatalf("%q, %v", added, err)
	}
	if _, again, err := withContainers(config, list, r.nameOf, S3{}); err != nil || again != nil {
		t.Errorf("again: %q, %v", again, err)
	}
	for _, bad := range []Container{{"", "/x"}, {"a b", "/x"}, {"a/b", "/x"}, {"a", "ftp://h/x"}, {"a", "/x y"}} {
		if named, err := containersOf([]Container{bad}); err == nil {
			t.Errorf("%+v: %v", bad, named)
		}
	}
}

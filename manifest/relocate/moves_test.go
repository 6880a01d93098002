package relocate

import (
	"errors"
	"path/filepath"
	"testing"
)

// TestNames checks the new names of sources, and which names are rejected. Special characters are not patterns.
func TestNames(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("TestWindowsNames tests paths on Windows")
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		moves      []Move
		name, want string // an empty want means an error
	}{
		{[]Move{{"/a", "/b"}}, "/a/x.nc", "/b/x.nc"},
		{[]Move{{"/a/", "/b/"}}, "/a/x.nc", "/b/x.nc"},
		{[]Move{{"/a/c/..", "/b/./"}}, "/a/x.nc", "/b/x.nc"},
		{[]Move{{"/a", "/b"}}, "/ab/x.nc", "/ab/x.nc"},
		{[]Move{{"/a", "/b"}}, "/A/x.nc", "/A/x.nc"},
		{[]Move{{"/a/x", "/b"}}, "/a/x.nc", "/a/x.nc"},
		{[]Move{{"/a/x.nc", "/b/y.nc"}}, "/a/x.nc", "/b/y.nc"},
		{[]Move{{"/a", "/b"}, {"/a/c", "/d"}}, "/a/c/x.nc", "/d/x.nc"},
		{[]Move{{"/a/c", "/d"}, {"/a", "/b"}, {"/a/c/x.nc", "/e"}}, "/a/c/x.nc", "/e"},
		{[]Move{{"/a", "/b"}, {"/b", "/c"}}, "/a/x.nc", "/b/x.nc"}, // only one move applies
		{[]Move{{"/", "/b"}}, "/a/x.nc", "/b/a/x.nc"},
		{[]Move{{"/a", "/"}}, "/a/x.nc", "/x.nc"},
		{[]Move{{"a", "b"}}, here + "/a/x.nc", here + "/b/x.nc"},
		{[]Move{{"file:///a%20b", "local:///c d"}}, "/a b/x.nc", "/c d/x.nc"},
		{[]Move{{"/a*", "/b%20 #?[x]=y"}}, "/a*/%41 #.nc", "/b%20 #?[x]=y/%41 #.nc"},
		{[]Move{{"/a*", "/b"}}, "/ab/x.nc", "/ab/x.nc"},
		{[]Move{{"/a\xff", "/b"}}, "/a\xff/\xfe.nc", "/b/\xfe.nc"},
		{[]Move{{"/a", "s3://bucket/p q/"}}, "/a/%41 #?.nc", "s3://bucket/p q/%41 #?.nc"},
		{[]Move{{"/a", "s3://bucket"}}, "/a/x.nc", "s3://bucket/x.nc"},
		{[]Move{{"s3://bucket", "gs://other/b"}}, "s3://bucket/a//x.nc", "gs://other/b/a//x.nc"},
		{[]Move{{"s3://bucket", "gs://other/b"}}, "s3://bucket2/x.nc", "s3://bucket2/x.nc"},
		{[]Move{{"s3://bucket/a", "/b"}}, "s3://bucket/a/%41 #.nc", "/b/%41 #.nc"},
		{[]Move{{"s3://bucket/a", "/b"}}, "s3://bucket/a/c//x.nc", ""},
		{[]Move{{"s3://bucket/a", "/b"}}, "s3://bucket/a/../../x.nc", ""},
		{[]Move{{"s3://bucket/a", "gs://b"}}, "s3://bucket/a/../x.nc", ""},
		{[]Move{{"/a", "https://host/b"}}, "/a/%41 #?é.nc", "https://host/b/%2541%20%23%3F%C3%A9.nc"},
		{[]Move{{"/a", "https://user:word@host/b/?sig=x&sv=1&v=2"}}, "/a/x.nc", "https://host/b/x.nc?v=2"},
		{[]Move{{"http://host/a", "https://other:81/b"}}, "http://host/a/x%20y.nc?v=2", "https://other:81/b/x%20y.nc?v=2"},
		{[]Move{{"http://host/a", "https://other:81/b"}}, "http://host:80/a/x.nc", "http://host:80/a/x.nc"},
		{[]Move{{"http://host", "/b"}}, "http://host/a/x%20%25.nc", "/b/a/x %.nc"},
		{[]Move{{"http://host", "/b"}}, "http://host/a/x.nc?v=2", ""},
		{[]Move{{"http://host", "/b"}}, "http://host/a%2Fx.nc", ""},
		{[]Move{{"http://host", "/b"}}, "http://host/%2e%2e/x.nc", ""},
		{[]Move{{"http://host", "https://host"}}, "http://host/../x.nc", ""},
		{[]Move{{`C:\data`, "/b"}}, `c:\data\m\x.nc`, "/b/m/x.nc"}, // built on Windows
		{[]Move{{`C:/data/`, "/b"}}, `C:\data\x.nc`, "/b/x.nc"},
		{[]Move{{`\\server\share`, "/b"}}, `\\server\share\x.nc`, "/b/x.nc"},
		{[]Move{{`C:\`, "/b"}}, `C:\x.nc`, "/b/x.nc"},
		{[]Move{{`C:\data`, "/b"}}, `C:\database\x.nc`, `C:\database\x.nc`},
	} {
		all, err := newMoves(tt.moves, []string{"v"})
		if err != nil {
			t.Errorf("%q: %v", tt.moves, err)
			continue
		}
		got := tt.name
		if m, rest := all.find(tt.name); m != nil {
			_, got, err = m.name(rest)
		}
		var refused *MoveError
		if isRefused := errors.As(err, &refused); isRefused != (tt.want == "") || err == nil && got != tt.want {
			t.Errorf("%q of %q: %q, %v, want %q", tt.moves, tt.name, got, err, tt.want)
		}
	}
}

// TestSecrets checks that requests carry the signature of a URL, and the manifest does not store it.
func TestSecrets(t *testing.T) {
	all, err := newMoves([]Move{{"/a", "https://user:word@host/b/?sig=x&sv=1&v=2"}}, []string{"v"})
	if err != nil {
		t.Fatal(err)
	}
	m, rest := all.find("/a/x.nc")
	if whole, _, err := m.name(rest); err != nil || whole != "https://user:word@host/b/x.nc?sig=x&sv=1&v=2" {
		t.Errorf("%q, %v", whole, err)
	}
	if said := all.String(); said != "from /a to https://host/b/?v=2" {
		t.Errorf("String: %q", said)
	}
}

// TestNoMoves checks that newMoves rejects invalid and contradictory moves.
func TestNoMoves(t *testing.T) {
	for _, moves := range [][]Move{
		{{"/a", "/a/"}}, {{"", "/a"}}, {{"/a", ""}}, {{"/a", "/b"}, {"/a/", "/c"}}, {{"/a", "ftp://host/b"}}, {{"ftp://host/b", "/a"}},
		{{"/a", "s3:///b"}}, {{"/a", "http://"}}, {{"/a", "https://host/a#b"}}, {{"/a", "s3://"}},
	} {
		var refused *MoveError
		if _, err := newMoves(moves, nil); !errors.As(err, &refused) {
			t.Errorf("%q: %v", moves, err)
		}
	}
}

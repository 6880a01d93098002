package access

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFind checks which entry has a URL.
func TestFind(t *testing.T) {
	entries, err := parse([]byte(`
- {prefix: "https://a.example.org/data/", netrc: x}
- {prefix: "https://a.example.org/data/deep", netrc: x}
- {prefix: "https://*.example.org", netrc: x}
- {prefix: "https://*.a.example.org/", netrc: x}
- {prefix: "http://a.example.org:8080/", netrc: x}
- {prefix: "s3://", s3: {anonymous: true}}
- {prefix: "s3://bucket/", s3: {anonymous: true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	c := &Config{Entries: entries}
	for name, want := range map[string]string{
		"https://a.example.org/data/x.nc":              "https://a.example.org/data/",
		"https://A.example.org/data":                   "https://a.example.org/data/",
		"https://a.example.org/data/deep/x.nc":         "https://a.example.org/data/deep",
		"https://a.example.org/data/deeper/x.nc":       "https://a.example.org/data/",
		"https://a.example.org/database/x.nc":          "https://*.example.org",
		"https://a.example.org/data/../x.nc":           "https://*.example.org",
		"https://a.example.org/data/%2e%2e/x.nc":       "https://*.example.org",
		`https://a.example.org/data/..%5cx.nc`:         "https://*.example.org",
		"https://x.a.example.org/x.nc":                 "https://*.a.example.org/",
		"https://example.org/x.nc":                     "",
		"https://evilexample.org/x.nc":                 "",
		"https://example.org.evil/x.nc":                "",
		"http://a.example.org/data/x.nc":               "",
		"http://a.example.org:8080/x.nc":               "http://a.example.org:8080/",
		"https://a.example.org:444/data/x.nc":          "",
		"s3://bucket/x":                                "s3://bucket/",
		"s3://other/x":                                 "s3://",
		"gs://bucket/x":                                "",
		"https://a.example.org@evil.example/data/x.nc": "",
	} {
		u, err := url.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if e := c.Find(u); e != nil {
			got = e.Prefix
		}
		if got != want {
			t.Errorf("%s: got the entry %q, want %q", name, got, want)
		}
	}
}

// TestRefused checks that wrong files are refused, and that errors name the line, but no value.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: hunter2: b", "not valid YAML"},
		{"- prefix: https://h\n  bearer: *hunter2", "not valid YAML"},
		{"prefix: https://h", "line 1: want a list"},
		{"- hunter2", "line 1: want a mapping"},
		{"- {headers: {a: hunter2}}", "no prefix"},
		{"- {prefix: https://h}", "no credentials"},
		{"- {prefix: https://h, bearer: hunter2, netrc: true}", "one of bearer"},
		{"- {prefix: https://h, bearer: hunter2, headers: {authorization: hunter2}}", "Authorization"},
		{"- prefix: https://h\n  beerer: hunter2", "line 2: unknown key; the keys here are: prefix"},
		{"- {prefix: https://h, bearer: hunter2, bearer: hunter3}", "bearer is given twice"},
		{"- {prefix: https://h, bearer: a}\n- {prefix: https://H/, bearer: hunter2}", "line 2: the prefix"},
		{"- {prefix: https://u:hunter2@h, bearer: a}", "no user"},
		{"- {prefix: 'https://h/?token=hunter2', bearer: a}", "no user, query"},
		{"- {prefix: https://, bearer: hunter2}", "must have a host"},
		{"- {prefix: 'https://*.org', bearer: hunter2}", "at least two parts"},
		{"- {prefix: 'https://a.*.org', bearer: hunter2}", "must have a host"},
		{"- {prefix: https://h/../x, bearer: hunter2}", "no . and .."},
		{"- {prefix: ftp://h/, bearer: hunter2}", "must begin with"},
		{"- {prefix: gs://h/, bearer: hunter2}", "must begin with"},
		{"- {prefix: s3://b/key, s3: {anonymous: true}}", "whole bucket: want s3://b/"},
		{"- {prefix: s3://b, bearer: hunter2}", "takes s3 only"},
		{"- {prefix: https://h, s3: {anonymous: true}}", "needs a prefix like s3"},
		{"- {prefix: s3://b, s3: {anonymous: true, profile: hunter2}}", "want one of"},
		{"- {prefix: s3://b, s3: {anonymous: hunter2}}", "true or false"},
		{"- {prefix: s3://b, s3: {endpoint: 'https://u:hunter2@h'}}", "endpoint: must be a URL without user"},
		{"- {prefix: s3://b, s3: {credentials_url: 'http://h/hunter2'}}", "credentials_url must"},
		{"- {prefix: s3://b, s3: {credentials_url: 'http://127.evil.example/hunter2'}}", "credentials_url must"},
		{"- {prefix: https://h, bearer: {file: x, env: hunter2}}", "want a text"},
		{"- {prefix: https://h, bearer: [hunter2]}", "want a mapping"},
		{"- {prefix: https://h, bearer: \"hunter2\\n\"}", "a header cannot have"},
		{"- {prefix: https://h, headers: {'a b': hunter2}}", "name of a header"},
		{"- {prefix: https://h, headers: {Range: hunter2}}", "name of a header"},
		{"- {prefix: https://h, headers: {}}", "want a mapping of header"},
		{"- {prefix: https://h, basic: {user: hunter2}}", "want user and password"},
		{"- {prefix: https://h, netrc: false}", "want true or"},
		{"- {prefix: https://h, earthdata: {user: hunter2}}", "both user and password"},
		{"- {prefix: https://h, earthdata: {login: 'http://h2', token: hunter2}}", "must be https"},
		{"- {prefix: https://h, earthdata: false}", "want true"},
	} {
		_, err := parse([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
	if entries, err := parse([]byte("# nothing\n")); err != nil || len(entries) > 0 {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file is read")
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(large); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a large file: %v", err)
	}
}

// TestDocumented reads the examples of the documentation.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/reference/access.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if entries, err := parse([]byte(text)); err != nil || len(entries) == 0 {
			t.Errorf("block %d: %d entries, %v", i+1, len(entries), err)
		}
	}
}

// TestNetrc reads netrc files as curl does.
func TestNetrc(t *testing.T) {
	text := `# machine h login no password no
machine a login ann password "p \"w" # a comment
macdef init
machine b login no password no

machine b
	account x
	password pb
	login bob
machine c login only
machine c login carl password pc
default login any password pd
machine d login late password no
`
	name := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"a": `ann p "w`, "A": `ann p "w`, "b": "bob pb", "c": "carl pc", "d": "any pd", "h": "any pd"} {
		user, password, err := FromNetrc(name, host)
		if got := user + " " + password; err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", host, got, err, want)
		}
	}
	for _, text := range []string{"", "machine", "machine h", "machine h login", "machine h login x password", "machine g login x password y", `machine h login "`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if user, password, err := FromNetrc(name, "h"); err == nil {
			t.Errorf("%q: got %q and %q, want an error", text, user, password)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("- {prefix: 'https://*.example.org', bearer: {env: A}, headers: {a: b}}"))
	f.Add([]byte("- prefix: s3://b\n  s3: {endpoint: http://h, requester_pays: true}"))
	f.Add([]byte("- prefix: https://h\n  earthdata: {user: a, password: {file: ~/x}}"))
	f.Add([]byte("- prefix: &a https://h\n  netrc: *a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parse(text)
		u := &url.URL{Scheme: "https", Host: "h.example.org", Path: "/x"}
		if err == nil {
			(&Config{Entries: entries}).Find(u)
		}
	})
}

func FuzzNetrc(f *testing.F) {
	f.Add("machine h login a password \"b\\\"\"\nmacdef x\n\ndefault login b")
	f.Fuzz(func(t *testing.T, text string) { netrcWords(text) })
}

// Package access reads the file that says with which credentials sources are opened:
//
//   - prefix: https://data.example.org/archive/     the longest prefix of a URL decides
//     headers:
//     X-Team: ocean                               a value,
//     X-Api-Key: {env: DATA_API_KEY}              the value of an environment variable,
//     bearer: {file: /run/secrets/token}            or the content of a file
//   - prefix: https://*.earthdatacloud.nasa.gov/    any first labels of a host name
//     earthdata: true
//   - prefix: s3://protected-bucket/                whole buckets only
//     s3:
//     region: us-west-2
//     credentials_url: https://archive.example.org/s3credentials
//
// Files and variables are read again for each request, so a renewed token is used at once. Errors name the file and the line,
// and never contain a value, since a value may be a secret.
package access

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"os"
	"strings"
)

// Config is the content of an access file.
type Config struct {
	Name    string // of the file
	Entries []*Entry
}

// Entry has the credentials for the URLs below a prefix.
type Entry struct {
	Prefix  string // as in the file
	Headers []Header
	Bearer  *Value
	Basic   *Login
	// Netrc is the netrc file with the user and the password of the host, or empty.
	Netrc     string
	Earthdata *Earthdata
	S3        *S3

	url *url.URL
}

// Header is a header of requests.
type Header struct {
	Name  string
	Value Value
}

// Login is a user and a password.
type Login struct{ User, Password Value }

// Earthdata is a login at a central host, to which servers redirect requests without a session.
type Earthdata struct {
	Login *url.URL // scheme and host of the login host; only it gets the user and the password
	Token *Value   // sent to the servers of the data; may be nil
	User  *Login   // nil: the variables EARTHDATA_USERNAME and EARTHDATA_PASSWORD, or the netrc file
	Netrc string
}

// S3 has the settings of a bucket. The environment provides settings that are empty.
type S3 struct {
	Profile, Region string
	Endpoint        *url.URL
	RequesterPays   bool
	Anonymous       bool
	CredentialsURL  string // a server that gives temporary credentials
}

// Find returns the entry with the longest prefix of a URL, or nil. Nil has no entries.
func (c *Config) Find(u *url.URL) *Entry {
	if c == nil {
		return nil
	}
	var best *Entry
	for _, e := range c.Entries {
		if e.has(u) && (best == nil || e.isCloserThan(best)) {
			best = e
		}
	}
	return best
}

// isCloserThan reports whether e decides where both entries have a URL: an exact host comes before a pattern, a longer pattern
// before a shorter one, and a longer path before a shorter one.
func (e *Entry) isCloserThan(other *Entry) bool {
	return cmp.Or(cmp.Compare(e.hostRank(), other.hostRank()), cmp.Compare(len(e.url.Path), len(other.url.Path))) > 0
}

// hostRank orders the hosts of prefixes that have the same URL.
func (e *Entry) hostRank() int {
	if strings.HasPrefix(e.url.Host, "*.") || e.url.Host == "" {
		return len(e.url.Host)
	}
	return math.MaxInt
}

// has reports whether a URL is below the entry's prefix. Paths are compared by whole parts. A path with a part . or .. is below
// no prefix with a path, because servers may resolve it to another place.
func (e *Entry) has(u *url.URL) bool {
	if !strings.EqualFold(u.Scheme, e.url.Scheme) || u.Opaque != "" || !e.hasHost(strings.ToLower(u.Host)) {
		return false
	}
	prefix := strings.TrimSuffix(e.url.Path, "/")
	if prefix == "" {
		return true
	}
	if hasDots(strings.ReplaceAll(u.Path, `\`, "/")) {
		return false
	}
	below, ok := strings.CutPrefix(u.Path, prefix)
	return ok && (below == "" || below[0] == '/')
}

func hasDots(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// hasHost reports whether a host, in lower case, is that of the prefix. The prefix s3:// has all buckets.
func (e *Entry) hasHost(host string) bool {
	if rest, ok := strings.CutPrefix(e.url.Host, "*"); ok {
		return strings.HasSuffix(host, rest) && len(host) > len(rest)
	}
	return host == e.url.Host || e.url.Host == ""
}

// maxValueBytes limits the size of files with a value.
const maxValueBytes = 64 << 10

// Value is a text that may be a secret. It never appears in messages.
type Value struct {
	text, env, file string
}

// FromFile returns the Value that is the content of a file.
func FromFile(name string) Value { return Value{file: name} }

// Text returns a Value that the configuration holds itself.
func Text(text string) Value { return Value{text: text} }

// Read returns the current text.
func (v Value) Read() (string, error) {
	text, from := v.text, "the value"
	switch {
	case v.env != "":
		from = "the variable " + v.env
		text = os.Getenv(v.env)
	case v.file != "":
		from = v.file
		content, err := readSmall(v.file, maxValueBytes)
		if err != nil {
			return "", err
		}
		text = strings.TrimSpace(string(content))
	}
	if text == "" {
		return "", fmt.Errorf("%s is empty", from)
	}
	if !isFieldValue(text) {
		return "", fmt.Errorf("%s has a character that a header cannot have", from)
	}
	return text, nil
}

// isFieldValue reports whether a text can be the value of a header of HTTP.
func isFieldValue(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

package icechunk

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"varve/manifest"
	"varve/readers/source"
)

// location returns the URL that Icechunk finds a source by. It parses URLs, so that every
// byte which means something in one is percent-encoded, in the way of RFC 3986.
func location(name string) (string, error) {
	if path, err := source.LocalPath(name); err == nil {
		if !utf8.ValidString(path) {
			return "", fmt.Errorf("%q: the name is not UTF-8, and Icechunk knows no others: rename the file: %w", name, errors.ErrUnsupported)
		}
		return fileLocation(path)
	}
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok {
		return "", fmt.Errorf("%q: neither a path nor a URL", name)
	}
	if scheme == "http" || scheme == "https" {
		return httpLocation(name)
	}
	if _, known := stores[scheme]; !known {
		return "", fmt.Errorf("%s: Icechunk has no virtual chunks in %s: %w", name, scheme, errors.ErrUnsupported)
	}
	host, key, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + "/" + escape(key), nil
}

// fileLocation returns the URL of a local file. A drive's colon is not escaped.
func fileLocation(path string) (string, error) {
	drive := filepath.VolumeName(path)
	below := filepath.ToSlash(path[len(drive):])
	switch {
	case len(drive) > len("C:"):
		return "", fmt.Errorf("%q: Icechunk reads no files of network shares: give the share a drive letter, and build the manifest by it: %w", path, errors.ErrUnsupported)
	case drive == "" && strings.LastIndexByte(below, '/') < 1, !strings.HasPrefix(below, "/"):
		return "", fmt.Errorf("%q: Icechunk reads files by absolute paths, and none directly in /: move the file: %w", path, errors.ErrUnsupported)
	case drive != "":
		drive = "/" + drive
	}
	return "file://" + drive + escape(below), nil
}

// httpLocation returns a URL that is one already. A query is not part of what Icechunk asks
// for, and a password is nobody's to hand on.
func httpLocation(name string) (string, error) {
	u, err := url.Parse(name)
	if err != nil {
		return "", err
	}
	switch {
	case u.User != nil:
		return "", fmt.Errorf("%s: a user and a password stand in the URL, which every reader of the export would see: %w", u.Redacted(), errors.ErrUnsupported)
	case u.RawQuery != "" || u.ForceQuery:
		return "", fmt.Errorf("%s: Icechunk leaves out what stands behind the ?: %w", u.Redacted(), errors.ErrUnsupported)
	}
	host := strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	return u.Scheme + "://" + host + u.EscapedPath(), nil
}

// escape percent-encodes all but slashes and what is never special.
func escape(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c == '/' || unreserved(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// check returns the precondition that a read of a source makes. Icechunk has no other check
// than that: If-Unmodified-Since with the seconds or If-Match with the ETag.
//
//	files   the next whole second after the change, since theirs are finer
//	S3      the ETag
//	others  the time of the last change, which servers know to the second
func check(s manifest.Source, where string) (k refKind, seconds uint32, etag string) {
	if strings.HasPrefix(where, "s3://") && s.ETag != "" && !strings.HasPrefix(s.ETag, "W/") {
		return tagged, 0, s.ETag
	}
	if s.Modified.IsZero() {
		return virtual, 0, ""
	}
	at := s.Modified.Truncate(time.Second)
	if at.Before(s.Modified) {
		at = at.Add(time.Second)
	}
	if at.Unix() > math.MaxUint32 {
		return virtual, 0, ""
	}
	return modified, uint32(max(at.Unix(), 1)), ""
}

// stores are the kinds of stores that virtual chunks can be in, by scheme.
var stores = map[string]string{
	"file": "local_file_system", "http": "http", "https": "http", "s3": "s3",
	"gs": "gcs", "gcs": "gcs", "az": "azure", "azure": "azure", "abfs": "azure",
}

// reach collects where virtual chunks are, as the longest folders that hold all sources of a
// server: those are what a reader has to allow.
type reach struct {
	mu       sync.Mutex
	prefixes map[string]string // by scheme and server; below / by the first folder
}

// add notes a location.
func (r *reach) add(where string) {
	scheme, rest, _ := strings.Cut(where, "://")
	parts := strings.Split(rest, "/")
	top := 1 // a server, or the root
	if scheme == "file" && len(parts) > 2 {
		top = 2 // a container of all files is refused
	}
	// Icechunk compares prefixes with names that are not escaped, and writers compare
	// them with names that are: only what is the same both ways does for both.
	folders := top
	for folders < len(parts)-1 && !strings.Contains(parts[folders], "%") {
		folders++
	}
	key := scheme + "://" + strings.Join(parts[:top], "/") + "/"
	prefix := scheme + "://" + strings.Join(parts[:folders], "/") + "/"
	if plain, err := url.PathUnescape(prefix); err == nil {
		prefix = plain
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.prefixes == nil {
		r.prefixes = map[string]string{}
	}
	if old, ok := r.prefixes[key]; ok {
		prefix = common(old, prefix)
	}
	r.prefixes[key] = prefix
}

// common returns the longest folder that holds two.
func common(a, b string) string {
	for !strings.HasPrefix(b, a) {
		a = a[:strings.LastIndexByte(a[:len(a)-1], '/')+1]
	}
	return a
}

// list returns the prefixes.
func (r *reach) list() []string {
	out := []string{}
	for _, p := range r.prefixes {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// covers reports whether a container is one that holds everything under a prefix.
func covers(containers map[string]any, prefix string) bool {
	for name, c := range containers {
		if m, ok := c.(map[string]any); ok {
			if p, ok := m["url_prefix"].(string); ok {
				name = p
			}
		}
		if strings.HasPrefix(prefix, strings.TrimSuffix(name, "/")+"/") {
			return true
		}
	}
	return false
}

// withContainers adds containers to a configuration, nil for none, and reports whether there
// was any to add.
func withContainers(config []byte, prefixes []string, s3 S3) (out []byte, added []string, err error) {
	root := map[string]any{}
	if config != nil {
		v, err := decodeFlex(config)
		if err != nil {
			return nil, nil, fmt.Errorf("the configuration of the repository: %w", err)
		}
		if m, ok := v.(map[string]any); ok {
			root = m
		}
	}
	containers, ok := root["virtual_chunk_containers"].(map[string]any)
	if !ok {
		containers = map[string]any{}
		root["virtual_chunk_containers"] = containers
	}
	for _, prefix := range prefixes {
		if !covers(containers, prefix) {
			containers[prefix] = container(prefix, s3)
			added = append(added, prefix)
		}
	}
	if len(added) == 0 && config != nil {
		return config, nil, nil
	}
	out, err = encodeFlex(root)
	return out, added, err
}

func container(prefix string, s3 S3) map[string]any {
	scheme, rest, _ := strings.Cut(prefix, "://")
	kind := stores[scheme]
	var config any = map[string]any{}
	switch kind {
	case "local_file_system":
		config = rest
		if drive := filepath.VolumeName(strings.TrimPrefix(rest, "/")); drive != "" {
			config = strings.TrimPrefix(rest, "/")
		}
	case "s3":
		config = s3.config()
	}
	return map[string]any{"url_prefix": prefix, "store": map[string]any{kind: config}}
}

// S3 says how a reader reaches the S3 buckets that virtual chunks are in. Credentials are the
// reader's own.
type S3 struct {
	Region    string
	Endpoint  string // empty for Amazon's
	Anonymous bool
	AllowHTTP bool
	PathStyle bool
}

func (s S3) config() map[string]any {
	m := map[string]any{"anonymous": s.Anonymous, "allow_http": s.AllowHTTP, "force_path_style": s.PathStyle}
	if s.Region != "" {
		m["region"] = s.Region
	}
	if s.Endpoint != "" {
		m["endpoint_url"] = s.Endpoint
	}
	return m
}

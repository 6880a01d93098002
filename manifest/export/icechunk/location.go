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

// location returns the URL of a source for Icechunk. Icechunk parses URLs, so special bytes are
// percent-encoded as in RFC 3986.
func location(name string) (string, error) {
	if outer, steps := source.CutPacked(name); steps != "" {
		return "", fmt.Errorf("%s: virtual chunks cannot be in a compressed file or an archive (%s); use varve export zarr, varve serve, or unpack %s: %w",
			source.Shown(name), steps, source.Shown(outer), errors.ErrUnsupported)
	}
	if path, err := source.LocalPath(name); err == nil {
		if !utf8.ValidString(path) {
			return "", fmt.Errorf("%q: the name is not UTF-8, which Icechunk requires; rename the file: %w", name, errors.ErrUnsupported)
		}
		return fileLocation(path)
	}
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok {
		return "", fmt.Errorf("%q: want a path or a URL", name)
	}
	if scheme == "http" || scheme == "https" {
		return httpLocation(name)
	}
	if _, known := stores[scheme]; !known {
		return "", fmt.Errorf("%s: Icechunk does not support virtual chunks in %s: %w", name, scheme, errors.ErrUnsupported)
	}
	host, key, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + "/" + escape(key), nil
}

// fileLocation returns the URL of a local file. The colon of a Windows drive is not escaped.
func fileLocation(path string) (string, error) {
	drive := filepath.VolumeName(path)
	below := filepath.ToSlash(path[len(drive):])
	switch {
	case len(drive) > len("C:"):
		return "", fmt.Errorf("%q: Icechunk does not read network shares; map the share to a drive letter and build the manifest with it: %w", path, errors.ErrUnsupported)
	case drive == "" && strings.LastIndexByte(below, '/') < 1, !strings.HasPrefix(below, "/"):
		return "", fmt.Errorf("%q: Icechunk needs an absolute path with a folder below /; move the file: %w", path, errors.ErrUnsupported)
	case drive != "":
		drive = "/" + drive
	}
	return "file://" + drive + escape(below), nil
}

// httpLocation returns an HTTP URL in normal form. Icechunk does not send queries, and the export must not
// contain passwords.
func httpLocation(name string) (string, error) {
	u, err := url.Parse(name)
	if err != nil {
		return "", err
	}
	switch {
	case u.User != nil:
		return "", fmt.Errorf("%s: the URL contains a user name or password, which every reader of the export would see: %w", u.Redacted(), errors.ErrUnsupported)
	case u.RawQuery != "" || u.ForceQuery:
		return "", fmt.Errorf("%s: Icechunk does not send the query after the ?: %w", u.Redacted(), errors.ErrUnsupported)
	}
	host := strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	return u.Scheme + "://" + host + u.EscapedPath(), nil
}

// escape percent-encodes all bytes except slashes and RFC 3986's unreserved characters.
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

// check returns the precondition for reads of a source. Icechunk supports two: If-Unmodified-Since, in whole
// seconds, and If-Match with an ETag.
//
//	files   the modification time, rounded up to a second
//	S3      the ETag
//	others  the modification time, which servers report in seconds
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

// stores maps URL schemes to Icechunk's names of virtual chunk stores.
var stores = map[string]string{
	"file": "local_file_system", "http": "http", "https": "http", "s3": "s3",
	"gs": "gcs", "gcs": "gcs", "az": "azure", "azure": "azure", "abfs": "azure",
}

// reach collects the prefixes that readers have to allow: per server, the longest folder that contains all
// its sources.
type reach struct {
	named []named // containers, the longest prefix first

	mu       sync.Mutex
	used     []bool            // for each of named, whether a source is in it
	prefixes map[string]string // by scheme and server; local files also by the first folder
}

// add includes a location.
func (r *reach) add(where string) {
	scheme, rest, _ := strings.Cut(where, "://")
	parts := strings.Split(rest, "/")
	top := 1 // the server, or the root
	if scheme == "file" && len(parts) > 2 {
		top = 2 // Icechunk rejects a container of all local files
	}
	// Icechunk compares prefixes with unescaped names, and other writers compare them with escaped names. So
	// the prefix ends before the first name that needs escaping.
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

// common returns the longest folder that contains both.
func common(a, b string) string {
	for !strings.HasPrefix(b, a) {
		a = a[:strings.LastIndexByte(a[:len(a)-1], '/')+1]
	}
	return a
}

// list returns the sorted prefixes.
func (r *reach) list() []string {
	out := []string{}
	for _, p := range r.prefixes {
		out = append(out, p)
	}
	for i, c := range r.named {
		if r.used != nil && r.used[i] {
			out = append(out, c.prefix)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// nameOf returns the name of the container with a prefix, or "".
func (r *reach) nameOf(prefix string) string {
	for _, c := range r.named {
		if c.prefix == prefix {
			return c.name
		}
	}
	return ""
}

// covers reports whether a container in the configuration includes everything below prefix.
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

// withContainers adds the containers that a configuration lacks, and returns their prefixes. A nil
// configuration is empty.
func withContainers(config []byte, prefixes []string, nameOf func(prefix string) string, s3 S3) (out []byte, added []string, err error) {
	root := map[string]any{}
	if config != nil {
		v, err := decodeFlex(config)
		if err != nil {
			return nil, nil, fmt.Errorf("configuration of the repository: %w", err)
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
		name := nameOf(prefix)
		if name == "" && !covers(containers, prefix) {
			containers[prefix] = container(prefix, s3)
			added = append(added, prefix)
		}
		if name == "" {
			continue
		}
		// A relative reference needs the container of its name, even if another one includes the prefix.
		known, ok := containers[prefix].(map[string]any)
		if !ok {
			known = container(prefix, s3)
		}
		if known["name"] != name {
			known["name"], containers[prefix] = name, known
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

// S3 configures how readers reach the S3 buckets of virtual chunks. Credentials are not stored; readers
// supply their own.
type S3 struct {
	Region    string
	Endpoint  string // empty for Amazon S3
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

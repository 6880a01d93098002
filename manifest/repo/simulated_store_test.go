package repo

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve/manifest/internal/home"
)

// simulatedStore is an object store in a world. It speaks the protocol of Amazon S3, Google Cloud Storage or Azure Blob
// Storage, as far as a repository uses it, and behaves as docs/reference/stores.md says that these may.
type simulatedStore struct {
	world   *world
	dialect string // s3, gs or az
	opaque  bool   // S3: ETags are not digests of contents, as with encryption by KMS
	random  *rand.Rand
	objects map[string]*simulatedObject // by key
	stored  int                         // number of stored objects
	// ignoresConditions makes the store a broken one, which no repository can use safely.
	ignoresConditions func(key string) bool
}

type simulatedObject struct {
	content  []byte
	version  string
	modified time.Time
}

// processKey is the key of the *process in a context.
type processKey struct{}

// onlyOnce is the key of a mark in a context: its requests are not repeated.
type onlyOnce struct{}

// RoundTrip sends a request as soon as the scheduler chooses it.
func (s *simulatedStore) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	by := req.Context().Value(processKey{}).(*process)
	name := req.Method + " " + req.URL.Path + " " + req.URL.Query().Get("name")
	a := s.world.turn(req.Context(), by, name,
		func() any { return s.answer(req, body) },
		func() any { return complaint(req, http.StatusServiceUnavailable, "SlowDown") })
	switch a := a.(type) {
	case *http.Response:
		return a, nil
	case error:
		if a == errBroken && req.Context().Value(onlyOnce{}) != nil {
			a = errKilled // so that the request is not repeated
		}
		return nil, a
	}
	panic("no answer")
}

func reply(req *http.Request, status int, header map[string]string, body []byte) *http.Response {
	r := &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: req, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	if req.Method == http.MethodHead {
		r.Body = http.NoBody
	}
	return r
}

func complaint(req *http.Request, status int, code string) *http.Response {
	return reply(req, status, map[string]string{"X-Ms-Error-Code": code}, []byte("<Error><Code>"+code+"</Code></Error>"))
}

// answer executes a request.
func (s *simulatedStore) answer(req *http.Request, body []byte) *http.Response {
	query := req.URL.Query()
	key := strings.TrimPrefix(req.URL.Path, "/bucket/")
	switch {
	case query.Has("list-type") || query.Get("comp") == "list":
		return s.list(req, query)
	case query.Get("uploadType") == "multipart":
		return s.put(req, query.Get("name"), content(body, req.Header.Get("Content-Type")))
	case query.Has("delete"):
		return s.deleteAll(req, body)
	case req.Method == http.MethodPut:
		return s.put(req, key, body)
	case req.Method == http.MethodDelete:
		return s.delete(req, key)
	}
	o := s.objects[key]
	if o == nil {
		return complaint(req, http.StatusNotFound, "NoSuchKey")
	}
	return reply(req, http.StatusOK, map[string]string{
		"ETag": o.version, "X-Goog-Generation": strings.Trim(o.version, `"`), "Last-Modified": o.modified.UTC().Format(http.TimeFormat),
	}, o.content)
}

// content returns the second part of an upload to Google.
func content(body []byte, contentType string) []byte {
	_, line, _ := strings.Cut(contentType, "boundary=")
	parts := bytes.Split(body, []byte("--"+line))
	_, data, _ := bytes.Cut(parts[2], []byte("\r\n\r\n"))
	return bytes.TrimSuffix(data, []byte("\r\n"))
}

// put stores an object if the request's condition holds.
func (s *simulatedStore) put(req *http.Request, key string, content []byte) *http.Response {
	o := s.objects[key]
	query, header := req.URL.Query(), req.Header
	match, none := header.Get("If-Match"), header.Get("If-None-Match") == "*"
	if generation := query.Get("ifGenerationMatch"); generation != "" {
		none = generation == "0"
		if !none {
			match = `"` + generation + `"`
		}
	}
	conditional := match != "" || none
	if s.ignoresConditions != nil && s.ignoresConditions(key) {
		match, none, conditional = "", false, false
	}
	switch {
	case conditional && s.dialect == "s3" && s.random.IntN(50) == 0:
		// Amazon may answer so while another request for the same key is in progress.
		return complaint(req, http.StatusConflict, "ConditionalRequestConflict")
	case s.dialect == "gs" && o != nil && time.Since(o.modified) < time.Second && s.random.IntN(50) == 0:
		return complaint(req, http.StatusTooManyRequests, "SlowDown") // one update of an object per second
	case match != "" && o == nil && s.dialect == "s3":
		return complaint(req, http.StatusNotFound, "NoSuchKey")
	case none && o != nil && s.dialect == "az":
		return complaint(req, http.StatusConflict, "BlobAlreadyExists")
	case match != "" && (o == nil || match != o.version), none && o != nil:
		return complaint(req, http.StatusPreconditionFailed, "PreconditionFailed")
	}
	s.stored++
	version := fmt.Sprintf(`"%d"`, s.stored)
	if s.dialect == "s3" && !s.opaque {
		version = fmt.Sprintf(`"%x"`, md5.Sum(content))
	}
	s.objects[key] = &simulatedObject{content, version, time.Now().Add(s.skew())}
	s.world.history.stored(s.below(key), content)
	return reply(req, http.StatusOK, map[string]string{"ETag": version, "X-Goog-Generation": strings.Trim(version, `"`)}, nil)
}

// clockError is the largest difference between the clocks of a store's servers.
const clockError = 2 * time.Second

func (s *simulatedStore) skew() time.Duration {
	return time.Duration(s.random.Int64N(int64(2*clockError))) - clockError
}

const simulatedRoot = "a/b.varve/"

func (s *simulatedStore) below(key string) string { return strings.TrimPrefix(key, simulatedRoot) }

func (s *simulatedStore) delete(req *http.Request, key string) *http.Response {
	if s.objects[key] == nil && s.dialect != "s3" {
		return complaint(req, http.StatusNotFound, "NoSuchKey")
	}
	delete(s.objects, key)
	s.world.history.removed(s.below(key))
	return reply(req, http.StatusNoContent, nil, nil)
}

// deleteAll removes several objects in any order.
func (s *simulatedStore) deleteAll(req *http.Request, body []byte) *http.Response {
	var list struct {
		Object []struct{ Key string }
	}
	if err := xml.Unmarshal(body, &list); err != nil {
		panic(err)
	}
	s.random.Shuffle(len(list.Object), func(i, k int) { list.Object[i], list.Object[k] = list.Object[k], list.Object[i] })
	for _, o := range list.Object {
		s.delete(req, o.Key)
	}
	return reply(req, http.StatusOK, nil, []byte("<DeleteResult></DeleteResult>"))
}

// list answers with all entries of a folder, on pages of five.
func (s *simulatedStore) list(req *http.Request, query url.Values) *http.Response {
	const most = 5
	prefix, after := query.Get("prefix"), query.Get("continuation-token")+query.Get("marker")
	entries := map[string]string{}
	for key, o := range s.objects {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		folder, _, deeper := strings.Cut(rest, "/")
		switch {
		case deeper && s.dialect == "az":
			entries[prefix+folder+"/"] = "<BlobPrefix><Name>" + prefix + folder + "/</Name></BlobPrefix>"
		case deeper:
			entries[prefix+folder+"/"] = "<CommonPrefixes><Prefix>" + prefix + folder + "/</Prefix></CommonPrefixes>"
		case s.dialect == "az":
			entries[key] = fmt.Sprintf("<Blob><Name>%s</Name><Properties><Last-Modified>%s</Last-Modified><Etag>%s</Etag><Content-Length>%d</Content-Length></Properties></Blob>",
				key, o.modified.UTC().Format(http.TimeFormat), o.version, len(o.content))
		default:
			entries[key] = fmt.Sprintf("<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s</ETag><Size>%d</Size></Contents>",
				key, o.modified.UTC().Format("2006-01-02T15:04:05.000Z"), o.version, len(o.content))
		}
	}
	var page strings.Builder
	next, n, last := "", 0, ""
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if key <= after {
			continue
		}
		if n == most {
			next = last
			break
		}
		page.WriteString(entries[key])
		n, last = n+1, key
	}
	text := "<ListBucketResult>" + page.String()
	if next != "" {
		text += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + next + "</NextContinuationToken>"
	}
	text += "</ListBucketResult>"
	if s.dialect == "az" {
		text = "<EnumerationResults><Blobs>" + page.String() + "</Blobs><NextMarker>" + next + "</NextMarker></EnumerationResults>"
	}
	if err := xml.Unmarshal([]byte(text), new(struct{})); err != nil {
		panic(err)
	}
	return reply(req, http.StatusOK, map[string]string{"Content-Type": "application/xml"}, []byte(text))
}

// open returns the files of a process.
func (s *simulatedStore) open(ctx context.Context) (*objects, error) {
	p, err := home.OpenPrefix(ctx, s.dialect+"://bucket/"+strings.TrimSuffix(simulatedRoot, "/"), s.world.opener())
	if err != nil {
		return nil, err
	}
	return &objects{Prefix: p}, nil
}

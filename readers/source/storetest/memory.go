package storetest

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Memory is an object store in this process. It implements the part of Amazon's S3 that varve uses: reading, conditional
// storing, storing in parts, removing, and listing with small pages. All buckets exist.
type Memory struct {
	// CarelessInParts makes it ignore them only for objects that are stored in parts.
	CarelessInParts bool
	// OneByOne makes the store refuse to remove many objects with one request.
	OneByOne bool
	// Opaque makes ETags that are not digests of contents.
	Opaque bool

	url string

	mu       sync.Mutex
	fault    func(r *http.Request) Fault
	careless bool
	objects  map[string]*memoryObject // by bucket/key
	uploads  map[string]map[int][]byte
	begun    int
	log      []string
	late     time.Duration // added to the clock
}

type memoryObject struct {
	content  []byte
	tag      string
	modified time.Time
}

// Fault handles a request in place of the store. done executes the request without sending its answer.
type Fault func(w http.ResponseWriter, done func())

// The faults.
var (
	// Busy answers 503 and does nothing.
	Busy Fault = func(w http.ResponseWriter, _ func()) { complain(w, http.StatusServiceUnavailable, "SlowDown") }
	// Denied answers 403 and does nothing.
	Denied Fault = func(w http.ResponseWriter, _ func()) { complain(w, http.StatusForbidden, "AccessDenied") }
	// Lost executes the request, but its answer is lost.
	Lost Fault = func(_ http.ResponseWriter, done func()) {
		done()
		panic(http.ErrAbortHandler)
	}
	// Cut breaks the connection and does nothing.
	Cut Fault = func(http.ResponseWriter, func()) { panic(http.ErrAbortHandler) }
)

// NewMemory starts a store, which stops at the end of the test, and sets the environment so that varve uses it.
func NewMemory(t testing.TB) *Memory {
	t.Helper()
	m := &Memory{objects: map[string]*memoryObject{}, uploads: map[string]map[int][]byte{}}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.url = server.URL
	Setenv(t, map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_NO_SIGN_REQUEST": "YES"})
	return m
}

// SetFault sets the function that is called before each request, unless it is nil. It returns the fault to apply, or nil.
func (m *Memory) SetFault(fault func(r *http.Request) Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = fault
}

// SetCareless makes the store ignore conditions when it stores objects, or not.
func (m *Memory) SetCareless(is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.careless = is
}

// Log returns the requests since the last call, such as "GET bucket/key".
func (m *Memory) Log() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	log := m.log
	m.log = nil
	return log
}

// Put stores an object. name is its bucket and key, joined by a slash.
func (m *Memory) Put(name string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(name, content)
}

func (m *Memory) put(name string, content []byte) string {
	tag := fmt.Sprintf(`"%x"`, md5.Sum(content))
	if m.Opaque {
		// Still of the form of a digest, so that only a comparison with the content shows the difference.
		tag = fmt.Sprintf(`"%x"`, md5.Sum([]byte(tag)))
	}
	m.objects[name] = &memoryObject{slices.Clone(content), tag, m.now()}
	return tag
}

func (m *Memory) now() time.Time { return time.Now().Add(m.late) }

// Pass advances the store's clock.
func (m *Memory) Pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.late += d
}

// Get returns the content of an object, or nil if it does not exist.
func (m *Memory) Get(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.objects[name]; o != nil {
		return slices.Clone(o.content)
	}
	return nil
}

// Remove removes an object.
func (m *Memory) Remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
}

// Names returns the names of all objects that begin with prefix, sorted.
func (m *Memory) Names(prefix string) (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.objects {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Uploads returns the number of uploads in parts that are not completed.
func (m *Memory) Uploads() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.uploads)
}

// ServeHTTP answers a request.
func (m *Memory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	body, err := io.ReadAll(r.Body)
	if err != nil || int64(len(body)) != r.ContentLength {
		complain(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	m.mu.Lock()
	m.log = append(m.log, r.Method+" "+name)
	fault := m.fault
	m.mu.Unlock()
	if fault != nil {
		if f := fault(r); f != nil {
			// The recorder swallows the answer, so that a fault can execute the request and lose the answer.
			f(w, func() { m.answer(httptest.NewRecorder(), r, name, body) })
			return
		}
	}
	m.answer(w, r, name, body)
}

func (m *Memory) answer(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	query := r.URL.Query()
	if sum := r.Header.Get("Content-Md5"); sum != "" {
		if is := md5.Sum(body); sum != base64.StdEncoding.EncodeToString(is[:]) {
			complain(w, http.StatusBadRequest, "BadDigest")
			return
		}
	}
	switch {
	case query.Has("list-type"):
		m.list(w, r, name)
	case query.Has("uploads"):
		m.begun++
		id := strconv.Itoa(m.begun)
		m.uploads[id] = map[int][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case query.Has("uploadId"):
		m.upload(w, r, name, body)
	case query.Has("delete"):
		m.removeAll(w, r, strings.TrimSuffix(name, "/"), body)
	case r.Method == http.MethodPut:
		m.store(w, r, name, body)
	case r.Method == http.MethodDelete:
		delete(m.objects, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		m.read(w, r, name)
	}
}

func complain(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

func (m *Memory) read(w http.ResponseWriter, r *http.Request, name string) {
	o := m.objects[name]
	if o == nil {
		complain(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", o.tag)
	http.ServeContent(w, r, "", o.modified, bytes.NewReader(o.content))
}

func (m *Memory) store(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	if !m.careless && !m.mayStore(w, r, name) {
		return
	}
	w.Header().Set("ETag", m.put(name, body))
}

// mayStore reports whether the request's condition holds. If not, it answers the request.
func (m *Memory) mayStore(w http.ResponseWriter, r *http.Request, name string) bool {
	o := m.objects[name]
	match := r.Header.Get("If-Match")
	switch {
	case match != "" && o == nil:
		complain(w, http.StatusNotFound, "NoSuchKey")
		return false
	case match != "" && match != o.tag, r.Header.Get("If-None-Match") == "*" && o != nil:
		complain(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return false
	}
	return true
}

func (m *Memory) upload(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	id := r.URL.Query().Get("uploadId")
	parts := m.uploads[id]
	switch {
	case parts == nil:
		complain(w, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodDelete:
		delete(m.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		n, err := strconv.Atoi(r.URL.Query().Get("partNumber"))
		if err != nil {
			complain(w, http.StatusBadRequest, "InvalidArgument")
			return
		}
		parts[n] = slices.Clone(body)
		w.Header().Set("ETag", partTag(body))
	case m.careless || m.CarelessInParts || m.mayStore(w, r, name):
		m.complete(w, name, id, body)
	}
}

// removeAll removes up to 1,000 objects. The request must have a digest.
func (m *Memory) removeAll(w http.ResponseWriter, r *http.Request, bucket string, body []byte) {
	var list struct {
		Object []struct{ Key string }
	}
	switch err := xml.Unmarshal(body, &list); {
	case m.OneByOne:
		complain(w, http.StatusNotImplemented, "NotImplemented")
		return
	case err != nil || len(list.Object) == 0 || len(list.Object) > 1000 || r.Header.Get("Content-Md5") == "":
		complain(w, http.StatusBadRequest, "MalformedXML")
		return
	}
	for _, o := range list.Object {
		delete(m.objects, bucket+"/"+o.Key)
	}
	fmt.Fprint(w, "<DeleteResult></DeleteResult>")
}

func partTag(part []byte) string { return fmt.Sprintf(`"part-%x"`, md5.Sum(part)) }

// complete completes an upload like Amazon: an answer with status 200 may contain an error, and the ETag is not a digest of the
// content.
func (m *Memory) complete(w http.ResponseWriter, name, id string, body []byte) {
	var list struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	var whole []byte
	err := xml.Unmarshal(body, &list)
	for i, p := range list.Part {
		part, ok := m.uploads[id][p.PartNumber]
		if !ok || p.PartNumber != i+1 || p.ETag != partTag(part) {
			err = cmp.Or(err, fmt.Errorf("part %d", i))
		}
		whole = append(whole, part...)
	}
	if err != nil || len(list.Part) == 0 || len(list.Part) != len(m.uploads[id]) {
		complain(w, http.StatusOK, "InvalidPart")
		return
	}
	delete(m.uploads, id)
	m.put(name, whole)
	m.objects[name].tag = fmt.Sprintf(`"%x-%d"`, md5.Sum(body), len(list.Part))
	fmt.Fprint(w, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
}

// memoryPage is the number of objects per page. It is small, so that tests need several pages.
const memoryPage = 7

func (m *Memory) list(w http.ResponseWriter, r *http.Request, bucket string) {
	query := r.URL.Query()
	prefix, after := query.Get("prefix"), query.Get("continuation-token")
	most := memoryPage
	if n, err := strconv.Atoi(query.Get("max-keys")); err == nil {
		most = min(most, n)
	}
	entries := map[string]string{} // XML of the entries, by key
	for name, o := range m.objects {
		key, ok := strings.CutPrefix(name, strings.TrimSuffix(bucket, "/")+"/")
		rest, below := strings.CutPrefix(key, prefix)
		if !ok || !below {
			continue
		}
		if folder, _, deeper := strings.Cut(rest, "/"); deeper && query.Has("delimiter") {
			at := prefix + folder + "/"
			entries[at] = "<CommonPrefixes><Prefix>" + escaped(at) + "</Prefix></CommonPrefixes>"
			continue
		}
		entries[key] = fmt.Sprintf("<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s</ETag><Size>%d</Size></Contents>",
			escaped(key), o.modified.UTC().Format("2006-01-02T15:04:05.000Z"), escaped(o.tag), len(o.content))
	}
	var page strings.Builder
	n, last := 0, ""
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if key <= after {
			continue
		}
		if n == most {
			fmt.Fprintf(&page, "<IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken>", escaped(last))
			break
		}
		page.WriteString(entries[key])
		n, last = n+1, key
	}
	fmt.Fprintf(w, "<ListBucketResult>%s</ListBucketResult>", page.String())
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // writing to memory cannot fail
	return b.String()
}

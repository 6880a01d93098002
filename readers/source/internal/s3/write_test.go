package s3

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"varve/readers/source/internal/object"
)

// TestPutInAnotherRegion checks that a body is sent again from its start after a redirect to the bucket's region.
func TestPutInAnotherRegion(t *testing.T) {
	server := &reading{answers: answers{next: []*http.Response{answer(301, "", "X-Amz-Bucket-Region", "eu-west-1"), answer(200, "")}}}
	s := example()
	q := s.Put(&object.Put{Bucket: "examplebucket", Key: "a b", MD5: []byte("sum"), If: &object.Condition{}})
	req, err := http.NewRequestWithContext(t.Context(), q.Method, q.URL.String(), strings.NewReader("content"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = q.Header
	if _, err := s.Transport("examplebucket", server).RoundTrip(req); err != nil {
		t.Fatal(err)
	}
	if len(server.bodies) != 2 || server.bodies[1] != "content" || server.requests[1].URL.Host != "examplebucket.s3.eu-west-1.amazonaws.com" {
		t.Errorf("sent %q to %s", server.bodies, server.requests[len(server.requests)-1].URL)
	}
	for _, name := range []string{"if-none-match", "content-md5", "content-length"} {
		if signed := server.requests[1].Header.Get("Authorization"); !strings.Contains(signed, name) {
			t.Errorf("%s is not signed: %s", name, signed)
		}
	}
}

// reading reads the bodies of requests.
type reading struct {
	answers
	bodies []string
}

func (r *reading) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.bodies = append(r.bodies, string(body))
	return r.answers.RoundTrip(req)
}

func TestSession(t *testing.T) {
	s := example()
	p := &object.Put{Bucket: "examplebucket", Key: "k"}
	const id = "a/b+c=="
	begun, err := s.Session(p, nil, []byte("<InitiateMultipartUploadResult><UploadId>"+id+"</UploadId></InitiateMultipartUploadResult>"))
	if err != nil {
		t.Fatal(err)
	}
	part := begun.Part(&object.Part{Number: 1})
	if q := part.URL.Query(); q.Get("uploadId") != id || q.Get("partNumber") != "2" {
		t.Errorf("a part goes to %s", part.URL)
	}
	done := begun.Done([]string{`"x"`, `"y"`})
	if want := "<Part><PartNumber>2</PartNumber><ETag>&#34;y&#34;</ETag></Part></CompleteMultipartUpload>"; !strings.HasSuffix(string(done.Before), want) {
		t.Errorf("the last request is %s", done.Before)
	}
	for _, body := range []string{"", "<html>", "<Error><Code>NoSuchBucket</Code></Error>", "<InitiateMultipartUploadResult></InitiateMultipartUploadResult>"} {
		if _, err := s.Session(p, nil, []byte(body)); err == nil {
			t.Errorf("%q begins an upload", body)
		}
	}
}

// TestUnremoved reads answers to DeleteObjects.
func TestUnremoved(t *testing.T) {
	s := newService(nil)
	got, err := s.Unremoved([]byte(`<DeleteResult><Deleted><Key>a</Key></Deleted><Error><Key>b/c</Key><Code>SlowDown</Code></Error><Error><Key>d</Key><Code>NoSuchKey</Code></Error></DeleteResult>`))
	if err != nil || !slices.Equal(got, []string{"b/c"}) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := s.Unremoved([]byte("<html>")); err == nil {
		t.Error("a page was taken for an answer")
	}
	if q := s.RemoveAll("bucket", []string{"a", "b\x01"}); q != nil {
		t.Errorf("a key that XML cannot have: %q", q.Before)
	}
}

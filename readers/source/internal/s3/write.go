package s3

import (
	"crypto/md5"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve/readers/source/internal/object"
)

// Put returns the request that stores an object, if its ETag matches p.If: "PutObject", with "If-None-Match: *" or "If-Match".
func (s *Service) Put(p *object.Put) *object.Request {
	r := object.NewRequest(http.MethodPut, object.Under(s.base(p.Bucket, s.region), p.Key), "Content-Md5", object.Sum(p.MD5))
	r.Conditional(p.If)
	return r
}

// Remove returns the request that removes an object: "DeleteObject". Its answer does not contain whether the object existed.
func (s *Service) Remove(bucket, key string) *object.Request {
	return object.NewRequest(http.MethodDelete, object.Under(s.base(bucket, s.region), key))
}

// RemoveAll returns the request that removes objects: "DeleteObjects". Amazon requires a digest of its body. It returns nil if
// a key cannot be in the body.
//
//	POST /bucket?delete      <Delete><Quiet>true</Quiet><Object><Key>a/b</Key></Object>…
func (s *Service) RemoveAll(bucket string, keys []string) *object.Request {
	type one struct{ Key string }
	list := struct {
		XMLName xml.Name `xml:"Delete"`
		Quiet   bool
		Object  []one
	}{Quiet: true}
	for _, key := range keys {
		if !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) {
			return nil // XML cannot have it
		}
		list.Object = append(list.Object, one{key})
	}
	body, err := xml.Marshal(&list)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	sum := md5.Sum(body)
	at := s.base(bucket, s.region)
	if at.Path == "" {
		at = object.Under(at, "")
	}
	r := object.NewRequest(http.MethodPost, object.WithQuery(at, "delete", ""), "Content-Type", "application/xml", "Content-Md5", object.Sum(sum[:]))
	r.Before = body
	return r
}

// Unremoved returns the keys in the errors of an answer to RemoveAll.
func (s *Service) Unremoved(body []byte) (keys []string, err error) {
	var result struct {
		XMLName xml.Name `xml:"DeleteResult"`
		Error   []struct{ Key, Code string }
	}
	if err := xml.Unmarshal(body, &result); err != nil {
		return nil, fmt.Errorf("the server's answer to removing objects: %w", err)
	}
	for _, e := range result.Error {
		if e.Code != "NoSuchKey" {
			keys = append(keys, e.Key)
		}
	}
	return keys, nil
}

// Version returns the ETag.
func (s *Service) Version(h http.Header) string { return h.Get("ETag") }

// Unsigned returns the reason why requests are not signed, or "".
func (s *Service) Unsigned() string { return s.keys.whyAnonymous() }

// Begin returns the request that begins an upload: "CreateMultipartUpload".
func (s *Service) Begin(p *object.Put) *object.Request {
	return object.NewRequest(http.MethodPost, object.WithQuery(object.Under(s.base(p.Bucket, s.region), p.Key), "uploads", ""))
}

// Session returns the requests of the upload whose id is in the answer to Begin:
//
//	PUT /key?partNumber=1&uploadId=ID       ETag: "…"
//	POST /key?uploadId=ID                   <CompleteMultipartUpload><Part>…
//	DELETE /key?uploadId=ID
//
// The request that completes the upload carries the condition, because it makes the object.
func (s *Service) Session(p *object.Put, _ http.Header, body []byte) (*object.Session, error) {
	var begun struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		UploadID string   `xml:"UploadId"`
	}
	if err := xml.Unmarshal(body, &begun); err != nil {
		return nil, fmt.Errorf("the server's answer to beginning an upload: %w", err)
	}
	if begun.UploadID == "" {
		return nil, errors.New("the server's answer to beginning an upload has no UploadId")
	}
	at := object.Under(s.base(p.Bucket, s.region), p.Key)
	whole := object.WithQuery(at, "uploadId", begun.UploadID)
	return &object.Session{
		Part: func(part *object.Part) *object.Request {
			u := object.WithQuery(at, "partNumber", strconv.Itoa(part.Number+1), "uploadId", begun.UploadID)
			return object.NewRequest(http.MethodPut, u, "Content-Md5", object.Sum(part.MD5))
		},
		Done: func(tags []string) *object.Request {
			r := object.NewRequest(http.MethodPost, whole, "Content-Type", "application/xml")
			r.Before = completion(tags)
			r.Conditional(p.If)
			return r
		},
		Abort: object.NewRequest(http.MethodDelete, whole),
	}, nil
}

// completion returns the body that completes an upload: the list of its parts.
func completion(tags []string) []byte {
	type part struct {
		PartNumber int
		ETag       string
	}
	list := struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []part
	}{}
	for i, tag := range tags {
		list.Part = append(list.Part, part{i + 1, tag})
	}
	text, err := xml.Marshal(&list)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	return text
}

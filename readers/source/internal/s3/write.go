package s3

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"varve/readers/source/internal/object"
)

// Put stores an object, on condition of its ETag: "PutObject", with "If-None-Match: *" or
// "If-Match".
func (s *Service) Put(p *object.Put) *object.Request {
	r := object.NewRequest(http.MethodPut, object.Under(s.base(p.Bucket, s.region), p.Key), "Content-Md5", object.Sum(p.MD5))
	r.Conditional(p.If)
	return r
}

// Remove removes an object, "DeleteObject", which says nothing of whether it was there.
func (s *Service) Remove(bucket, key string) *object.Request {
	return object.NewRequest(http.MethodDelete, object.Under(s.base(bucket, s.region), key))
}

// Version is the ETag.
func (s *Service) Version(h http.Header) string { return h.Get("ETag") }

// Unsigned says why nothing is signed.
func (s *Service) Unsigned() string { return s.keys.whyAnonymous() }

// Begin begins an upload: "CreateMultipartUpload".
func (s *Service) Begin(p *object.Put) *object.Request {
	return object.NewRequest(http.MethodPost, object.WithQuery(object.Under(s.base(p.Bucket, s.region), p.Key), "uploads", ""))
}

// Session is the upload with the id that the answer has:
//
//	PUT /key?partNumber=1&uploadId=ID       ETag: "…"
//	POST /key?uploadId=ID                   <CompleteMultipartUpload><Part>…
//	DELETE /key?uploadId=ID
//
// Conditions are those of the last but one, which makes the object.
func (s *Service) Session(p *object.Put, _ http.Header, body []byte) (*object.Session, error) {
	var begun struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		UploadID string   `xml:"UploadId"`
	}
	if err := xml.Unmarshal(body, &begun); err != nil {
		return nil, fmt.Errorf("the server's answer to beginning an upload: %w", err)
	}
	if begun.UploadID == "" {
		return nil, errors.New("the server begins an upload without saying how it is called")
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

// completion lists the parts of an upload.
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
		panic(err) // texts and numbers can be written
	}
	return text
}

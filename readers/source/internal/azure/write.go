package azure

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"varve/readers/source/internal/object"
)

// Put stores a blob, on condition of its ETag: "Put Blob".
func (s *Service) Put(p *object.Put) *object.Request {
	r := object.NewRequest(http.MethodPut, object.Under(s.endpoint, p.Bucket, p.Key), "Content-Md5", object.Sum(p.MD5), "X-Ms-Blob-Type", "BlockBlob")
	if r.Conditional(p.If); p.If != nil {
		r.Header.Set("X-Ms-Blob-Cache-Control", "no-cache")
	}
	return r
}

// Remove removes a blob: "Delete Blob".
func (s *Service) Remove(container, key string) *object.Request {
	return object.NewRequest(http.MethodDelete, object.Under(s.endpoint, container, key))
}

// Version is the ETag.
func (s *Service) Version(h http.Header) string { return h.Get("ETag") }

// Unsigned says why nothing is signed.
func (s *Service) Unsigned() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.anonymous
}

// Begin asks nothing: blocks can be stored before there is a blob.
func (s *Service) Begin(*object.Put) *object.Request { return nil }

// Session stores blocks, and then which of them make the blob:
//
//	PUT /container/blob?comp=block&blockid=ID
//	PUT /container/blob?comp=blocklist         <BlockList><Latest>ID</Latest>…
//
// The names of blocks are nobody else's, so that two who store the same blob do not mix theirs.
// Blocks that no list names are gone after a week.
func (s *Service) Session(p *object.Put, _ http.Header, _ []byte) (*object.Session, error) {
	at := object.Under(s.endpoint, p.Bucket, p.Key)
	own := rand.Text()
	id := func(n int) string { return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%06d", own, n)) }
	return &object.Session{
		Part: func(part *object.Part) *object.Request {
			u := object.WithQuery(at, "comp", "block", "blockid", id(part.Number))
			return object.NewRequest(http.MethodPut, u, "Content-Md5", object.Sum(part.MD5))
		},
		Done: func(tags []string) *object.Request {
			r := object.NewRequest(http.MethodPut, object.WithQuery(at, "comp", "blocklist"), "Content-Type", "application/xml")
			var b strings.Builder
			b.WriteString(`<?xml version="1.0" encoding="utf-8"?><BlockList>`)
			for n := range tags {
				b.WriteString("<Latest>" + id(n) + "</Latest>")
			}
			b.WriteString("</BlockList>")
			r.Before = []byte(b.String())
			if r.Conditional(p.If); p.If != nil {
				r.Header.Set("X-Ms-Blob-Cache-Control", "no-cache")
			}
			return r
		},
	}, nil
}

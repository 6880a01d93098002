package azure

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"varve/readers/source/internal/object"
)

// Put returns the request that stores a blob, if its ETag matches p.If: "Put Blob".
func (s *Service) Put(p *object.Put) *object.Request {
	r := object.NewRequest(http.MethodPut, object.Under(s.endpoint, p.Bucket, p.Key), "Content-Md5", object.Sum(p.MD5), "X-Ms-Blob-Type", "BlockBlob")
	if r.Conditional(p.If); p.If != nil {
		r.Header.Set("X-Ms-Blob-Cache-Control", "no-cache")
	}
	return r
}

// Remove returns the request that removes a blob: "Delete Blob".
func (s *Service) Remove(container, key string) *object.Request {
	return object.NewRequest(http.MethodDelete, object.Under(s.endpoint, container, key))
}

// Version returns the ETag.
func (s *Service) Version(h http.Header) string { return h.Get("ETag") }

// Unsigned returns the reason why requests are not signed, or "".
func (s *Service) Unsigned() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.anonymous
}

// Begin returns nil: blocks can be stored before the blob exists.
func (s *Service) Begin(*object.Put) *object.Request { return nil }

// Session returns the requests that store blocks, and then the list of blocks that make the blob:
//
//	PUT /container/blob?comp=block&blockid=ID
//	PUT /container/blob?comp=blocklist         <BlockList><Latest>ID</Latest>…
//
// The ids of blocks are random, so that two writers of the same blob do not mix their blocks. Azure removes blocks that no
// list contains after a week.
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

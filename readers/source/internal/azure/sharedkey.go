package azure

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// signature returns the signature of a request with the account's key. Specification: "Authorize with Shared Key" of the
// Azure Storage documentation. It is the HMAC-SHA-256 of
//
//	GET\n                    the method
//	\n\n…                    the values of eleven headers
//	x-ms-date:…\n            all headers that begin with x-ms-, sorted by name
//	x-ms-version:…\n
//	/account/container/blob  the account's name, then the path
//	\ncomp:list              each parameter of the query, decoded, sorted by name
func (s *Service) signature(req *http.Request) string {
	var b strings.Builder
	b.WriteString(req.Method)
	for _, name := range []string{
		"Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type",
		"Date", "If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range",
	} {
		value := req.Header.Get(name)
		if name == "Content-Length" && req.ContentLength > 0 {
			value = strconv.FormatInt(req.ContentLength, 10)
		}
		b.WriteString("\n" + value)
	}
	b.WriteByte('\n')
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-ms-") {
			b.WriteString(lower + ":" + strings.Join(req.Header[name], ",") + "\n")
		}
	}
	b.WriteString("/" + s.account + req.URL.EscapedPath())
	query := req.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := slices.Sorted(slices.Values(query[name]))
		b.WriteString("\n" + strings.ToLower(name) + ":" + strings.Join(values, ","))
	}
	sum := hmac.New(sha256.New, s.key)
	sum.Write([]byte(b.String()))
	return base64.StdEncoding.EncodeToString(sum.Sum(nil))
}

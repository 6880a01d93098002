package object

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// bucketResult is a page of a listing in the format of Amazon S3's ListObjectsV2, which Google's XML API supports too:
//
//	<ListBucketResult>
//	  <IsTruncated>true</IsTruncated>
//	  <NextContinuationToken>1ueGc…</NextContinuationToken>
//	  <EncodingType>url</EncodingType>
//	  <Contents><Key>a/x.nc</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified>
//	    <ETag>"70ee…"</ETag><Size>1024</Size></Contents>
//	  <CommonPrefixes><Prefix>a/b/</Prefix></CommonPrefixes>
//	</ListBucketResult>
type bucketResult struct {
	XMLName     xml.Name `xml:"ListBucketResult"`
	IsTruncated bool
	Next        string `xml:"NextContinuationToken"`
	Encoding    string `xml:"EncodingType"`
	Contents    []struct {
		Key          string
		LastModified string
		ETag         string
		Size         int64
	}
	CommonPrefixes []struct{ Prefix string }
}

// ParseBucketResult parses a page of a listing in the format of Amazon S3.
func ParseBucketResult(body []byte, q *Query) (*Page, error) {
	var result bucketResult
	if err := xml.Unmarshal(body, &result); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrListing, err)
	}
	decode := func(s string) (string, error) { return s, nil }
	if strings.EqualFold(result.Encoding, "url") {
		decode = url.QueryUnescape
	}
	page := &Page{}
	for _, c := range result.Contents {
		modified, _ := time.Parse(time.RFC3339, c.LastModified) // only for display, so it may be missing
		page.Entries = append(page.Entries, Entry{Key: c.Key, Size: c.Size, Modified: modified, ETag: Quoted(c.ETag)})
	}
	for _, p := range result.CommonPrefixes {
		page.Entries = append(page.Entries, Entry{Key: p.Prefix, Folder: true})
	}
	for i := range page.Entries {
		key, err := decode(page.Entries[i].Key)
		if err != nil {
			return nil, fmt.Errorf("%w: key %q: %w", ErrListing, page.Entries[i].Key, err)
		}
		page.Entries[i].Key = key
	}
	if result.IsTruncated {
		if page.Next = result.Next; page.Next == "" {
			return nil, fmt.Errorf("%w: it is truncated, but has no NextContinuationToken", ErrListing)
		}
	}
	return page, page.Check(q)
}

// Check returns an error if the page does not match the query. A wrong page could lead to an endless listing, or to keys
// outside the prefix.
func (p *Page) Check(q *Query) error {
	if p.Next != "" && p.Next == q.After {
		return fmt.Errorf("%w: the next page is the same page", ErrListing)
	}
	for _, e := range p.Entries {
		rest, ok := strings.CutPrefix(e.Key, q.Prefix)
		deeper := strings.Contains(strings.TrimSuffix(rest, "/"), "/")
		if !ok || e.Size < 0 || e.Folder && (q.Deep || !strings.HasSuffix(e.Key, "/")) || deeper && !q.Deep {
			return fmt.Errorf("%w: the key %q does not match the prefix %q", ErrListing, e.Key, q.Prefix)
		}
	}
	return nil
}

// AddBucketQuery sets the query of u for Amazon S3's ListObjectsV2.
func AddBucketQuery(u *url.URL, q *Query) {
	v := url.Values{"list-type": {"2"}, "encoding-type": {"url"}}
	if !q.Deep {
		v.Set("delimiter", "/")
	}
	if q.Prefix != "" {
		v.Set("prefix", q.Prefix)
	}
	if q.Most > 0 {
		v.Set("max-keys", fmt.Sprint(q.Most))
	}
	if q.After != "" {
		v.Set("continuation-token", q.After)
	}
	// Signatures require a space as %20, which every server accepts.
	u.RawQuery = strings.ReplaceAll(v.Encode(), "+", "%20")
}

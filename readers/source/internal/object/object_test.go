package object

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for name, want := range map[string][3]string{
		"s3://bucket/a/b c%20#?.nc": {"s3", "bucket", "a/b c%20#?.nc"},
		"S3://bucket":               {"s3", "bucket", ""},
		"gs://a.b_c-1/":             {"gs", "a.b_c-1", ""},
		"az://$web//x":              {"az", "$web", "/x"},
		"s3://":                     {},
		"s3:///key":                 {},
		"s3://a b/key":              {},
		"s3://user@bucket/key":      {},
		"s3://../key":               {},
		"s3://host:80/key":          {},
	} {
		scheme, bucket, key, err := Split(name)
		if got := [3]string{scheme, bucket, key}; got != want || (err == nil) != (want[0] != "") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestUnder(t *testing.T) {
	base, err := url.Parse("http://host/account%2F1/")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"a/b":   "http://host/account%2F1/c/a/b",
		"a b%é": "http://host/account%2F1/c/a%20b%25%C3%A9",
		"?#+*":  "http://host/account%2F1/c/%3F%23%2B%2A",
	} {
		got := Under(base, "c", key).String()
		if got != want {
			t.Errorf("%q: got %s, want %s", key, got, want)
		}
		if again, err := url.Parse(got); err != nil || again.String() != want || again.EscapedPath() != want[len("http://host"):] {
			t.Errorf("%q: parsed again: %v, %v", key, again, err)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://host": true, "http://127.0.0.1:9000/path": true, "host:9000": false, "ftp://host": false,
		"https://user:hunter2@host": false, "https://host?sig=hunter2": false, "https://host#x": false, "": false, "http://": false,
	} {
		if _, err := Endpoint("SETTING", text); (err == nil) != ok || err != nil && (strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "SETTING")) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestIsHome(t *testing.T) {
	base := &url.URL{Scheme: "https", Host: "host"}
	for at, want := range map[string]bool{
		"https://host/a": true, "https://HOST/a": true, "http://host/a": false, "https://host:444/a": false, "https://a.host/": false, "https://host.evil/": false,
	} {
		req, err := http.NewRequest(http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		if IsHome(req, base) != want {
			t.Errorf("%s: got %t", at, !want)
		}
	}
}

const page = `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><EncodingType>url</EncodingType>
<IsTruncated>true</IsTruncated><NextContinuationToken>next</NextContinuationToken>
<Contents><Key>a/b+c%25%0A.nc</Key><LastModified>2020-01-02T03:04:05.678Z</LastModified><ETag>&quot;e-1&quot;</ETag><Size>5</Size></Contents>
<CommonPrefixes><Prefix>a/d/</Prefix></CommonPrefixes></ListBucketResult>`

func TestParseBucketResult(t *testing.T) {
	got, err := ParseBucketResult([]byte(page), &Query{Prefix: "a/"})
	if err != nil || len(got.Entries) != 2 || got.Next != "next" {
		t.Fatalf("%+v, %v", got, err)
	}
	if e := got.Entries[0]; e.Key != "a/b c%\n.nc" || e.Size != 5 || e.ETag != `"e-1"` || e.Modified.Unix() != 1577934245 || e.Folder {
		t.Errorf("%+v", e)
	}
	if e := got.Entries[1]; e.Key != "a/d/" || !e.Folder {
		t.Errorf("%+v", e)
	}
	for what, text := range map[string]string{
		"no XML":                         "<html>",
		"another document":               "<Error><Code>NoSuchBucket</Code></Error>",
		"another prefix":                 strings.ReplaceAll(page, "a/d/", "b/d/"),
		"a deeper prefix":                strings.ReplaceAll(page, "a/d/", "a/d/e/"),
		"a folder without a final slash": strings.ReplaceAll(page, "a/d/", "a/d"),
		"a negative size":                strings.ReplaceAll(page, "<Size>5<", "<Size>-5<"),
		"a bad escape":                   strings.ReplaceAll(page, "%25", "%2"),
		"no token":                       strings.ReplaceAll(page, "next", ""),
		"the same token":                 strings.ReplaceAll(page, ">next<", ">before<"),
		"entities that grow":             `<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><ListBucketResult><Contents><Key>&b;</Key></Contents></ListBucketResult>`,
	} {
		if got, err := ParseBucketResult([]byte(text), &Query{Prefix: "a/", After: "before"}); !errors.Is(err, ErrListing) {
			t.Errorf("%s: got %+v, %v, want ErrListing", what, got, err)
		}
	}
}

// FuzzParseBucketResult checks that every accepted entry matches the query.
func FuzzParseBucketResult(f *testing.F) {
	f.Add([]byte(page), "a/")
	f.Add([]byte("<ListBucketResult><Contents><Key>x</Key></Contents></ListBucketResult>"), "")
	f.Fuzz(func(t *testing.T, body []byte, prefix string) {
		got, err := ParseBucketResult(body, &Query{Prefix: prefix})
		if err != nil {
			return
		}
		for _, e := range got.Entries {
			rest, ok := strings.CutPrefix(e.Key, prefix)
			if !ok || e.Size < 0 || strings.Contains(strings.TrimSuffix(rest, "/"), "/") {
				t.Fatalf("%+v", e)
			}
		}
	})
}

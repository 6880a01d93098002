package azure

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"varve/readers/source/internal/object"
)

func service(t *testing.T, env map[string]string) *Service {
	t.Helper()
	s, err := configured(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC) }
	return s
}

// sent makes a request for a blob, and returns it as the server receives it.
func sent(t *testing.T, s *Service, at string) (*http.Request, error) {
	t.Helper()
	var out *http.Request
	base := roundTrip(func(req *http.Request) (*http.Response, error) {
		out = req
		return &http.Response{StatusCode: 206, Body: io.NopCloser(strings.NewReader(""))}, nil
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=0-9")
	req.Header.Set("If-Match", `"0x8D"`)
	resp, err := s.Transport("c", base).RoundTrip(req)
	if err == nil && object.IsHome(req, s.endpoint) && (resp.Request != req || strings.Contains(req.URL.String(), "sig=") || req.Header.Get("Authorization") != "") {
		t.Error("the signature leaked into the caller's request")
	}
	return out, err
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

const key = "c2VjcmV0IGtleQ=="

// TestSharedKey compares the signed text with the example in "Authorize with Shared Key". The tests against Azurite
// check that a server accepts the signature.
func TestSharedKey(t *testing.T) {
	s := service(t, map[string]string{"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_KEY": key})
	const text = "GET\n\n\n\n\n\n\n\n\"0x8D\"\n\n\nbytes=0-9\n" +
		"x-ms-date:Thu, 29 Feb 2024 12:00:00 GMT\nx-ms-version:2021-12-02\n"
	for at, resource := range map[string]string{
		"https://acc.blob.core.windows.net/c/a%20b%25.nc":                                "/acc/c/a%20b%25.nc",
		"https://acc.blob.core.windows.net/c?restype=container&comp=list&prefix=a%20b%2": "",
		"https://acc.blob.core.windows.net/c?restype=container&comp=list&prefix=a%20b":   "/acc/c\ncomp:list\nprefix:a b\nrestype:container",
	} {
		req, err := sent(t, s, at)
		if err != nil {
			t.Fatal(err)
		}
		if resource == "" {
			continue // servers reject this query, so the test only checks that nothing panics
		}
		sum := hmac.New(sha256.New, []byte("secret key"))
		sum.Write([]byte(text + resource))
		want := "SharedKey acc:" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
		if got := req.Header.Get("Authorization"); got != want {
			t.Errorf("%s: got %s, want %s", at, got, want)
		}
	}
}

func TestSharedAccessSignature(t *testing.T) {
	s := service(t, map[string]string{"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_SAS_TOKEN": "?sv=2021&sig=a%2Bb%3D"})
	for at, want := range map[string]string{
		"https://acc.blob.core.windows.net/c/k":            "sig=a%2Bb%3D&sv=2021",
		"https://acc.blob.core.windows.net/c?comp=list":    "comp=list&sig=a%2Bb%3D&sv=2021",
		"https://elsewhere.example/c/k?x=1":                "x=1",
		"https://other.blob.core.windows.net/c/k":          "",
		"http://acc.blob.core.windows.net/c/k":             "",
		"https://acc.blob.core.windows.net.evil/c/k?a=b&c": "a=b&c",
	} {
		if req, err := sent(t, s, at); err != nil || req.URL.RawQuery != want {
			t.Errorf("%s: sent %s, %v", at, req.URL, err)
		}
	}
}

type token struct{ err error }

func (k token) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if k.err == nil && (len(o.Scopes) != 1 || o.Scopes[0] != "https://storage.azure.com/.default") {
		k.err = errors.New("another scope")
	}
	return azcore.AccessToken{Token: "tok"}, k.err
}

func TestTokens(t *testing.T) {
	for _, name := range []string{"AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_TOKEN_CREDENTIALS"} {
		t.Setenv(name, "")
	}
	const at = "https://acc.blob.core.windows.net/c/k"
	s := service(t, map[string]string{"AZURE_STORAGE_ACCOUNT": "acc"})
	s.find = func() (azcore.TokenCredential, error) { return token{}, nil }
	if req, err := sent(t, s, at); err != nil || req.Header.Get("Authorization") != "Bearer tok" || req.Header.Get("X-Ms-Version") == "" {
		t.Errorf("sent %v, %v", req, err)
	}
	if req, err := sent(t, s, "https://elsewhere.example/c/k"); err != nil || req.Header.Get("Authorization") != "" {
		t.Errorf("sent %v elsewhere, %v", req, err)
	}
	s = service(t, map[string]string{"AZURE_STORAGE_ACCOUNT": "acc"})
	s.find = func() (azcore.TokenCredential, error) { return token{errors.New("nobody is logged in")}, nil }
	if req, err := sent(t, s, at); err != nil || req.Header.Get("Authorization") != "" || !strings.Contains(s.Hint(), "no credentials") {
		t.Errorf("without credentials: sent %v, %v", req, err)
	}
	t.Setenv("AZURE_CLIENT_ID", "somebody")
	s = service(t, map[string]string{"AZURE_STORAGE_ACCOUNT": "acc"})
	s.find = func() (azcore.TokenCredential, error) { return token{errors.New("it has expired")}, nil }
	if _, err := sent(t, s, at); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("with bad credentials: %v", err)
	}
	s = service(t, map[string]string{"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_SERVICE_ENDPOINT": "http://host/acc"})
	s.find = func() (azcore.TokenCredential, error) { return token{}, nil }
	if req, err := sent(t, s, "http://host/acc/c/k"); err != nil || req.Header.Get("Authorization") != "" {
		t.Errorf("a token was sent without TLS: %v, %v", req, err)
	}
}

func TestConfiguration(t *testing.T) {
	for _, c := range []struct {
		name, want string // want is the address of the blob
		env        map[string]string
	}{
		{"an account", "https://acc.blob.core.windows.net/c/k", map[string]string{"AZURE_STORAGE_ACCOUNT": "acc"}},
		{"another name of the setting", "https://acc.blob.core.windows.net/c/k", map[string]string{"AZURE_STORAGE_ACCOUNT_NAME": "acc"}},
		{"a connection", "https://acc.blob.core.chinacloudapi.cn/c/k", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=" + key + ";EndpointSuffix=core.chinacloudapi.cn"}},
		{"a connection to an endpoint", "http://host:1/acc/c/k", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "BlobEndpoint=http://host:1/acc;AccountName=acc"}},
		{"a connection by signature", "https://acc.blob.core.windows.net/c/k", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "BlobEndpoint=https://acc.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=2"}},
		{"the emulator", "http://127.0.0.1:10000/devstoreaccount1/c/k", map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage=true"}},
		{"nothing", "", nil},
		{"no account", "", map[string]string{"AZURE_STORAGE_ACCOUNT": "evil.example/"}},
		{"no key", "", map[string]string{"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_KEY": "hunter2!"}},
		{"no signature", "", map[string]string{"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_SAS_TOKEN": "hunter2"}},
	} {
		s, err := configured(func(name string) string { return c.env[name] })
		if c.want == "" {
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: got %v, want an error", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, err := s.Address("c", "k"); err != nil || got.String() != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

const page = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>
<Blob><Name>a/b%20c.nc</Name><Properties><Last-Modified>Thu, 29 Feb 2024 12:00:00 GMT</Last-Modified><Etag>0x8D</Etag><Content-Length>5</Content-Length></Properties></Blob>
<Blob><Name Encoded="true">a/%EF%BF%BE.nc</Name><Properties><Content-Length>6</Content-Length></Properties></Blob>
<Blob><Name>a/d</Name><Properties><ResourceType>directory</ResourceType><Content-Length>0</Content-Length></Properties></Blob>
<BlobPrefix><Name>a/d/</Name></BlobPrefix></Blobs><NextMarker>m</NextMarker></EnumerationResults>`

func TestParsePage(t *testing.T) {
	s := service(t, map[string]string{"AZURE_STORAGE_ACCOUNT": "acc"})
	got, err := s.ParsePage([]byte(page), &object.Query{Prefix: "a/"})
	if err != nil || len(got.Entries) != 3 || got.Next != "m" {
		t.Fatalf("%+v, %v", got, err)
	}
	if e := got.Entries[0]; e.Key != "a/b%20c.nc" || e.ETag != `"0x8D"` || e.Size != 5 || e.Modified.IsZero() {
		t.Errorf("%+v", e)
	}
	if e := got.Entries[1]; e.Key != "a/\ufffe.nc" || e.Size != 6 || e.ETag != "" {
		t.Errorf("%+v", e)
	}
	if e := got.Entries[2]; e.Key != "a/d/" || !e.Folder {
		t.Errorf("%+v", e)
	}
	for what, text := range map[string]string{
		"no XML": "<", "another document": "<Error/>", "another prefix": strings.ReplaceAll(page, "a/d/", "b/"), "a bad escape": strings.ReplaceAll(page, "%EF", "%"),
	} {
		if got, err := s.ParsePage([]byte(text), &object.Query{Prefix: "a/"}); !errors.Is(err, object.ErrListing) {
			t.Errorf("%s: got %+v, %v, want ErrListing", what, got, err)
		}
	}
}

func FuzzParsePage(f *testing.F) {
	f.Add([]byte(page), "a/")
	s := &Service{}
	f.Fuzz(func(t *testing.T, body []byte, prefix string) {
		got, err := s.ParsePage(body, &object.Query{Prefix: prefix})
		if err != nil {
			return
		}
		for _, e := range got.Entries {
			if !strings.HasPrefix(e.Key, prefix) || e.Size < 0 {
				t.Fatalf("%+v", e)
			}
		}
	})
}

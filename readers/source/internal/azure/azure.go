// Package azure reads and writes Azure Blob Storage, and servers with its protocol, such as Azurite:
//
//	GET /container/model/x.nc             Authorization: SharedKey account:…
//	Host: account.blob.core.windows.net   X-Ms-Date: Mon, 02 Jan 2006 15:04:05 GMT
//	Range: bytes=0-262143                 X-Ms-Version: 2021-12-02
//
// A request is authorized with the first of these that is configured: the account's key, a shared access signature, a token
// of Microsoft Entra ID. Otherwise it is anonymous. The environment variables for the account and its credentials are those
// of the az command.
package azure

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"varve/readers/source/internal/object"
)

const (
	version = "2021-12-02"
	scope   = "https://storage.azure.com/.default"
)

// Service is the storage of one account.
type Service struct {
	object.OneByOne

	account  string
	endpoint *url.URL
	key      []byte     // the account's key, or nil
	sas      url.Values // the shared access signature, or nil
	now      func() time.Time
	find     func() (azcore.TokenCredential, error)

	mu        sync.Mutex
	tokens    azcore.TokenCredential
	anonymous string // the reason why requests are not signed, or ""
}

// New returns the Service for the configuration in the environment. It makes no requests.
func New() (*Service, error) {
	s, err := configured(os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("configuration for Azure Blob Storage: %w", err)
	}
	s.find = func() (azcore.TokenCredential, error) { return azidentity.NewDefaultAzureCredential(nil) }
	return s, nil
}

// Address returns the address of a blob.
func (s *Service) Address(container, key string) (*url.URL, error) {
	return object.Under(s.endpoint, container, key), nil
}

// ListAddress returns the address of a page of a listing.
func (s *Service) ListAddress(q *object.Query) (*url.URL, error) {
	u := object.Under(s.endpoint, q.Bucket)
	v := url.Values{"restype": {"container"}, "comp": {"list"}}
	if !q.Deep {
		v.Set("delimiter", "/")
	}
	if q.Prefix != "" {
		v.Set("prefix", q.Prefix)
	}
	if q.Most > 0 {
		v.Set("maxresults", fmt.Sprint(q.Most))
	}
	if q.After != "" {
		v.Set("marker", q.After)
	}
	u.RawQuery = strings.ReplaceAll(v.Encode(), "+", "%20")
	return u, nil
}

// listing is a page of a listing in the format of "List Blobs". With a hierarchical account, blobs include folders.
type listing struct {
	XMLName xml.Name `xml:"EnumerationResults"`
	Blobs   struct {
		Blob []struct {
			Name       blobName
			Properties struct {
				Modified string `xml:"Last-Modified"`
				ETag     string `xml:"Etag"`
				Size     int64  `xml:"Content-Length"`
				Resource string `xml:"ResourceType"`
			}
		}
		BlobPrefix []struct{ Name blobName }
	}
	NextMarker string
}

// blobName is the name of a blob. It is percent-encoded if it has characters that XML cannot contain.
type blobName struct {
	Encoded bool   `xml:"Encoded,attr"`
	Text    string `xml:",chardata"`
}

func (n blobName) key() (string, error) {
	if !n.Encoded {
		return n.Text, nil
	}
	return url.PathUnescape(n.Text)
}

// ParsePage reads a page of a listing.
func (s *Service) ParsePage(body []byte, q *object.Query) (*object.Page, error) {
	var result listing
	if err := xml.Unmarshal(body, &result); err != nil {
		return nil, fmt.Errorf("%w: %w", object.ErrListing, err)
	}
	page := &object.Page{Next: result.NextMarker}
	var bad error
	for _, b := range result.Blobs.Blob {
		if b.Properties.Resource == "directory" {
			continue // the prefixes include it too
		}
		key, err := b.Name.key()
		bad = errors.Join(bad, err)
		modified, _ := http.ParseTime(b.Properties.Modified) // only for display, so it may be missing
		page.Entries = append(page.Entries, object.Entry{Key: key, Size: b.Properties.Size, Modified: modified, ETag: object.Quoted(b.Properties.ETag)})
	}
	for _, p := range result.Blobs.BlobPrefix {
		key, err := p.Name.key()
		bad = errors.Join(bad, err)
		page.Entries = append(page.Entries, object.Entry{Key: key, Folder: true})
	}
	if bad != nil {
		return nil, fmt.Errorf("%w: %w", object.ErrListing, bad)
	}
	return page, page.Check(q)
}

// Hint returns advice for a request that was denied.
func (s *Service) Hint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anonymous != "" {
		return s.anonymous
	}
	return "AZURE_NO_SIGN_REQUEST=YES reads a public container"
}

// Transport returns a transport that authorizes requests to the account.
func (s *Service) Transport(_ string, base http.RoundTripper) http.RoundTripper {
	return object.Signing(s.endpoint, base, s.authorize)
}

// authorize adds credentials to a request.
func (s *Service) authorize(req *http.Request) error {
	req.Header.Set("X-Ms-Version", version)
	req.Header.Set("X-Ms-Date", s.now().UTC().Format(http.TimeFormat))
	switch {
	case s.key != nil:
		req.Header.Set("Authorization", "SharedKey "+s.account+":"+s.signature(req))
		return nil
	case s.sas != nil:
		query := req.URL.RawQuery
		if query != "" {
			query += "&"
		}
		req.URL.RawQuery = query + s.sas.Encode()
		return nil
	}
	token, err := s.token(req.Context())
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return err
}

// token returns a valid token, or "" if there are no credentials.
func (s *Service) token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anonymous == "" && s.endpoint.Scheme != "https" {
		s.anonymous = "no token was sent, because the endpoint is not https"
	}
	if s.anonymous != "" {
		return "", nil
	}
	var err error
	if s.tokens == nil {
		s.tokens, err = s.find()
	}
	var got azcore.AccessToken
	if err == nil {
		got, err = s.tokens.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
	}
	switch {
	case err == nil:
		return got.Token, nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case isConfigured(os.Getenv):
		return "", &object.CredentialsError{Service: "Azure Blob Storage", Err: err}
	}
	s.anonymous = "the request was not signed, because no credentials for Azure Blob Storage were found (AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_CONNECTION_STRING, az login, or the machine's identity)"
	return "", nil
}

// isConfigured reports whether the environment configures an identity. Then a missing token is an error.
func isConfigured(getenv func(string) string) bool {
	return object.First(getenv, "AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_TOKEN_CREDENTIALS") != ""
}

// decodeKey decodes an account's key. setting is the name of the variable, for errors.
func decodeKey(setting, text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) == 0 {
		return nil, fmt.Errorf("%s: the key must be in base64", setting) // without the value, which is a secret
	}
	return key, nil
}

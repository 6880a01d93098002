package source

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"varve/readers/source/internal/object"
	"varve/readers/source/internal/s3"
)

// Store is an object store of a program, with the protocol of Amazon S3. Everything that works with names such as
// s3://bucket/key works with names of its scheme: sources, manifests, exports.
//
// A manifest in a store needs conditional requests: PUT with If-Match and If-None-Match.
type Store struct {
	// Endpoint is the address of the server. A bucket is the first part of a path. Empty means http://SCHEME.
	Endpoint string
	// Transport makes the requests, which are not signed: it may sign them, or answer them from any storage. Nil means the
	// network.
	Transport http.RoundTripper
}

var registered struct {
	sync.RWMutex
	stores map[string]object.Store // by scheme
}

// ownSchemes are the schemes that varve defines.
var ownSchemes = []string{"", "file", "local", "http", "https", "s3", "gs", "az"}

// RegisterStore gives an object store a scheme: names such as scheme://bucket/key. Call it before the scheme is used. The
// schemes of varve, and a scheme that is registered already, are refused.
func RegisterStore(scheme string, s Store) error {
	if strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || slices.Contains(ownSchemes, scheme) {
		return fmt.Errorf("%q cannot be a scheme: it must have lower-case letters and digits, and be none of varve's", scheme)
	}
	if s.Endpoint == "" {
		s.Endpoint = "http://" + scheme
	}
	endpoint, err := url.Parse(s.Endpoint)
	if err != nil || endpoint.Host == "" {
		return fmt.Errorf("%q is no address of a server", s.Endpoint)
	}
	registered.Lock()
	defer registered.Unlock()
	if registered.stores[scheme] != nil {
		return fmt.Errorf("the scheme %s is registered already", scheme)
	}
	if registered.stores == nil {
		registered.stores = map[string]object.Store{}
	}
	registered.stores[scheme] = ownStore{s3.At(endpoint), s.Transport}
	return nil
}

func registeredStore(scheme string) object.Store {
	registered.RLock()
	defer registered.RUnlock()
	return registered.stores[scheme]
}

// registeredSchemes returns all registered schemes, sorted.
func registeredSchemes() []string {
	registered.RLock()
	defer registered.RUnlock()
	return slices.Sorted(maps.Keys(registered.stores))
}

// ownStore is a store of a program.
type ownStore struct {
	*s3.Service
	transport http.RoundTripper
}

// Transport returns the transport of the program, which signs requests if that is necessary.
func (o ownStore) Transport(_ string, base http.RoundTripper) http.RoundTripper {
	if o.transport != nil {
		return o.transport
	}
	return base
}

// Hint returns no advice, because only the program knows why its store refuses a request.
func (ownStore) Hint() string { return "" }

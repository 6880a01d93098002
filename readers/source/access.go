package source

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"varve/readers/source/internal/access"
	"varve/readers/source/internal/s3"
)

// Access has the credentials of a user for servers and buckets: an access file, and headers for all sources on servers. It is
// never stored in manifests. The format of the file is in docs/reference/access.md.
type Access struct {
	file *access.Config // nil if there is none
	// all is sent to the hosts of all http:// and https:// sources, but not to hosts to which they redirect. It is nil if
	// there is nothing to send.
	all *access.Entry
}

// LoadAccess reads an access file. Errors contain no values of the file.
func LoadAccess(name string) (*Access, error) {
	file, err := access.Load(name)
	if err != nil {
		return nil, err
	}
	return &Access{file: file}, nil
}

// AccessVariable is the environment variable with the name of the user's access file.
const AccessVariable = "VARVE_ACCESS"

// UserAccess reads the user's access file: that of the variable VARVE_ACCESS, or varve/access.yaml in the config folder. Without
// one, the Access is empty.
func UserAccess() (*Access, error) {
	if name := os.Getenv(AccessVariable); name != "" {
		return LoadAccess(name)
	}
	name, err := userAccessFile()
	if err != nil {
		return &Access{}, nil // there is no config folder, so there is no file in it
	}
	a, err := LoadAccess(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &Access{}, nil
	}
	return a, err
}

// userAccessFile returns the name of the access file in the config folder.
func userAccessFile() (string, error) {
	dir, err := ConfigDir()
	return filepath.Join(dir, "varve", "access.yaml"), err
}

// ConfigDir returns the user's config folder. In services and containers the environment may not name it, so it also looks at
// the user's home.
func ConfigDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err == nil {
		return dir, nil
	}
	me, failed := user.Current()
	if failed != nil || me.HomeDir == "" {
		return "", err
	}
	return filepath.Join(me.HomeDir, ".config"), nil
}

// With returns a copy of the Access that also sends headers, such as "X-Api-Key: 1234", and the token in a file to the hosts of
// all http:// and https:// sources. The file is read for each request, so it may be replaced by a newer one.
func (a *Access) With(headers []string, bearerFile string) (*Access, error) {
	all := &access.Entry{Prefix: "all servers"}
	for i, text := range headers {
		name, value, ok := strings.Cut(text, ":")
		if !ok || !access.IsHeaderName(name) {
			return nil, fmt.Errorf("header %d: want NAME: VALUE, with a name that can be set", i+1) // the text may be a secret
		}
		all.Headers = append(all.Headers, access.Header{Name: name, Value: access.Text(strings.TrimSpace(value))})
	}
	if bearerFile != "" {
		token := access.FromFile(bearerFile)
		all.Bearer = &token
	}
	out := *a
	if len(all.Headers) > 0 || all.Bearer != nil {
		out.all = all
	}
	return &out, nil
}

var defaultAccess atomic.Pointer[Access]

// SetDefaultAccess sets the Access of all openers without Options.Access, instead of UserAccess. A program calls it once, before
// it opens sources.
func SetDefaultAccess(a *Access) { defaultAccess.Store(a) }

// accessOnce is the Access of an Opener. It is read for the first name that needs it, so that a broken file does not prevent
// reading local files.
type accessOnce struct {
	once  sync.Once
	value *Access
	err   error
}

func (o *Opener) access() (*Access, error) {
	if o.opts.Access != nil {
		return o.opts.Access, nil
	}
	if a := defaultAccess.Load(); a != nil {
		return a, nil
	}
	o.user.once.Do(func() { o.user.value, o.user.err = UserAccess() })
	return o.user.value, o.user.err
}

// credentials are what an Access has for one source on a server.
type credentials struct {
	*Access
	origin *url.URL
	entry  *access.Entry // of the origin; may be nil
	cookie *session      // of the entry, if it has a login; may be nil
	base   http.RoundTripper
}

// authorized makes requests of a remote send the credentials of the opener's Access.
func (o *Opener) authorized(r *remote) error {
	a, err := o.access()
	if err != nil {
		return err
	}
	c := &credentials{Access: a, origin: r.origin, entry: a.file.Find(r.origin), base: r.client.Transport}
	if c.entry != nil && c.entry.Earthdata != nil {
		c.cookie = o.sessions.of(c.entry)
		r.client.Jar = c.cookie
	}
	r.client.Transport, r.credentials = c, c
	r.hint = func(refused *url.URL) string { return c.hint(r, refused) }
	return nil
}

// RoundTrip makes a request with the credentials for its URL. net/http copies headers to redirected requests, but these are
// added here, to a copy: so they reach the URLs of their prefix only. If a token was replaced in the meantime, the request is
// made again.
func (c *credentials) RoundTrip(req *http.Request) (*http.Response, error) {
	signed, err := c.sign(req)
	if err != nil {
		return nil, err
	}
	resp, err := c.base.RoundTrip(signed)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		if renewed, err := c.sign(req); err == nil && renewed.Header.Get("Authorization") != signed.Header.Get("Authorization") {
			_ = resp.Body.Close()
			if resp, err = c.base.RoundTrip(renewed); err != nil {
				return nil, err
			}
		}
	}
	if err == nil {
		resp.Request = req // errors may show it
	}
	return resp, err
}

// sign returns a copy of a request with the credentials for its URL.
func (c *credentials) sign(req *http.Request) (*http.Request, error) {
	signed := req.Clone(req.Context())
	if c.entry.IsLogin(req.URL) {
		return signed, c.entry.AuthorizeLogin(signed)
	}
	if e := c.file.Find(req.URL); e != nil {
		if err := e.Authorize(signed); err != nil {
			return nil, err
		}
	}
	if c.all != nil && sameHost(req.URL, c.origin) {
		if err := c.all.Authorize(signed); err != nil {
			return nil, err
		}
	}
	if own := req.Header.Get("Authorization"); own != "" { // of the URL itself
		signed.Header.Set("Authorization", own)
	}
	return signed, nil
}

// isLoginHop reports whether a redirect belongs to the login of the source: to the login host, or from there back to the host
// of the source. The user has allowed these by configuring the login.
func (c *credentials) isLoginHop(from, to *url.URL) bool {
	if c == nil {
		return false
	}
	return c.entry.IsLogin(to) || c.entry.IsLogin(from) && to.Scheme == c.origin.Scheme && strings.EqualFold(to.Host, c.origin.Host)
}

// checkLogin returns an error for an answer that is the page of a login host, and not the file.
func (c *credentials) checkLogin(a *answer) error {
	at := a.Request.URL
	if a.StatusCode/100 != 2 || c == nil || !c.entry.IsLogin(at) && !access.IsKnownLogin(at) {
		return nil
	}
	return wrongf("the server redirects to the login page of %s: %w", at.Host, fs.ErrPermission)
}

// hint returns advice for a request to a URL that was refused.
func (c *credentials) hint(r *remote, refused *url.URL) string {
	file := ""
	if c.file != nil {
		file = c.file.Name
	} else if name, err := userAccessFile(); err == nil {
		file = name
	}
	needs := fmt.Sprintf("add an entry with the prefix %s://%s/ to the access file %s", c.origin.Scheme, c.origin.Host, file)
	e := c.file.Find(refused)
	switch {
	case c.entry.IsLogin(refused):
		return fmt.Sprintf("the user and the password of the entry %s in %s were sent", c.entry.Prefix, file)
	case access.IsKnownLogin(refused):
		return needs + ", with earthdata: true"
	case r.header.Get("Authorization") != "":
		return "the user and the password of the URL were sent"
	case e != nil:
		return fmt.Sprintf("the credentials of the entry %s in %s were sent", e.Prefix, file)
	case c.all != nil && sameHost(refused, c.origin):
		return "the headers and the token for all servers were sent"
	case !sameHost(refused, c.origin):
		return fmt.Sprintf("the server redirects to %s, and credentials are not sent there", refused.Host)
	}
	return "no credentials are configured: " + needs
}

// sessions are the cookies of entries with a login.
type sessions struct{ all sync.Map }

func (s *sessions) of(e *access.Entry) *session {
	made, _ := s.all.LoadOrStore(e, &session{})
	return made.(*session)
}

// session has the cookies of an entry's hosts. Each host gets only its own cookies, even if it sets them for a whole domain.
type session struct {
	mu    sync.Mutex
	hosts map[string][]*http.Cookie
}

// The maximum number of hosts with cookies, and the maximum number and total size of the cookies of a host. RFC 6265 asks
// clients for at least 50 cookies.
const (
	maxCookieHosts = 64
	maxCookies     = 50
	maxCookieBytes = 64 << 10
)

// SetCookies implements http.CookieJar.
func (s *session) SetCookies(u *url.URL, cookies []*http.Cookie) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts == nil {
		s.hosts = map[string][]*http.Cookie{}
	}
	key := u.Scheme + "://" + u.Host
	if s.hosts[key] == nil && len(s.hosts) >= maxCookieHosts {
		return
	}
	for _, c := range cookies {
		list := slices.DeleteFunc(s.hosts[key], func(old *http.Cookie) bool { return old.Name == c.Name })
		size := len(c.Value)
		for _, old := range list {
			size += len(old.Value)
		}
		if c.MaxAge >= 0 && c.Value != "" && len(list) < maxCookies && size <= maxCookieBytes {
			list = append(list, &http.Cookie{Name: c.Name, Value: c.Value})
		}
		s.hosts[key] = list
	}
}

// Cookies implements http.CookieJar.
func (s *session) Cookies(u *url.URL) []*http.Cookie {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[u.Scheme+"://"+u.Host]
}

// end forgets the cookies of a host, and reports whether there were any. Then another attempt logs in again.
func (s *session) end(u *url.URL) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := u.Scheme + "://" + u.Host
	had := len(s.hosts[key]) > 0
	delete(s.hosts, key)
	return had
}

// bucketSettings returns the settings of a bucket in the access file, or nil.
func (o *Opener) bucketSettings(bucket string) (*s3.Settings, error) {
	a, err := o.access()
	if err != nil {
		return nil, err
	}
	e := a.file.Find(&url.URL{Scheme: "s3", Host: bucket})
	if e == nil {
		return nil, nil
	}
	set := &s3.Settings{
		Origin:  fmt.Sprintf("the entry %s in %s", e.Prefix, a.file.Name),
		Profile: e.S3.Profile, Region: e.S3.Region, Endpoint: e.S3.Endpoint, RequesterPays: e.S3.RequesterPays, Anonymous: e.S3.Anonymous,
	}
	if e.S3.CredentialsURL != "" {
		set.Renew = o.temporaryCredentials(e.S3.CredentialsURL)
	}
	return set, nil
}

package source_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/readers/source"
)

// guard is a server that sends a file to requests that allow accepts.
type guard struct {
	*httptest.Server
	mu    sync.Mutex
	seen  []*http.Request
	allow func(w http.ResponseWriter, r *http.Request) bool
}

func newGuard(t *testing.T, allow func(w http.ResponseWriter, r *http.Request) bool) *guard {
	g := &guard{allow: allow}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.seen = append(g.seen, r)
		g.mu.Unlock()
		if g.allow(w, r) {
			w.Header().Set("ETag", `"1"`)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("content"))
		}
	}))
	t.Cleanup(g.Close)
	return g
}

// headers returns all headers of all requests as text.
func (g *guard) headers() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b strings.Builder
	for _, r := range g.seen {
		fmt.Fprintln(&b, r.URL, r.Header)
	}
	return b.String()
}

// wants returns a check for a header. Other requests get the status 401.
func wants(name, value string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get(name) == value {
			return true
		}
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
}

// accessFile writes an access file. $DIR is the test's folder.
func accessFile(t *testing.T, text string) *source.Access {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "access.yaml")
	write(t, name, strings.ReplaceAll(text, "$DIR", dir))
	a, err := source.LoadAccess(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func openerWith(a *source.Access) *source.Opener {
	return source.NewOpener(&source.Options{Access: a, Backoff: time.Millisecond, Patience: 10 * time.Second})
}

// readTwice opens a name and reads it twice, so that later requests are covered too.
func readTwice(t *testing.T, o *source.Opener, name string) error {
	t.Helper()
	s, err := o.Open(t.Context(), name)
	if err != nil {
		return err
	}
	defer s.Close()
	again, err := o.OpenVersion(t.Context(), name, s.Identity())
	if err != nil {
		return err
	}
	defer again.Close()
	got := make([]byte, 7)
	if _, err := again.ReadAt(t.Context(), got, 0); err != nil {
		return err
	}
	if string(got) != "content" {
		t.Errorf("%s: got %q", name, got)
	}
	return nil
}

const hunterBasic = "Basic YW5uOmh1bnRlcjI=" // ann:hunter2

// TestAccess opens a file on servers that demand credentials, with each way to configure them.
func TestAccess(t *testing.T) {
	t.Setenv("TEST_SECRET", "hunter2")
	secrets := t.TempDir()
	netrc := filepath.Join(secrets, "netrc")
	write(t, netrc, "machine other login x password y\nmachine 127.0.0.1\n  login ann\n  password hunter2\n")
	t.Setenv("NETRC", netrc)
	token := filepath.Join(secrets, "token")
	write(t, token, "hunter2\n")
	for name, c := range map[string]struct{ entry, header, value string }{
		"a header":             {"headers: {X-Key: hunter2}", "X-Key", "hunter2"},
		"a header of env":      {"headers: {X-Key: {env: TEST_SECRET}}", "X-Key", "hunter2"},
		"a header of a file":   {"headers: {X-Key: {file: '" + token + "'}}", "X-Key", "hunter2"},
		"a bearer token":       {"bearer: {file: '" + token + "'}", "Authorization", "Bearer hunter2"},
		"a user":               {"basic: {user: ann, password: {env: TEST_SECRET}}", "Authorization", hunterBasic},
		"the user's netrc":     {"netrc: true", "Authorization", hunterBasic},
		"a named netrc":        {"netrc: '" + netrc + "'", "Authorization", hunterBasic},
		"a token of Earthdata": {"earthdata: {token: {env: TEST_SECRET}}", "Authorization", "Bearer hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuard(t, wants(c.header, c.value))
			// A longer prefix that does not contain the file, and a shorter one, must not count.
			a := accessFile(t, fmt.Sprintf("- {prefix: '%[1]s', headers: {X-Key: wrong}}\n- {prefix: '%[1]s/data', %[2]s}\n- {prefix: '%[1]s/data/x', headers: {X-Key: wrong}}\n", g.URL, c.entry))
			if err := readTwice(t, openerWith(a), g.URL+"/data/xy.nc"); err != nil {
				t.Error(err)
			}
			err := readTwice(t, openerWith(a), g.URL+"/database/x.nc")
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "access.yaml") || strings.Contains(err.Error(), "wrong") || strings.Contains(err.Error(), "hunter") {
				t.Errorf("outside of the prefix: %v", err)
			}
		})
	}
}

// TestAccessOfAll checks headers for all servers, which must not reach hosts to which these redirect.
func TestAccessOfAll(t *testing.T) {
	other := newGuard(t, func(http.ResponseWriter, *http.Request) bool { return true })
	g := newGuard(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !wants("Authorization", "Bearer hunter2")(w, r) || !wants("X-Key", "hunter3")(w, r) {
			return false
		}
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL+"/x", http.StatusFound)
			return false
		}
		return true
	})
	token := filepath.Join(t.TempDir(), "token")
	write(t, token, "hunter2")
	a, err := (&source.Access{}).With([]string{"X-Key: hunter3"}, token)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/x", "/away"} {
		if err := readTwice(t, openerWith(a), g.URL+name); err != nil {
			t.Error(err)
		}
	}
	if text := other.headers(); text == "" || strings.Contains(text, "hunter") {
		t.Errorf("the other host got %q", text)
	}
	if _, err := a.With([]string{"X-Key hunter3"}, ""); err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("got %v, want an error without the text", err)
	}
}

// TestBearerIsRenewed replaces the file of a token while a source is open.
func TestBearerIsRenewed(t *testing.T) {
	valid := "Bearer first"
	var token string
	g := newGuard(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer late" { // the program that renews the file is slower than the expiry
			write(t, token, "third")
		}
		return wants("Authorization", valid)(w, r)
	})
	a := accessFile(t, fmt.Sprintf("- {prefix: '%s', bearer: {file: $DIR/token}}", g.URL))
	o := openerWith(a)
	if err := readTwice(t, o, g.URL+"/x"); !errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	token = filepath.Join(t.TempDir(), "token")
	o = openerWith(accessFile(t, fmt.Sprintf("- {prefix: '%s', bearer: {file: '%s'}}", g.URL, token)))
	write(t, token, "first")
	s, err := o.Open(t.Context(), g.URL+"/x")
	if err != nil {
		t.Fatal(err)
	}
	id := s.Identity()
	for _, next := range []string{"second", "late"} {
		write(t, token, next)
		valid = map[string]string{"second": "Bearer second", "late": "Bearer third"}[next]
		s, err := o.OpenVersion(t.Context(), g.URL+"/x", id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadAt(t.Context(), make([]byte, 3), 0); err != nil {
			t.Errorf("%s: %v", next, err)
		}
	}
	valid = "Bearer fourth"
	err = readTwice(t, o, g.URL+"/x")
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "the credentials of the entry") {
		t.Errorf("an expired token: %v", err)
	}
}

// earthdata is a server of data, and the login host to which it redirects.
type earthdata struct {
	data, login *guard
	logins      int
	session     string
}

func newEarthdata(t *testing.T) *earthdata {
	e := &earthdata{session: "session1"}
	e.login = newGuard(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "content of a login page")
			return false
		}
		if !wants("Authorization", hunterBasic)(w, r) {
			return false
		}
		e.logins++
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?code=hunter5", http.StatusFound)
		return false
	})
	e.data = newGuard(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: e.session, Domain: "127.0.0.1", Path: "/"})
			http.Redirect(w, r, e.data.URL+"/data/x.nc", http.StatusFound)
			return false
		}
		c, err := r.Cookie("session")
		switch {
		case err == nil && c.Value == e.session:
			return true
		case err == nil && strings.HasPrefix(e.session, "strict"):
			w.WriteHeader(http.StatusUnauthorized)
			return false
		}
		http.Redirect(w, r, e.login.URL+"/oauth/authorize?response_type=code&redirect_uri="+url.QueryEscape(e.data.URL+"/login"), http.StatusFound)
		return false
	})
	return e
}

// TestEarthdata logs in at a second host, with redirects there and back.
func TestEarthdata(t *testing.T) {
	e := newEarthdata(t)
	name := e.data.URL + "/data/x.nc"
	entry := func(login string) *source.Access {
		return accessFile(t, fmt.Sprintf("- prefix: %s/data/\n  earthdata: {login: '%s', user: ann, password: hunter2}", e.data.URL, login))
	}
	// Allow rejects all but the source, as for a manifest that was built with a token.
	opener := source.NewOpener(&source.Options{Access: entry(e.login.URL), Backoff: time.Millisecond, Allow: func(at string) error {
		if at == name {
			return nil
		}
		return source.ErrForbidden
	}})
	for range 2 {
		if err := readTwice(t, opener, name); err != nil {
			t.Fatal(err)
		}
	}
	if e.logins != 1 {
		t.Errorf("%d logins, want 1", e.logins)
	}
	e.session = "session2" // the server redirects again
	if err := readTwice(t, opener, name); err != nil || e.logins != 2 {
		t.Errorf("an expired session: %v after %d logins", err, e.logins)
	}
	e.session = "strict" // the server sends 401 for an old cookie
	if err := readTwice(t, opener, name); err != nil || e.logins != 3 {
		t.Errorf("a refused session: %v after %d logins", err, e.logins)
	}
	if text := e.data.headers(); strings.Contains(text, "Basic") {
		t.Errorf("the server of the data got the password: %s", text)
	}
	if got := opener.Redirects(); len(got) > 1 {
		t.Errorf("the login is among the places of the source: %v", got)
	}
}

// TestEarthdataRefused checks the errors of logins that fail, and that the password is not sent elsewhere.
func TestEarthdataRefused(t *testing.T) {
	e := newEarthdata(t)
	name := e.data.URL + "/data/x.nc"
	elsewhere := newGuard(t, func(http.ResponseWriter, *http.Request) bool { return false })
	t.Setenv("NETRC", filepath.Join(t.TempDir(), "none"))
	for _, c := range []struct{ what, entry, want string }{
		{"a wrong password", "{login: '" + e.login.URL + "', user: ann, password: hunter4}", "the user and the password of the entry"},
		{"a token at a server that wants a login", "{login: '" + e.login.URL + "', token: hunter4}", "give a user and a password too"},
		{"no netrc", "{login: '" + e.login.URL + "'}", "no such file"},
		{"another login host", "{login: '" + elsewhere.URL + "', user: ann, password: hunter2}", ""},
	} {
		a := accessFile(t, fmt.Sprintf("- prefix: %s/data/\n  earthdata: %s", e.data.URL, c.entry))
		err := readTwice(t, openerWith(a), name)
		if c.want != "" && (!errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter")) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	e.login.mu.Lock()
	last := e.login.seen[len(e.login.seen)-1]
	e.login.mu.Unlock()
	if text := elsewhere.headers() + fmt.Sprint(last.Header); strings.Contains(text, "Basic") || strings.Contains(text, "hunter") {
		t.Errorf("the password was sent to another host: %s", text)
	}
}

// TestUserAccess reads the file of the variable, and ignores a missing file in the config folder only.
func TestUserAccess(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if _, err := source.UserAccess(); err != nil {
		t.Error(err)
	}
	g := newGuard(t, wants("X-Key", "hunter2"))
	err := readTwice(t, quickOpener(), g.URL+"/x")
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "add an entry with the prefix "+g.URL+"/ to the access file ") {
		t.Error(err)
	}
	name := filepath.Join(t.TempDir(), "access.yaml")
	t.Setenv("VARVE_ACCESS", name)
	if err := readTwice(t, quickOpener(), g.URL+"/x"); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a named file that does not exist: %v", err)
	}
	write(t, name, "- {prefix: '"+g.URL+"', headers: {X-Key: hunter2}}")
	if err := readTwice(t, quickOpener(), g.URL+"/x"); err != nil {
		t.Error(err)
	}
}

// TestBucketAccess reads from a bucket with the settings of an access file.
func TestBucketAccess(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_PROFILE", "AWS_REQUEST_PAYER", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "credentials"), "[ocean]\naws_access_key_id = KEYOFPROFILE\naws_secret_access_key = hunter2\n")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_NO_SIGN_REQUEST", "YES")
	issued := 0
	sts := newGuard(t, func(w http.ResponseWriter, r *http.Request) bool {
		if wants("X-Key", "hunter3")(w, r) {
			issued++
			fmt.Fprintf(w, `{"accessKeyId":"KEY%d","secretAccessKey":"hunter4","sessionToken":"TOKEN%d","expiration":"%s"}`,
				issued, issued, time.Now().Add(5*time.Minute+400*time.Millisecond).UTC().Format("2006-01-02 15:04:05.000+00:00"))
		}
		return false
	})
	for _, c := range []struct {
		what, settings string
		check          func(h http.Header) bool
	}{
		{"requester pays", "requester_pays: true, profile: ocean, region: eu-west-9", func(h http.Header) bool {
			return h.Get("X-Amz-Request-Payer") == "requester" && strings.Contains(h.Get("Authorization"), "KEYOFPROFILE/") && strings.Contains(h.Get("Authorization"), "/eu-west-9/s3/")
		}},
		{"anonymous", "anonymous: true", func(h http.Header) bool { return h.Get("Authorization") == "" && h.Get("X-Amz-Request-Payer") == "" }},
		{"temporary credentials", "credentials_url: '" + sts.URL + "/s3credentials'", func(h http.Header) bool {
			return strings.Contains(h.Get("Authorization"), "KEY") && strings.HasPrefix(h.Get("X-Amz-Security-Token"), "TOKEN")
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			store := newGuard(t, func(w http.ResponseWriter, r *http.Request) bool {
				if !c.check(r.Header) {
					says(http.StatusForbidden, "AccessDenied")(0, w, r)
					return false
				}
				return true
			})
			a := accessFile(t, fmt.Sprintf("- prefix: s3://bucket/\n  s3: {endpoint: '%s', %s}\n- prefix: %s\n  headers: {X-Key: hunter3}\n", store.URL, c.settings, sts.URL))
			o := openerWith(a)
			if err := readTwice(t, o, "s3://bucket/data/x.nc"); err != nil {
				t.Fatal(err)
			}
			if c.what == "temporary credentials" {
				time.Sleep(500 * time.Millisecond) // five minutes before they expire
				if err := readTwice(t, o, "s3://bucket/data/x.nc"); err != nil || issued < 2 {
					t.Errorf("%v: credentials were issued %d times, want at least 2", err, issued)
				}
			}
		})
	}
	denied := newGuard(t, func(w http.ResponseWriter, r *http.Request) bool {
		says(http.StatusForbidden, "AccessDenied")(0, w, r)
		return false
	})
	for _, c := range []struct{ what, settings, want string }{
		{"refused", "profile: ocean", "the settings of the entry s3://bucket/ in"},
		{"no credentials", "credentials_url: '" + denied.URL + "/s3credentials'", "add an entry with the prefix " + denied.URL},
	} {
		a := accessFile(t, fmt.Sprintf("- prefix: s3://bucket/\n  s3: {endpoint: '%s', %s}", denied.URL, c.settings))
		err := readTwice(t, openerWith(a), "s3://bucket/x.nc")
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

package access

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"varve/readers/source/internal/object"
)

// Authorize sets the headers of the entry in a request to a URL of its prefix.
func (e *Entry) Authorize(req *http.Request) error {
	for _, h := range e.Headers {
		text, err := h.Value.Read()
		if err != nil {
			return e.failed(fmt.Errorf("header %s: %w", h.Name, err))
		}
		req.Header.Set(h.Name, text)
	}
	var text string
	var err error
	switch token := e.token(); {
	case token != nil:
		if text, err = token.Read(); err == nil {
			text = "Bearer " + text
		}
	case e.Basic != nil:
		text, err = e.Basic.header()
	case e.Netrc != "":
		text, err = netrcHeader(e.Netrc, req.URL.Hostname())
	default:
		return nil
	}
	if err != nil {
		return e.failed(err)
	}
	req.Header.Set("Authorization", text)
	return nil
}

// token returns the bearer token of the entry, or nil.
func (e *Entry) token() *Value {
	if e.Earthdata != nil {
		return e.Earthdata.Token
	}
	return e.Bearer
}

// IsLogin reports whether a URL is on the login host of the entry. Nil has none.
func (e *Entry) IsLogin(u *url.URL) bool {
	return e != nil && e.Earthdata != nil && u.Scheme == e.Earthdata.Login.Scheme && strings.EqualFold(u.Host, e.Earthdata.Login.Host)
}

// AuthorizeLogin sets the user and the password in a request to the login host.
func (e *Entry) AuthorizeLogin(req *http.Request) error {
	var text string
	var err error
	switch login := e.Earthdata; {
	case login.User != nil:
		text, err = login.User.header()
	case login.Netrc != "":
		text, err = netrcHeader(login.Netrc, login.Login.Hostname())
	default:
		err = fmt.Errorf("the server wants a login at %s, not a token; give a user and a password too", login.Login.Host)
	}
	if err != nil {
		return e.failed(err)
	}
	req.Header.Set("Authorization", text)
	return nil
}

// failed returns the error of credentials that are not available. It does not wrap the cause: a missing file with a token is no
// missing source.
func (e *Entry) failed(err error) error {
	return &object.CredentialsError{Service: e.Prefix, Err: errors.New(err.Error())}
}

func (l *Login) header() (string, error) {
	user, err := l.User.Read()
	if err != nil {
		return "", fmt.Errorf("user: %w", err)
	}
	password, err := l.Password.Read()
	if err != nil {
		return "", fmt.Errorf("password: %w", err)
	}
	return basic(user, password), nil
}

func netrcHeader(name, host string) (string, error) {
	user, password, err := FromNetrc(name, host)
	if err != nil {
		return "", err
	}
	return basic(user, password), nil
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// IsKnownLogin reports whether a URL is on a login host that needs an entry with earthdata.
func IsKnownLogin(u *url.URL) bool { return u.Scheme+"://"+u.Host == earthdataLogin }

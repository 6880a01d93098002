package source

import (
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Shown returns a name in the form for errors and manifests: without the user, password and signature of a URL, which are only
// sent to its host.
func Shown(name string) string {
	if outer, steps := CutPacked(name); steps != "" {
		return Shown(outer) + steps
	}
	scheme, _, ok := strings.Cut(name, "://")
	switch {
	case !ok:
	case IsObject(name):
		if u, err := ParseURL(name); err == nil {
			return u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")
		}
	case strings.EqualFold(scheme, "http"), strings.EqualFold(scheme, "https"):
		if u, err := parseURL(name); err == nil {
			return withoutSecrets(u).String()
		}
		return withoutUser(name)
	}
	return name
}

// tokens are names of query parameters that are secrets in any URL.
var tokens = []string{"access_token", "api_key", "apikey", "auth_token", "password", "secret", "token"}

// signatures maps a query parameter that makes a URL a signed one to the parameters that accompany it. A name that ends with a
// dash is a prefix.
var signatures = map[string][]string{
	"x-amz-signature":  {"x-amz-"},
	"x-goog-signature": {"x-goog-"},
	"signature":        {"awsaccesskeyid", "googleaccessid", "expires", "key-pair-id", "policy", "x-amz-security-token"},
	"sig": {"sv", "ss", "srt", "sp", "sr", "st", "se", "sip", "spr", "si", "sdd", "ses",
		"skoid", "sktid", "skt", "ske", "sks", "skv", "saoid", "suoid", "scid"},
}

// withoutSecrets returns a URL without user, password, signature and tokens.
func withoutSecrets(u *url.URL) *url.URL {
	clean := *u
	clean.User, clean.Fragment = nil, ""
	parts := strings.Split(u.RawQuery, "&")
	drop := slices.Clone(tokens)
	for _, part := range parts {
		if with, ok := signatures[parameter(part)]; ok {
			drop = append(append(drop, parameter(part)), with...)
		}
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return isOf(drop, parameter(part)) })
	if clean.RawQuery = strings.Join(parts, "&"); clean.RawQuery == "" && u.RawQuery != "" {
		clean.ForceQuery = false
	}
	return &clean
}

// parameter returns the name of a query parameter, decoded and in lower case.
func parameter(part string) string {
	name, _, _ := strings.Cut(part, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return strings.ToLower(name)
}

// isOf reports whether a name, or a prefix of it, is in the list.
func isOf(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		return s == name || strings.HasSuffix(s, "-") && strings.HasPrefix(name, s)
	})
}

// secrets remembers the URLs with secrets by their shown form, so that opening the shown form again uses the secrets.
type secrets struct{ urls sync.Map }

// whole returns the remembered URL whose shown form is u, or u. If u has secrets, it remembers u.
func (s *secrets) whole(u *url.URL) *url.URL {
	if known, ok := s.urls.Load(u.String()); ok {
		return known.(*url.URL)
	}
	if shown := withoutSecrets(u).String(); shown != u.String() {
		s.urls.Store(shown, u)
	}
	return u
}

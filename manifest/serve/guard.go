package serve

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"strings"
	"sync"
)

// guard decides who may send requests, and how many at once.
type guard struct {
	tokens  *Tokens // nil admits all clients
	most    int64   // requests of one client at once; 0 means no limit
	proxied bool    // whether a proxy sets X-Forwarded-For
	opts    *Options

	mu      sync.Mutex
	clients map[string]*client // those with requests
}

// client is a client with requests that are being answered or wait.
type client struct {
	turns    *turns
	requests int
}

// identify returns the name of a client, or why it may not read.
func (g *guard) identify(r *http.Request) (name string, f *fault) {
	if g.tokens != nil {
		name, ok := g.tokens.userOf(r)
		if !ok {
			return g.addressOf(r), errNoToken
		}
		return name, nil
	}
	if cert := certificateOf(r); cert != nil {
		return cert.Subject.CommonName, nil
	}
	return g.addressOf(r), nil
}

// certificateOf returns the client's certificate, or nil.
func certificateOf(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil
	}
	return r.TLS.PeerCertificates[0]
}

// enter waits until a client may send a request. The caller calls leave after the answer. ok is false if the client
// had too many requests for too long.
func (g *guard) enter(ctx context.Context, name string) (leave func(), ok bool) {
	if g.most <= 0 {
		return func() {}, true
	}
	g.mu.Lock()
	c := g.clients[name]
	if c == nil {
		c = &client{turns: newTurns(g.most, g.opts.Patience)}
		g.clients[name] = c
	}
	c.requests++
	g.mu.Unlock()
	give, ok := c.turns.take(ctx, 1)
	end := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if c.requests--; c.requests == 0 {
			delete(g.clients, name)
		}
	}
	if !ok {
		end()
		return nil, false
	}
	return func() { give(); end() }, true
}

// addressOf returns the IP address of a client. The last address in X-Forwarded-For is the one that the proxy saw; a
// client can send the others.
func (g *guard) addressOf(r *http.Request) string {
	if list := r.Header.Values("X-Forwarded-For"); g.proxied && len(list) > 0 {
		last := list[len(list)-1]
		return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// origin returns the scheme and host with which the client reached the server.
func (h *Handler) origin(r *http.Request) string {
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if h.opts.Proxied {
		if s := r.Header.Get("X-Forwarded-Proto"); s == "http" || s == "https" {
			scheme = s
		}
		if s := r.Header.Get("X-Forwarded-Host"); s != "" {
			host = s
		}
	}
	return scheme + "://" + host
}

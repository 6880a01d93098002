package serve

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/manifest/store"
)

const (
	aliceToken = "0123456789abcdef"
	bobToken   = "fedcba9876543210"
)

func writeTokens(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func guarded(t *testing.T, o *Options) (h *Handler, url string) {
	t.Helper()
	d := weather(t)
	o.open = func(context.Context, string, *store.Options) (dataset, error) { return d, nil }
	h = newHandlerOf(t, o, "a.varve")
	return h, start(t, h).URL
}

// TestTokens: requests need a token of the file, which is read again when it changes. A broken file changes nothing.
func TestTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	writeTokens(t, file, "# users\n\nalice "+aliceToken+"\n")
	tokens, err := OpenTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	tokens.now = func() time.Time { return now }
	var log strings.Builder
	_, url := guarded(t, &Options{Tokens: tokens, Access: slog.New(slog.NewTextHandler(&log, nil))})
	status := func(key string, headers ...string) int {
		t.Helper()
		return ask(t, "GET", url+key, headers...).status
	}
	basic := func(password string) string {
		r, _ := http.NewRequest("GET", "/", nil)
		r.SetBasicAuth("anyone", password)
		return r.Header.Get("Authorization")
	}
	for _, c := range []struct {
		key, authorization string
		want               int
	}{
		{"/zarr.json", "", 401}, {"/", "", 401}, {"/nothing", "", 401}, {"/metrics", "", 401}, {"/big/c/0/0", "", 401}, {"/healthz", "", 200},
		{"/zarr.json", "Bearer " + aliceToken, 200}, {"/big/c/0/0", "bearer " + aliceToken, 200}, {"/metrics", "Bearer " + aliceToken, 200},
		{"/zarr.json", basic(aliceToken), 200}, {"/zarr.json", basic(bobToken), 401}, {"/zarr.json", "Bearer " + bobToken, 401},
		{"/zarr.json", "Bearer", 401}, {"/zarr.json", "Bearer ", 401}, {"/zarr.json", "Basic !", 401}, {"/nothing", "Bearer " + aliceToken, 404},
	} {
		if got := status(c.key, "Authorization", c.authorization); got != c.want {
			t.Errorf("%s with %q: %d, want %d", c.key, c.authorization, got, c.want)
		}
	}
	if got := ask(t, "GET", url+"/zarr.json").header.Values("WWW-Authenticate"); len(got) != 2 {
		t.Errorf("challenges %q", got)
	}
	if !strings.Contains(log.String(), "from=alice") || strings.Contains(log.String(), aliceToken) {
		t.Error(log.String())
	}

	writeTokens(t, file, "alice\n")
	now = now.Add(2 * tokenReload)
	if got := status("/zarr.json", "Authorization", "Bearer "+aliceToken); got != 200 {
		t.Errorf("a broken file locks users out: %d", got)
	}
	for _, c := range []struct {
		authorization string
		reasons       int
	}{{"", 0}, {"Bearer " + aliceToken, 1}} {
		var now health
		if err := json.Unmarshal([]byte(ask(t, "GET", url+"/healthz", "Authorization", c.authorization).body), &now); err != nil || now.Status != "degraded" || len(now.Reasons) != c.reasons {
			t.Errorf("with %q: %+v, %v", c.authorization, now, err)
		}
	}
	writeTokens(t, file, "bob "+bobToken+"\n")
	now = now.Add(2 * tokenReload)
	if a, b := status("/zarr.json", "Authorization", "Bearer "+aliceToken), status("/zarr.json", "Authorization", "Bearer "+bobToken); a != 401 || b != 200 {
		t.Errorf("after the change: %d, %d", a, b)
	}
}

func TestTokenFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tokens")
	for _, text := range []string{"", "# none\n", "alice\n", "alice short\n", "alice " + aliceToken + " more\n", "alice " + aliceToken + "\nbob " + aliceToken + "\n", strings.Repeat("#", maxTokenFile+1)} {
		writeTokens(t, file, text)
		if _, err := OpenTokens(file); err == nil || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), aliceToken) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	for _, name := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := OpenTokens(name); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestPerClient: one client has at most PerClient requests at once. The others wait, and are then refused.
func TestPerClient(t *testing.T) {
	h, url := guarded(t, &Options{PerClient: 2, Proxied: true, Patience: 50 * time.Millisecond})
	var leave []func()
	for range 2 {
		end, ok := h.guard.enter(t.Context(), "10.0.0.1")
		if !ok {
			t.Fatal("a request within the limit is refused")
		}
		leave = append(leave, end)
	}
	from := func(list string) answer { return ask(t, "GET", url+"/zarr.json", "X-Forwarded-For", list) }
	if got := from("10.0.0.2, 10.0.0.1"); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" {
		t.Errorf("beyond the limit: %d", got.status)
	}
	if got := from("10.0.0.1, 10.0.0.2").status; got != http.StatusOK {
		t.Errorf("another client: %d", got)
	}
	if got := ask(t, "GET", url+"/healthz", "X-Forwarded-For", "10.0.0.1").status; got != http.StatusOK {
		t.Errorf("/healthz: %d", got)
	}
	leave[0]()
	if got := from("10.0.0.1").status; got != http.StatusOK {
		t.Errorf("after a request has ended: %d", got)
	}
	leave[1]()
	if len(h.guard.clients) != 0 {
		t.Errorf("%d clients are kept", len(h.guard.clients))
	}
}

// TestProxied: pages show the address that the client used, if the server may believe the proxy.
func TestProxied(t *testing.T) {
	for _, proxied := range []bool{false, true} {
		_, url := guarded(t, &Options{Proxied: proxied})
		got := ask(t, "GET", url+"/", "Accept", browser, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "data.example.org").body
		if strings.Contains(got, "https://data.example.org") != proxied {
			t.Errorf("proxied %v: %s", proxied, got)
		}
	}
}

// TestClientCertificates: with an authority, only clients with a certificate that it signed can connect.
func TestClientCertificates(t *testing.T) {
	dir := t.TempDir()
	ca, caKey := issue(t, dir, "authority", nil, nil)
	issue(t, dir, "server", ca, caKey)
	issue(t, dir, "alice", ca, caKey)
	issue(t, dir, "stranger", nil, nil)
	at := func(name string) string { return filepath.Join(dir, name) }
	var log strings.Builder
	h, _ := guarded(t, &Options{Access: slog.New(slog.NewTextHandler(&log, nil))})
	s := &Server{Cert: at("server.pem"), Key: at("server.key"), ClientCA: at("authority.pem")}
	l, url, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, h) }()
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	for name, ok := range map[string]bool{"alice": true, "stranger": false, "": false} {
		config := &tls.Config{RootCAs: pool, ServerName: "localhost"}
		if name != "" {
			pair, err := tls.LoadX509KeyPair(at(name+".pem"), at(name+".key"))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		transport := &http.Transport{TLSClientConfig: config}
		resp, err := (&http.Client{Transport: transport}).Get(url + "/zarr.json")
		if (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
		if err == nil {
			if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%q: %d, %v", name, resp.StatusCode, err)
			}
		}
		transport.CloseIdleConnections()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "from=alice") {
		t.Error(log.String())
	}
	for _, bad := range []*Server{{ClientCA: at("authority.pem")}, {Cert: s.Cert, Key: s.Key, ClientCA: at("none")}, {Cert: s.Cert, Key: s.Key, ClientCA: at("server.key")}} {
		if _, _, err := bad.Listen(t.Context(), "127.0.0.1:0"); err == nil {
			t.Errorf("%+v listens", bad)
		}
	}
}

// issue writes a certificate and its key. Without an authority it signs itself.
func issue(t *testing.T, dir, name string, ca *x509.Certificate, caKey *rsa.PrivateKey) (*x509.Certificate, *rsa.PrivateKey) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true, IsCA: ca == nil,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ca == nil {
		ca, caKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for suffix, block := range map[string]*pem.Block{"pem": {Type: "CERTIFICATE", Bytes: der}, "key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.%s", name, suffix)), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

package serve

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Tokens are the users who may read from a server, each with a secret token. They are in a text file, which is read
// again when it changes:
//
//	# name and token
//	alice 6c8e0b0e57a64ed8b4b4f1ac
type Tokens struct {
	name string
	now  func() time.Time

	mu      sync.Mutex
	checked time.Time
	file    os.FileInfo
	users   map[[sha256.Size]byte]string // names by the hash of the token
	err     error                        // why the newest version of the file cannot be used
}

const (
	// leastToken is the shortest token. A shorter one can be guessed.
	leastToken = 16
	// maxTokenFile is the largest file of tokens.
	maxTokenFile = 1 << 20
	// tokenReload is the interval at which the file may be read again.
	tokenReload = time.Second
)

// OpenTokens reads a file of tokens.
func OpenTokens(name string) (*Tokens, error) {
	t := &Tokens{name: name, now: time.Now}
	t.reload()
	return t, t.err
}

// reload reads the file if it has changed. A file that cannot be used keeps the old users, and sets err.
func (t *Tokens) reload() {
	if now := t.now(); now.Sub(t.checked) >= tokenReload {
		t.checked = now
	} else {
		return
	}
	info, err := os.Stat(t.name)
	if err == nil && t.file != nil && info.Size() == t.file.Size() && info.ModTime().Equal(t.file.ModTime()) && os.SameFile(info, t.file) {
		return
	}
	var users map[[sha256.Size]byte]string
	if err == nil {
		users, err = readTokens(t.name, info)
	}
	t.file, t.err = info, err
	if err == nil {
		t.users = users
	}
}

func readTokens(name string, info os.FileInfo) (map[[sha256.Size]byte]string, error) {
	if !info.Mode().IsRegular() || info.Size() > maxTokenFile {
		return nil, fmt.Errorf("%s: want a file of at most %d bytes", name, maxTokenFile)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	users, n := map[[sha256.Size]byte]string{}, 0
	for line := range bytes.Lines(text) {
		n++
		fields := strings.Fields(string(line))
		switch {
		case len(fields) == 0, strings.HasPrefix(fields[0], "#"):
			continue
		case len(fields) != 2:
			return nil, fmt.Errorf("%s: line %d: want a name and a token", name, n)
		case len(fields[1]) < leastToken:
			return nil, fmt.Errorf("%s: line %d: the token of %q has fewer than %d characters", name, n, fields[0], leastToken)
		}
		sum := sha256.Sum256([]byte(fields[1]))
		if other, ok := users[sum]; ok {
			return nil, fmt.Errorf("%s: line %d: %q has the token of %q", name, n, fields[0], other)
		}
		users[sum] = fields[0]
	}
	if len(users) == 0 {
		return nil, fmt.Errorf("%s: the file has no token", name)
	}
	return users, nil
}

// userOf returns the name of the user whose token a request has: as a bearer token, or as the password that a browser
// asks for.
func (t *Tokens) userOf(r *http.Request) (name string, ok bool) {
	token, ok := bearer(r.Header.Get("Authorization"))
	if !ok {
		if _, token, ok = r.BasicAuth(); !ok {
			return "", false
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reload()
	// The time to find a hash tells nothing about the token.
	name, ok = t.users[sha256.Sum256([]byte(token))]
	return name, ok
}

// Err returns why the newest version of the file cannot be used. Until it is corrected, the older tokens are valid.
func (t *Tokens) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reload()
	return t.err
}

func bearer(header string) (token string, ok bool) {
	const scheme = "bearer "
	if len(header) <= len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", false
	}
	return strings.TrimSpace(header[len(scheme):]), true
}

var errNoToken = &fault{Status: http.StatusUnauthorized, Kind: "unauthorized",
	Reason: "the server needs a token: send the header Authorization: Bearer TOKEN, or use the token as a password"}

var errManyRequests = &fault{Status: http.StatusTooManyRequests, Kind: "too many requests",
	Reason: "this client has too many requests at once", Retry: 1}

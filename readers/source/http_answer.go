package source

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// answer is a server's response. All its fields are checked before they are used.
type answer struct {
	*http.Response
	body   io.Reader
	reason *complaint // cached by complaint
}

// wrongf returns an error for an answer that does not match the request. The request is not repeated.
func wrongf(format string, args ...any) error {
	return &wrongAnswer{fmt.Errorf(format, args...)}
}

type wrongAnswer struct{ err error }

func (e *wrongAnswer) Error() string { return e.err.Error() }
func (e *wrongAnswer) Unwrap() error { return e.err }

// statusError is the error of an answer with a status of failure.
type statusError struct {
	code   int
	reason string        // error code of an object store, such as AccessDenied; may be empty
	after  time.Duration // the server's Retry-After; -1 if there is none
}

func (e *statusError) Error() string {
	if e.code == http.StatusPreconditionFailed {
		return ErrChanged.Error() + ": the server has another version (412 Precondition Failed)"
	}
	text := strings.TrimSpace(fmt.Sprintf("the server answered %d %s", e.code, http.StatusText(e.code)))
	if e.reason != "" {
		text += ", " + e.reason
	}
	if e.after > 0 {
		text += fmt.Sprintf(", and asks to wait %s", e.after)
	}
	return text
}

// credentialHints explain problems with credentials, by the store's error code.
var credentialHints = map[string]string{
	"SignatureDoesNotMatch": "the secret key does not match this access key",
	"InvalidAccessKeyId":    "the store does not know this access key",
	"AuthenticationFailed":  "the key or token does not match this account",
	"ExpiredToken":          "the session token has expired",
	"RequestTimeTooSkewed":  "the clock of this machine is wrong",
}

// refusalHint returns advice for a rejected request: for the store's error code, or the general one.
func refusalHint(err error, general func() string) string {
	var status *statusError
	if errors.As(err, &status) {
		if hint := credentialHints[status.reason]; hint != "" {
			return hint
		}
	}
	return general()
}

func (e *statusError) Unwrap() error {
	switch e.code {
	case http.StatusNotFound, http.StatusGone:
		return fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return fs.ErrPermission
	case http.StatusPreconditionFailed:
		return ErrChanged
	case http.StatusBadRequest: // Amazon sends it for expired tokens, where other stores send 401
		if e.reason == "ExpiredToken" || e.reason == "InvalidToken" || e.reason == "TokenRefreshRequired" {
			return fs.ErrPermission
		}
	}
	return nil
}

// failure returns the statusError of the answer.
func (a *answer) failure() error {
	return &statusError{code: a.StatusCode, reason: a.complaint().word(), after: retryAfter(a.Header.Get("Retry-After"))}
}

// complaint is the body of an object store's answer to a request that failed.
type complaint struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Size    string `xml:"ActualObjectSize"`
}

// complaint reads the body of a failure, once.
func (a *answer) complaint() *complaint {
	if a.reason != nil {
		return a.reason
	}
	const most = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(a.body, most)) // a longer body, or an error, fails to parse
	a.reason = &complaint{}
	if xml.Unmarshal(body, a.reason) != nil {
		a.reason = &complaint{}
	}
	if code := a.Header.Get("X-Ms-Error-Code"); code != "" {
		a.reason.Code = code
	}
	return a.reason
}

// word returns the code if it has only letters: a server must not put arbitrary text in messages.
func (c *complaint) word() string {
	const most = 64
	if len(c.Code) > most || strings.ContainsFunc(c.Code, func(r rune) bool { return !('a' <= r|0x20 && r|0x20 <= 'z') }) {
		return ""
	}
	return c.Code
}

// retryAfter returns the time to wait in a Retry-After header, which is seconds or a time. It returns -1 if it is neither.
func retryAfter(value string) time.Duration {
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	// The difference is to the clock of this machine, which may be ahead of the server's.
	if t, err := http.ParseTime(value); err == nil {
		return max(time.Until(t), 0)
	}
	return -1
}

// plain returns an error if the body is an encoding of the file instead of its bytes.
func (a *answer) plain() error {
	if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusPartialContent {
		return nil
	}
	if e := a.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return wrongf("the server sends the file with Content-Encoding %q, so byte ranges do not match the file: %w", e, errors.ErrUnsupported)
	}
	return nil
}

// identity returns the identity of the file in the answer's headers. size is the size of the file.
func (a *answer) identity(size int64) Identity {
	id := Identity{Size: size, ETag: a.Header.Get("ETag")}
	if t, err := http.ParseTime(a.Header.Get("Last-Modified")); err == nil {
		id.Modified = t
	}
	return id
}

// contentRange returns the range and the size of the file in the Content-Range header, such as "bytes 0-99/1000".
func (a *answer) contentRange() (Range, int64, error) {
	return parseContentRange(a.Header.Get("Content-Range"))
}

// parseContentRange parses a Content-Range header.
func parseContentRange(text string) (Range, int64, error) {
	unit, rest, _ := strings.Cut(text, " ")
	span, total, _ := strings.Cut(rest, "/")
	from, to, _ := strings.Cut(span, "-")
	if total == "*" {
		return Range{}, 0, wrongf("Content-Range is %q, must have the size of the file instead of *: %w", text, errors.ErrUnsupported)
	}
	first, err1 := decimal(from)
	last, err2 := decimal(to)
	size, err3 := decimal(total)
	if !strings.EqualFold(unit, "bytes") || errors.Join(err1, err2, err3) != nil || last < first || last >= size {
		return Range{}, 0, wrongf("Content-Range is %q, must be like \"bytes 0-99/1000\"", text)
	}
	return Range{Offset: first, Length: last - first + 1}, size, nil
}

// unsatisfied returns the size of the file in an answer that rejects a range. Some object stores have it in the body, others
// do not send it.
func (a *answer) unsatisfied() (int64, bool) {
	if size, ok := unsatisfied(a.Header.Get("Content-Range")); ok {
		return size, true
	}
	size, err := decimal(a.complaint().Size)
	return size, err == nil
}

// empty reports whether an answer that rejects the range of the first bytes means that the file is empty.
func (a *answer) empty() bool {
	size, ok := a.unsatisfied()
	return ok && size == 0 || !ok && a.complaint().Code == "InvalidRange"
}

// unsatisfied returns the size in the Content-Range header of a rejected range, such as "bytes */1000".
func unsatisfied(text string) (int64, bool) {
	total, ok := strings.CutPrefix(text, "bytes */")
	size, err := decimal(total)
	return size, ok && err == nil
}

// decimal parses a number of digits only. ParseInt would accept signs.
func decimal(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err
}

// show formats a range as in the Range header: the first and the last byte.
func show(r Range) string { return fmt.Sprintf("%d-%d", r.Offset, r.End()-1) }

// fill reads the body to p. The body must have exactly len(p) bytes.
func (a *answer) fill(p []byte) (int, error) {
	n, err := io.ReadFull(a.body, p)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return n, &cut{n, len(p), err}
	}
	var more [1]byte
	// A longer body means that the headers do not describe it, so its bytes cannot be trusted either.
	if extra, _ := io.ReadFull(a.body, more[:]); extra > 0 {
		return 0, wrongf("the server sent more than the %d bytes that it announced", len(p))
	}
	return n, nil
}

// cut is the error of a body that ended early.
type cut struct {
	got, want int
	err       error
}

func (e *cut) Error() string {
	return fmt.Sprintf("the connection broke after %d of %d bytes: %v", e.got, e.want, e.err)
}

// drain reads the rest of a short body, so that the connection can be reused.
func (a *answer) drain() {
	const most = 64 << 10
	_, _ = io.CopyN(io.Discard, a.body, most)
}

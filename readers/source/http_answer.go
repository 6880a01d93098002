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

// answer is what a server sent. Nothing it says is believed before it is checked.
type answer struct {
	*http.Response
	body io.Reader
	said *complaint
}

// wrongf returns an error for an answer that is not one to the question. Asking again
// would not help.
func wrongf(format string, args ...any) error {
	return &wrongAnswer{fmt.Errorf(format, args...)}
}

type wrongAnswer struct{ err error }

func (e *wrongAnswer) Error() string { return e.err.Error() }
func (e *wrongAnswer) Unwrap() error { return e.err }

// statusError is an answer that says the request failed.
type statusError struct {
	code   int
	reason string        // in a word of an object store's, such as AccessDenied; may be empty
	after  time.Duration // how long the server asks to wait; -1 if it does not say
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

// credentialHints say what is wrong with credentials, by the reason that a store gives.
var credentialHints = map[string]string{
	"SignatureDoesNotMatch": "the secret key does not match this access key",
	"InvalidAccessKeyId":    "the store does not know this access key",
	"AuthenticationFailed":  "the key or token does not match this account",
	"ExpiredToken":          "the session token has expired",
	"RequestTimeTooSkewed":  "the clock of this machine is wrong",
}

// refusalHint says what to do about a refused request: by the reason of the store, or else in general.
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
	case http.StatusBadRequest: // which is how Amazon says what others say with 401
		if e.reason == "ExpiredToken" || e.reason == "InvalidToken" || e.reason == "TokenRefreshRequired" {
			return fs.ErrPermission
		}
	}
	return nil
}

func (a *answer) failure() error {
	return &statusError{code: a.StatusCode, reason: a.complaint().word(), after: retryAfter(a.Header.Get("Retry-After"))}
}

// complaint is what object stores say about a request that failed.
type complaint struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Size    string `xml:"ActualObjectSize"`
}

// complaint reads the body of a failure, once.
func (a *answer) complaint() *complaint {
	if a.said != nil {
		return a.said
	}
	const most = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(a.body, most)) // what is cut off is no complaint
	a.said = &complaint{}
	if xml.Unmarshal(body, a.said) != nil {
		a.said = &complaint{}
	}
	if code := a.Header.Get("X-Ms-Error-Code"); code != "" {
		a.said.Code = code
	}
	return a.said
}

// word is the code, if it is nothing but a word.
func (c *complaint) word() string {
	const most = 64
	if len(c.Code) > most || strings.ContainsFunc(c.Code, func(r rune) bool { return !('a' <= r|0x20 && r|0x20 <= 'z') }) {
		return ""
	}
	return c.Code
}

// retryAfter reads the header of that name: seconds, or a time.
func retryAfter(value string) time.Duration {
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(time.Until(t), 0)
	}
	return -1
}

// plain refuses bodies that are not the bytes of the file as they are.
func (a *answer) plain() error {
	if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusPartialContent {
		return nil
	}
	if e := a.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return wrongf("the server sends the file in the encoding %q, ranges of which are not ranges of the file: %w", e, errors.ErrUnsupported)
	}
	return nil
}

// identity is what the answer says of the file, which has size bytes.
func (a *answer) identity(size int64) Identity {
	id := Identity{Size: size, ETag: a.Header.Get("ETag")}
	if t, err := http.ParseTime(a.Header.Get("Last-Modified")); err == nil {
		id.Modified = t
	}
	return id
}

// contentRange reads the header of that name: "bytes 0-99/1000".
func (a *answer) contentRange() (Range, int64, error) {
	return parseContentRange(a.Header.Get("Content-Range"))
}

func parseContentRange(text string) (Range, int64, error) {
	unit, rest, _ := strings.Cut(text, " ")
	span, total, _ := strings.Cut(rest, "/")
	from, to, _ := strings.Cut(span, "-")
	if total == "*" {
		return Range{}, 0, wrongf("the server does not say how large the file is: Content-Range is %q: %w", text, errors.ErrUnsupported)
	}
	first, err1 := decimal(from)
	last, err2 := decimal(to)
	size, err3 := decimal(total)
	if !strings.EqualFold(unit, "bytes") || errors.Join(err1, err2, err3) != nil || last < first || last >= size {
		return Range{}, 0, wrongf("Content-Range is %q, not like \"bytes 0-99/1000\"", text)
	}
	return Range{Offset: first, Length: last - first + 1}, size, nil
}

// unsatisfied returns the size of the file that a refused range says. Object stores say it in
// the body, if at all.
func (a *answer) unsatisfied() (int64, bool) {
	if size, ok := unsatisfied(a.Header.Get("Content-Range")); ok {
		return size, true
	}
	size, err := decimal(a.complaint().Size)
	return size, err == nil
}

// empty reports whether a refusal of the first bytes says that there are none.
func (a *answer) empty() bool {
	size, ok := a.unsatisfied()
	return ok && size == 0 || !ok && a.complaint().Code == "InvalidRange"
}

// unsatisfied reads the Content-Range of a refused range: "bytes */1000".
func unsatisfied(text string) (int64, bool) {
	total, ok := strings.CutPrefix(text, "bytes */")
	size, err := decimal(total)
	return size, ok && err == nil
}

// decimal reads digits only: ParseInt would take signs.
func decimal(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err
}

// show writes a range as the header Range does, with the last byte in it.
func show(r Range) string { return fmt.Sprintf("%d-%d", r.Offset, r.End()-1) }

// fill reads the body, which must be as long as p.
func (a *answer) fill(p []byte) (int, error) {
	n, err := io.ReadFull(a.body, p)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return n, &cut{n, len(p), err}
	}
	var more [1]byte
	if extra, _ := io.ReadFull(a.body, more[:]); extra > 0 {
		return 0, wrongf("the server sent more than the %d bytes that it said", len(p))
	}
	return n, nil
}

// cut is a body that ended early.
type cut struct {
	got, want int
	err       error
}

func (e *cut) Error() string {
	return fmt.Sprintf("the connection broke after %d of %d bytes: %v", e.got, e.want, e.err)
}

// drain reads what is left of a short body, so that the connection can be used again.
func (a *answer) drain() {
	const most = 64 << 10
	_, _ = io.CopyN(io.Discard, a.body, most)
}

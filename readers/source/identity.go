package source

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrChanged marks errors caused by a source that is no longer the one that was opened, or
// not the one that was asked for.
var ErrChanged = errors.New("source has changed")

// Identity tells one version of a file from another.
type Identity struct {
	Size     int64
	Modified time.Time // the zero time where it is not known; a server tells it to the second
	ETag     string    // as the server writes it, quotes and all; empty where there is none
}

// Check returns nil if now is, as far as anybody can tell, the same version as id, and else
// an ErrChanged that says what differs. What id does not know is not compared; what it
// knows, now must know too. A strong ETag decides alone about what has the same size.
func (id Identity) Check(now Identity) error {
	if id.Size != now.Size {
		return fmt.Errorf("%w: it had %d bytes, now %d", ErrChanged, id.Size, now.Size)
	}
	if id.ETag != "" && id.ETag != now.ETag {
		return fmt.Errorf("%w: it had the ETag %s, now %s", ErrChanged, id.ETag, orNone(now.ETag))
	}
	if id.strong() || id.Modified.IsZero() || id.Modified.Equal(now.Modified) {
		return nil
	}
	return fmt.Errorf("%w: it was of %s, now of %s", ErrChanged, moment(id.Modified), moment(now.Modified))
}

// strong reports whether the ETag changes with every byte, and can be made a condition: one
// with a space in it, say, no server would find in a list of them.
func (id Identity) strong() bool {
	inner, quoted := strings.CutPrefix(id.ETag, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	return quoted && closed && !strings.ContainsFunc(inner, func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f })
}

func orNone(tag string) string {
	if tag == "" {
		return "none"
	}
	return tag
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "no known time"
	}
	return t.UTC().Format("2006-01-02T15:04:05.999999999Z")
}

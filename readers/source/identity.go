package source

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrChanged marks errors caused by a source that is no longer the version that was opened, or not the version that was
// requested.
var ErrChanged = errors.New("source has changed")

// Identity identifies a version of a file.
type Identity struct {
	Size     int64
	Modified time.Time // time of modification, or the zero time if it is not known; of a server, in whole seconds
	ETag     string    // as the server sends it, with its quotes; empty if there is none
}

// Check returns an ErrChanged if now is another version than id. It compares the fields that id has; they must be the same
// in now. If the size and a strong ETag are equal, it does not compare the times.
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
	return fmt.Errorf("%w: it was modified at %s, now at %s", ErrChanged, timeText(id.Modified), timeText(now.Modified))
}

// strong reports whether the ETag is strong (it changes with every byte) and valid in an If-Match header, where spaces and
// quotes within it are not.
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

func timeText(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format("2006-01-02T15:04:05.999999999Z")
}

package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"varve/readers/source/internal/object"
)

// minimumRate is how fast a read must be in the long run, in bytes a second.
const minimumRate = 64 << 10

// persist calls try until it succeeds or fails in a way that will not pass. Between
// attempts it waits: for as long as the server asks for, else for a random time of up to
// twice as long as before, so that many who failed together do not come back together.
func (r *remote) persist(ctx context.Context, bytes int64, try func(context.Context) error) error {
	patience := r.opts.Patience + time.Duration(bytes/minimumRate)*time.Second
	deadline := time.Now().Add(patience)
	limited, cancel := context.WithDeadlineCause(ctx, deadline, &impatient{patience})
	defer cancel()
	defer context.AfterFunc(r.closing, cancel)()
	if r.closing.Err() != nil {
		return errClosed
	}
	for attempt := 1; ; attempt++ {
		err := try(limited)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case r.closing.Err() != nil:
			return errClosed
		case !passing(err):
			return err
		case attempt == r.opts.Attempts:
			return fmt.Errorf("%w (after %d attempts)", err, attempt)
		}
		wait := pause(r.opts.Backoff, attempt, err)
		if time.Until(deadline) < wait {
			return fmt.Errorf("%w (after %d attempts; the next would come too late)", err, attempt)
		}
		select {
		case <-time.After(wait):
		case <-limited.Done():
		}
	}
}

// maxPause bounds the pauses that are not the server's wish.
const maxPause = 10 * time.Second

func pause(backoff time.Duration, attempt int, err error) time.Duration {
	var status *statusError
	if errors.As(err, &status) && status.after >= 0 {
		return status.after
	}
	var moved *expired
	if errors.As(err, &moved) {
		return 0
	}
	return rand.N(min(backoff<<min(attempt-1, 20), maxPause) + 1)
}

// passing reports whether an error may be gone when the request is made again.
func passing(err error) bool {
	var (
		moved  *expired
		status *statusError
		wrong  *wrongAnswer
		whole  *onlyWhole
		late   *impatient
	)
	switch {
	case errors.As(err, &moved):
		return true
	case errors.As(err, &wrong), errors.As(err, &whole), errors.As(err, &late), errors.Is(err, ErrChanged), permanent(err):
		return false
	case errors.As(err, &status):
		switch status.code {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		case http.StatusConflict: // with another request, and not with what is there
			return status.reason == "ConditionalRequestConflict" || status.reason == "OperationAborted"
		}
		return false
	}
	return true // the network's
}

// permanent reports whether an error of making a request is one that stays: the server
// cannot be believed or found, or a redirect was refused.
func permanent(err error) bool {
	var (
		dns         *net.DNSError
		verify      *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		certificate x509.CertificateInvalidError
		record      tls.RecordHeaderError
		refused     *redirectError
		local       *localError
		keys        *object.CredentialsError
	)
	return errors.As(err, &dns) && dns.IsNotFound ||
		errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &hostname) || errors.As(err, &certificate) ||
		errors.As(err, &record) || errors.As(err, &refused) || errors.As(err, &local) || errors.As(err, &keys)
}

// because returns the reason for which a request was ended, if it was, in place of the
// error that came of ending it; and else the error without the URL, which is in the name
// of the source already and may be signed.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// expired is the error of an address that a redirect once led to.
type expired struct{ err error }

func (e *expired) Error() string { return e.err.Error() }
func (e *expired) Unwrap() error { return e.err }

// stalled is the error of a request that brought too little.
type stalled struct{ after time.Duration }

func (e *stalled) Error() string {
	return fmt.Sprintf("the server sent less than %d bytes in %s", stallBytes, e.after)
}

// Timeout marks the error as one of time.
func (e *stalled) Timeout() bool { return true }

// impatient is the error of a read that took too long with all its attempts.
type impatient struct{ after time.Duration }

func (e *impatient) Error() string {
	return fmt.Sprintf("it took longer than %s", e.after)
}

// Timeout marks the error as one of time.
func (e *impatient) Timeout() bool { return true }

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

// minimumRate is the minimum rate of a read, averaged over all of it, in bytes per second.
const minimumRate = 64 << 10

// maxCrowded is the number of refusals of one read that do not count as attempts, because the host had other requests at
// the same time: as many as it takes to halve the first limit of a host to one request.
const maxCrowded = 5

// persist calls try until it succeeds or fails permanently. Between attempts it waits as long as the server asks. If the
// server does not ask, it waits a random time, whose maximum doubles with each attempt, so that clients that failed at
// the same time do not repeat at the same time. bytes is the expected size of the answer, which extends the time limit.
// The time limit does not include waiting for other requests to the same source or host.
func (r *remote) persist(ctx context.Context, bytes int64, try func(context.Context) error) error {
	patience := r.opts.Patience + time.Duration(bytes/minimumRate)*time.Second
	open, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.closing, cancel)()
	left, crowded := patience, 0
	for attempt := 1; ; attempt++ {
		if r.closing.Err() != nil {
			return errClosed
		}
		spent, isCrowded, err := r.once(open, left, &limitError{patience}, bytes, try)
		left -= spent
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case r.closing.Err() != nil:
			return errClosed
		case !isTransient(err):
			return err
		case isCrowded && crowded < maxCrowded:
			crowded++
		case attempt-crowded >= r.opts.Attempts:
			return fmt.Errorf("%w (after %d attempts)", err, attempt)
		}
		wait := pause(r.opts.Backoff, attempt, err)
		// Failing now is better than waiting for an attempt that the limit would end.
		if left < wait {
			return fmt.Errorf("%w (after %d attempts; the time limit of %s leaves no time for another)", err, attempt, patience)
		}
		left -= wait
		select {
		case <-time.After(wait):
		case <-open.Done():
		}
	}
}

// once calls try when the source and the host may have another request, and returns the time that try took.
func (r *remote) once(ctx context.Context, left time.Duration, late *limitError, bytes int64, try func(context.Context) error) (spent time.Duration, crowded bool, err error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return 0, false, context.Cause(ctx)
	}
	request, err := r.host.acquire(ctx, bytes)
	if err != nil {
		return 0, false, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, left, late)
	defer cancel()
	err = try(limited)
	return time.Since(request.began), r.host.release(request, err), err
}

// maxPause is the maximum of pauses that the server did not ask for.
const maxPause = 10 * time.Second

// pause returns the time to wait after a failed attempt.
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

// isTransient reports whether repeating the request may help.
func isTransient(err error) bool {
	var (
		moved  *expired
		status *statusError
		wrong  *wrongAnswer
		whole  *NoRangesError
		late   *limitError
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
		case http.StatusConflict: // only if the conflict is with another request, not with the existing object
			return status.reason == "ConditionalRequestConflict" || status.reason == "OperationAborted"
		}
		return false
	}
	return true // errors of the network
}

// permanent reports whether a request failed for a reason that repeating does not change: the host does not exist, its
// certificate is not valid, a redirect is not followed, its address is not allowed, or the cause is local.
func permanent(err error) bool {
	var (
		dns         *net.DNSError
		verify      *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		certificate x509.CertificateInvalidError
		record      tls.RecordHeaderError
		refused     *redirectError
		address     *AddressError
		local       *localError
		keys        *object.CredentialsError
	)
	return errors.As(err, &dns) && dns.IsNotFound ||
		errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &hostname) || errors.As(err, &certificate) ||
		errors.As(err, &record) || errors.As(err, &refused) || errors.As(err, &address) || errors.As(err, &local) || errors.As(err, &keys)
}

// causeOf returns the cause of ctx if it has ended, instead of the error that this caused. Otherwise it returns err without
// the URL that net/http adds: the URL is already in the source's name, and may be signed.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// expired is the error of a request to a cached target of redirects. The next attempt starts at the origin.
type expired struct{ err error }

func (e *expired) Error() string { return e.err.Error() }
func (e *expired) Unwrap() error { return e.err }

// stalled is the error of a request that transferred too few bytes.
type stalled struct{ after time.Duration }

func (e *stalled) Error() string {
	return fmt.Sprintf("the server sent less than %d bytes in %s", stallBytes, e.after)
}

// Timeout reports true, as for other errors of timeouts.
func (e *stalled) Timeout() bool { return true }

// limitError is the error of a read whose attempts together exceeded the time limit.
type limitError struct{ after time.Duration }

func (e *limitError) Error() string {
	return fmt.Sprintf("the read exceeded its time limit of %s", e.after)
}

// Timeout reports true, as for other errors of timeouts.
func (e *limitError) Timeout() bool { return true }

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io/fs"
	"net/http"
	"os"
	"strconv"

	"varve/codec"
	"varve/manifest"
	"varve/readers/source"
)

// fault is an error that is sent to the client as JSON.
type fault struct {
	Status int    `json:"status"`
	Kind   string `json:"error"` // a short name for programs
	Reason string `json:"reason"`
	// Retry is the number of seconds after which the client may try again; 0 sends no Retry-After.
	Retry int `json:"-"`
}

func (f *fault) Error() string { return f.Reason }

var (
	errNoKey = &fault{Status: http.StatusNotFound, Kind: "no such key", Reason: "there is no such key"}
	errFill  = &fault{Status: http.StatusNotFound, Kind: "missing chunk", Reason: "the chunk is all fill value"}
	errCut   = &fault{Status: http.StatusBadRequest, Kind: "cut key", Reason: "the name contains '#', which ends the path of a URL; write it as %23. " +
		"A client that cannot escape it can read an export (kerchunk, Icechunk or Zarr) instead"}
	errOtherVersion = &fault{Status: http.StatusPreconditionFailed, Kind: "other version", Reason: "the current version does not match If-Match"}

	errBusy = &fault{Status: http.StatusServiceUnavailable, Kind: "busy", Reason: "too many chunks are being re-encoded", Retry: 1}
	errSlow = &fault{Status: http.StatusServiceUnavailable, Kind: "busy", Reason: "answers that slow clients have not yet received fill the memory limit", Retry: 1}

	errClosing = &fault{Status: http.StatusServiceUnavailable, Kind: "closing", Reason: "the server is shutting down", Retry: 1}
)

// faultOf returns the fault that describes an error to the client. Unknown errors become 502, as if an
// upstream server failed. Only a fault that says so becomes 404, because clients replace 404 by the fill
// value.
func faultOf(err error) *fault {
	var known *fault
	var damage *manifest.DamageError
	var local *fs.PathError
	var late interface{ Timeout() bool }
	status, kind := http.StatusBadGateway, "unreachable"
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &late) && late.Timeout():
		status, kind = http.StatusGatewayTimeout, "timeout"
	case errors.As(err, &damage):
		status, kind = http.StatusInternalServerError, "manifest damaged"
	case errors.Is(err, source.ErrChanged):
		status, kind = http.StatusConflict, "source changed"
	case errors.Is(err, source.ErrForbidden), errors.Is(err, fs.ErrPermission):
		status, kind = http.StatusForbidden, "forbidden"
	case errors.Is(err, fs.ErrNotExist):
		status, kind = http.StatusConflict, "source gone"
	case errors.Is(err, codec.ErrCorrupt):
		status, kind = http.StatusInternalServerError, "corrupt"
	case errors.Is(err, errors.ErrUnsupported):
		status, kind = http.StatusNotImplemented, "unsupported"
	case errors.Is(err, fs.ErrClosed):
		return errClosing
	case source.IsExhausted(err):
		return &fault{Status: http.StatusServiceUnavailable, Kind: "busy", Reason: err.Error(), Retry: 1}
	case errors.As(err, &local):
		status, kind = http.StatusInternalServerError, "input or output"
	}
	return &fault{Status: status, Kind: kind, Reason: err.Error()}
}

// refuse answers with a fault.
func refuse(w http.ResponseWriter, r *http.Request, f *fault) {
	h := w.Header()
	// The handler may have set headers that describe the chunk, not the error.
	for _, name := range []string{"Content-Encoding", "ETag", "Accept-Ranges", "Vary"} {
		h.Del(name)
	}
	data, err := json.Marshal(f)
	if err != nil {
		data = []byte(`{}`) // cannot happen: the struct has only strings and numbers
	}
	data = append(data, '\n')
	h.Set("Content-Type", "application/json")
	if wantsPage(r) {
		data = faultPage(w, f)
		h.Set("Content-Type", pageType)
		h.Set("Content-Security-Policy", policy)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	if f.Retry > 0 {
		h.Set("Retry-After", strconv.Itoa(f.Retry))
	}
	w.WriteHeader(f.Status)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := w.Write(data); err != nil {
		return // the client has disconnected
	}
}

// faultPage returns a page about a fault.
func faultPage(w http.ResponseWriter, f *fault) []byte {
	data := &page{Title: strconv.Itoa(f.Status) + " " + f.Kind, Lead: f.Reason, Base: "/", IsFault: true}
	if rec, ok := w.(*recorder); ok {
		data.Base = rec.base
	}
	var b bytes.Buffer
	if err := pages().Execute(&b, data); err != nil {
		return []byte(html.EscapeString(f.Reason)) // cannot happen: the page has only texts
	}
	return b.Bytes()
}

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"varve/readers/source/atomicfile"
)

// content is a whole file that came in one answer. It is in memory if it is small, else in a temporary file.
type content struct {
	io.ReaderAt
	file *atomicfile.Temporary // nil if the content is in memory
}

// learnSmall keeps the whole file of a first answer in memory, if it has at most HeadBytes bytes.
func (r *remote) learnSmall(a *answer) error {
	size := a.ContentLength
	if size < 0 || size > r.opts.HeadBytes {
		return &NoRangesError{Size: size}
	}
	head := make([]byte, size)
	if _, err := a.fill(head); err != nil {
		return err
	}
	r.id, r.content = a.identity(size), &content{ReaderAt: bytes.NewReader(head)}
	return nil
}

// download saves the whole file of an answer to a temporary file.
func (r *remote) download(a *answer) error {
	if err := a.plain(); err != nil {
		return err
	}
	if a.StatusCode != http.StatusOK {
		return a.failure()
	}
	// A body without a length ends with the connection, so a broken connection would look like a complete body.
	if a.ContentLength < 0 && a.ProtoMajor < 2 && !slices.Contains(a.TransferEncoding, "chunked") {
		return wrongf("the server does not send the size of the file, so a truncated download could not be detected: %w", errors.ErrUnsupported)
	}
	f, err := atomicfile.NewTemporary(r.opts.TempDir)
	if err != nil {
		return &localError{err}
	}
	n, err := save(f, a.body, a.ContentLength)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.id, r.content = a.identity(n), &content{f, f}
	return nil
}

// NoRangesError is the error of a server that sends only whole files, not byte ranges. Options.Download is the remedy: it
// downloads the file once and reads the copy.
type NoRangesError struct {
	Size int64 // of the file in bytes, or -1 if the server does not send it
}

// Error returns a text that does not name the remedy, because each program has its own option for it.
func (e *NoRangesError) Error() string {
	return fmt.Sprintf("the server does not send byte ranges, only the whole file (%s)", sizeText(e.Size))
}

// Unwrap returns errors.ErrUnsupported.
func (e *NoRangesError) Unwrap() error { return errors.ErrUnsupported }

// allowance returns the number of bytes for which the time limit of a download is computed.
func (e *NoRangesError) allowance() int64 {
	if e.Size < 0 {
		const guess = 1 << 40
		return guess
	}
	return e.Size
}

func sizeText(size int64) string {
	if size < 0 {
		return "of unknown size"
	}
	return fmt.Sprintf("%d bytes", size)
}

// localError is an error of this machine, such as a full disk. Repeating the request does not help.
type localError struct{ err error }

func (e *localError) Error() string { return "saving the download: " + e.err.Error() }
func (e *localError) Unwrap() error { return e.err }

// save copies a body to a file and returns its length. size is the announced length, or -1 if there is none.
func save(to io.Writer, body io.Reader, size int64) (int64, error) {
	w := &localWriter{to}
	n, err := io.Copy(w, body)
	var local *localError
	if err != nil && !errors.As(err, &local) || err == nil && size >= 0 && n < size {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return n, &cut{int(n), int(size), err}
	}
	if err == nil && size >= 0 && n > size {
		return n, wrongf("the server sent more than the %d bytes that it announced", size)
	}
	return n, err
}

// localWriter marks errors of writing as localError, so that save can distinguish them from errors of reading.
type localWriter struct{ io.Writer }

func (w *localWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = &localError{err}
	}
	return n, err
}

func (c *content) readAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return c.ReadAt(p, off)
}

func (c *content) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

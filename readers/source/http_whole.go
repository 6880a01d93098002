package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
)

// content is all of a file that came in one answer: in memory if it is small, else in a
// temporary file.
type content struct {
	io.ReaderAt
	file *os.File
	left bool // in its folder: it could not be removed while it is open
}

// learnSmall takes a first answer that has all of the file, if that is not much.
func (r *remote) learnSmall(a *answer) error {
	size := a.ContentLength
	if size < 0 || size > r.opts.HeadBytes {
		return &onlyWhole{size}
	}
	head := make([]byte, size)
	if _, err := a.fill(head); err != nil {
		return err
	}
	r.id, r.content = a.identity(size), &content{ReaderAt: bytes.NewReader(head)}
	return nil
}

// download saves all of the file.
func (r *remote) download(a *answer) error {
	if err := a.plain(); err != nil {
		return err
	}
	if a.StatusCode != http.StatusOK {
		return a.failure()
	}
	// Without a length, a body ends where the connection does, and so does half of one.
	if a.ContentLength < 0 && a.ProtoMajor < 2 && !slices.Contains(a.TransferEncoding, "chunked") {
		return wrongf("the server does not say how large the file is, so nobody could tell whether all of it came: %w", errors.ErrUnsupported)
	}
	c, err := newContent(r.opts.TempDir)
	if err != nil {
		return &localError{fmt.Errorf("%v", err)} // what is not there is not the source
	}
	n, err := save(c.file, a.body, a.ContentLength)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	r.id, r.content = a.identity(n), c
	return nil
}

// onlyWhole is the error of a server that sends no ranges.
type onlyWhole struct{ size int64 }

func (e *onlyWhole) Error() string {
	return fmt.Sprintf("the server sends no ranges, only all of the file (%s); --download fetches it once", sizeText(e.size))
}

func (e *onlyWhole) Unwrap() error { return errors.ErrUnsupported }

// allowance is for how many bytes there must be time.
func (e *onlyWhole) allowance() int64 {
	if e.size < 0 {
		const guess = 1 << 40
		return guess
	}
	return e.size
}

func sizeText(size int64) string {
	if size < 0 {
		return "of unknown size"
	}
	return fmt.Sprintf("%d bytes", size)
}

// localError is an error of this machine, such as a full disk. The same request would
// meet it again.
type localError struct{ err error }

func (e *localError) Error() string { return "downloading it: " + e.err.Error() }
func (e *localError) Unwrap() error { return e.err }

// newContent makes a temporary file. Where the system allows it, the file has no name from
// the beginning, so that nothing is left of it however this process ends.
func newContent(dir string) (*content, error) {
	f, err := os.CreateTemp(dir, "varve-*")
	if err != nil {
		return nil, err
	}
	return &content{ReaderAt: f, file: f, left: os.Remove(f.Name()) != nil}, nil
}

// save copies a body to a file. The size is -1 if the server did not say it.
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
		return n, wrongf("the server sent more than the %d bytes that it said", size)
	}
	return n, err
}

// localWriter tells errors of writing from those of reading.
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
	err := c.file.Close()
	if c.left {
		err = errors.Join(err, os.Remove(c.file.Name()))
	}
	return err
}

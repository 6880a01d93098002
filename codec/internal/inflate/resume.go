package inflate

import (
	"errors"

	"varve/codec/internal/access"
	"varve/codec/internal/corrupt"
)

// resumeSlack is the number of bytes after the wanted ones that Resume may write: a match is decoded as a whole.
const resumeSlack = 257

// ResumeSize returns the size of the buffer that Resume needs for size bytes.
func ResumeSize(size int) int { return WindowSize + size + resumeSlack }

// Resume decodes size bytes from a point on, and returns them as a part of room, which has ResumeSize(size) bytes. src
// begins with the byte that contains the point, bit is the position of the point in this byte, and window is the
// window of the point. src need not contain more than the blocks with the wanted bytes. With isGzip the bytes may be in
// several members.
//
// Checksums of the stream are not verified: they cover bytes that are not decoded.
func Resume(room []byte, size int, window, src []byte, bit int, isGzip bool) ([]byte, error) {
	if err := access.FillWindow(room[:WindowSize], window); err != nil {
		return nil, err
	}
	if bit < 0 || bit > 7 || len(src) == 0 {
		return nil, corrupt.Errorf("deflate: no bit %d in %d bytes", bit, len(src))
	}
	d := decoders.Get().(*decoder)
	d.dst, d.src, d.isPart = room, src, true
	d.seek(bit)
	d.op = WindowSize
	err := d.resume(WindowSize+size, isGzip)
	d.dst, d.src, d.isPart = nil, nil, false
	decoders.Put(d)
	return room[WindowSize : WindowSize+size], err
}

// resume decodes until dst has need bytes.
func (d *decoder) resume(need int, isGzip bool) error {
	for d.op < need {
		final, err := d.block()
		switch {
		case errors.Is(err, errFull) && d.op >= need:
			return nil
		case err != nil:
			return err
		case !final || d.op >= need:
			continue
		case !isGzip:
			return corrupt.Errorf("deflate: the stream ends at offset %d, %d bytes too early", d.aligned(), need-d.op)
		}
		// The next member begins after the trailer.
		at := d.aligned() + gzipTrailer
		if at > len(d.src) {
			return d.truncated()
		}
		if at, err = gzipBody(d.src, skipZeros(d.src, at)); err != nil {
			return err
		}
		d.ip, d.bits, d.n = at, 0, 0
	}
	return nil
}

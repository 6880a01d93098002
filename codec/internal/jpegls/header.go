package jpegls

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// The second bytes of markers. The first is FF.
const (
	markRST   = 0xd0 // RST0 to RST7
	markSOI   = 0xd8
	markEOI   = 0xd9
	markSOS   = 0xda
	markDNL   = 0xdc
	markDRI   = 0xdd
	markAPP   = 0xe0 // APP0 to APP15
	markAPP8  = 0xe8
	markSOF55 = 0xf7
	markLSE   = 0xf8
	markSOF57 = 0xf9
	markCOM   = 0xfe
)

// presetParameters is the first byte of an LSE segment with coding parameters.
const presetParameters = 1

// Interleave modes (ILV): how the components of an image share scans.
const (
	ilvNone        = 0 // each component has a scan
	ilvLine        = 1
	ilvPixel       = 2
	maxInterleaved = 4 // components in one scan
)

// frame holds the image size from the SOF55 segment.
type frame struct{ bits, height, width, components int }

// bytes returns the size of the decoded image.
func (f frame) bytes() uint64 {
	n := uint64(f.width) * uint64(f.height) * uint64(f.components)
	if f.bits > 8 {
		n *= 2
	}
	return n
}

// preset holds the coding parameters from the LSE segment. 0 means the default.
type preset struct {
	maxval, reset int
	t             [3]int
}

// scan holds the parameters from an SOS segment. components is the number of components in the scan.
type scan struct{ near, interleave, components int }

// stream reads the markers and segments of a JPEG-LS stream.
type stream struct {
	src       []byte
	at        int // position of the next byte to read
	frame     frame
	preset    preset
	restart   int  // lines between restarts, or 0
	transform byte // Hewlett-Packard's color transform, or 0
}

// readStart reads the SOI marker.
func (s *stream) readStart() error {
	if len(s.src) < 2 || s.src[0] != 0xff || s.src[1] != markSOI {
		return corrupt.Errorf("jpegls: no SOI marker FF D8 at byte 0")
	}
	s.at = 2
	return nil
}

// readHeader reads segments up to and including the next SOS.
func (s *stream) readHeader() (scan, error) {
	for {
		mark, err := s.readMarker()
		if err != nil {
			return scan{}, err
		}
		if mark == markEOI {
			return scan{}, corrupt.Errorf("jpegls: byte %d: the image ends (EOI) before its last scan", s.at-2)
		}
		if err := checkMarker(mark, s.at-1); err != nil {
			return scan{}, err
		}
		body, err := s.readSegment()
		if err != nil {
			return scan{}, err
		}
		if mark == markSOS {
			return s.readScan(body)
		}
		if err := s.readTable(mark, body); err != nil {
			return scan{}, err
		}
	}
}

// readMarker reads a marker and returns its second byte.
func (s *stream) readMarker() (byte, error) {
	if s.at >= len(s.src) || s.src[s.at] != 0xff {
		return 0, corrupt.Errorf("jpegls: no marker at byte %d", s.at)
	}
	for ; s.at < len(s.src); s.at++ { // any number of fill bytes FF may precede a marker
		if mark := s.src[s.at]; mark != 0xff {
			s.at++
			return mark, nil
		}
	}
	return 0, corrupt.Errorf("jpegls: truncated at byte %d, in a marker", s.at)
}

// checkMarker returns an error unless the marker may precede a scan and is supported.
func checkMarker(mark byte, at int) error {
	switch {
	case mark == markSOF55 || mark == markLSE || mark == markSOS || mark == markDRI || mark == markCOM:
		return nil
	case mark >= markAPP && mark < markAPP+16:
		return nil
	case mark == markDNL:
		return fmt.Errorf("jpegls: byte %d: number of lines after the scan (DNL): %w", at, errors.ErrUnsupported)
	case mark == markSOF57:
		return fmt.Errorf("jpegls: byte %d: extensions of ITU-T T.870 (SOF57): %w", at, errors.ErrUnsupported)
	case mark >= 0xc0 && mark <= 0xcf:
		return fmt.Errorf("jpegls: byte %d: JPEG that is not JPEG-LS (marker FF %02X): %w", at, mark, errors.ErrUnsupported)
	}
	return corrupt.Errorf("jpegls: byte %d: marker FF %02X is not allowed before a scan", at, mark)
}

// readSegment returns the content of a segment, after its length.
func (s *stream) readSegment() ([]byte, error) {
	left := s.src[s.at:]
	if len(left) < 2 {
		return nil, corrupt.Errorf("jpegls: truncated at byte %d, in a segment's length", len(s.src))
	}
	n := int(binary.BigEndian.Uint16(left))
	if n < 2 || n > len(left) {
		return nil, corrupt.Errorf("jpegls: byte %d: segment of %d bytes, must be 2 to %d", s.at, n, len(left))
	}
	s.at += n
	return left[2:n], nil
}

// readTable reads a segment other than SOS.
func (s *stream) readTable(mark byte, body []byte) error {
	switch mark {
	case markSOF55:
		return s.readFrame(body)
	case markLSE:
		return s.readPreset(body)
	case markDRI:
		return s.readRestart(body)
	case markAPP8:
		// Hewlett-Packard's color transform, an extension that T.87 does not specify.
		if len(body) == 5 && bytes.HasPrefix(body, []byte("mrfx")) {
			s.transform = body[4]
		}
	}
	return nil
}

// readFrame reads the content of an SOF55 segment.
func (s *stream) readFrame(body []byte) error {
	at := s.at - len(body)
	if s.frame.components != 0 {
		return corrupt.Errorf("jpegls: byte %d: a second frame (SOF55), only one is allowed", at)
	}
	if len(body) < 6 || len(body) != 6+3*int(body[5]) {
		return corrupt.Errorf("jpegls: byte %d: frame header of %d bytes, must be 6 plus 3 per component", at, len(body))
	}
	f := frame{
		bits:       int(body[0]),
		height:     int(binary.BigEndian.Uint16(body[1:])),
		width:      int(binary.BigEndian.Uint16(body[3:])),
		components: int(body[5]),
	}
	if f.bits < 2 || f.bits > 16 {
		return corrupt.Errorf("jpegls: byte %d: samples of %d bits, must be 2 to 16", at, f.bits)
	}
	if f.components == 0 {
		return corrupt.Errorf("jpegls: byte %d: the image has no components", at+5)
	}
	if f.width == 0 || f.height == 0 {
		return fmt.Errorf("jpegls: byte %d: image size %d × %d, a size outside the frame header is not supported: %w", at+1, f.height, f.width, errors.ErrUnsupported)
	}
	for c := 6; c < len(body); c += 3 {
		if body[c+1] != 0x11 {
			return fmt.Errorf("jpegls: byte %d: subsampled component (%02X): %w", at+c+1, body[c+1], errors.ErrUnsupported)
		}
	}
	s.frame = f
	return nil
}

// readPreset reads the content of an LSE segment.
func (s *stream) readPreset(body []byte) error {
	at := s.at - len(body)
	if len(body) > 0 && body[0] != presetParameters {
		return fmt.Errorf("jpegls: byte %d: LSE segment of type %d, only 1 (coding parameters) is supported: %w", at, body[0], errors.ErrUnsupported)
	}
	if len(body) != 11 {
		return corrupt.Errorf("jpegls: byte %d: coding parameters of %d bytes, must be 11", at, len(body))
	}
	value := func(i int) int { return int(binary.BigEndian.Uint16(body[1+2*i:])) }
	s.preset = preset{maxval: value(0), t: [3]int{value(1), value(2), value(3)}, reset: value(4)}
	return nil
}

// readRestart reads the content of a DRI segment.
func (s *stream) readRestart(body []byte) error {
	if len(body) < 2 || len(body) > 4 {
		return corrupt.Errorf("jpegls: byte %d: restart interval of %d bytes, must be 2 to 4", s.at-len(body), len(body))
	}
	s.restart = 0
	for _, b := range body {
		s.restart = s.restart<<8 | int(b)
	}
	return nil
}

// readScan reads the content of an SOS segment.
func (s *stream) readScan(body []byte) (scan, error) {
	at := s.at - len(body)
	all := s.frame.components
	if all == 0 {
		return scan{}, corrupt.Errorf("jpegls: byte %d: scan (SOS) before the frame (SOF55)", at)
	}
	if len(body) < 1 || len(body) != 4+2*int(body[0]) {
		return scan{}, corrupt.Errorf("jpegls: byte %d: scan header of %d bytes, must be 4 plus 2 per component", at, len(body))
	}
	n, last := int(body[0]), body[len(body)-3:]
	sc := scan{near: int(last[0]), interleave: int(last[1]), components: n}
	switch {
	case n != 1 && n != all:
		return scan{}, fmt.Errorf("jpegls: byte %d: scan of %d of %d components, only 1 or all are supported: %w", at, n, all, errors.ErrUnsupported)
	case sc.interleave > ilvPixel:
		return scan{}, corrupt.Errorf("jpegls: byte %d: interleave mode %d, must be 0 to 2", s.at-2, last[1])
	case last[2]&15 != 0:
		return scan{}, fmt.Errorf("jpegls: byte %d: point transform by %d bits: %w", s.at-1, last[2]&15, errors.ErrUnsupported)
	}
	for c := 0; c < n; c++ {
		if table := body[2+2*c]; table != 0 {
			return scan{}, fmt.Errorf("jpegls: byte %d: mapping table %d: %w", at+2+2*c, table, errors.ErrUnsupported)
		}
	}
	if sc.interleave == ilvNone {
		sc.components = 1
		return sc, nil
	}
	return sc, s.checkInterleaved(sc, at)
}

// checkInterleaved returns an error unless a scan of interleaved components is supported. at is the
// offset of the scan header.
func (s *stream) checkInterleaved(sc scan, at int) error {
	if sc.components < 3 || sc.components > maxInterleaved {
		// T.87 allows two, but no encoder is known that writes them.
		return fmt.Errorf("jpegls: byte %d: interleave mode %d of %d components, only 3 or %d are supported: %w",
			at, sc.interleave, sc.components, maxInterleaved, errors.ErrUnsupported)
	}
	if s.transform != 0 {
		return fmt.Errorf("jpegls: Hewlett-Packard's color transform %d: %w", s.transform, errors.ErrUnsupported)
	}
	if r := s.preset.reset; sc.interleave == ilvPixel && r != 0 && r != defaultReset {
		return fmt.Errorf("jpegls: components interleaved by pixel with RESET %d, which CharLS 2.1 encodes incorrectly: %w",
			r, errors.ErrUnsupported)
	}
	return nil
}

// coded returns the coded samples from the current position up to the next marker, and moves to
// that marker.
func (s *stream) coded() ([]byte, error) {
	from := s.at
	for at := from; ; at++ {
		i := bytes.IndexByte(s.src[at:], 0xff)
		if i < 0 || at+i+1 >= len(s.src) {
			return nil, corrupt.Errorf("jpegls: truncated at byte %d: no marker after the scan at byte %d", len(s.src), from)
		}
		if at += i; s.src[at+1] >= 0x80 { // below 80 the FF is data and the byte has a stuffed bit
			s.at = at
			return s.src[from:at], nil
		}
	}
}

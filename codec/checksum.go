package codec

import (
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"

	"varve/codec/internal/corrupt"
)

// checksum is a codec that stores a four-byte, little-endian checksum before or after the
// bytes. Decoding verifies and removes it without a copy.
type checksum struct {
	key     string
	sum     func([]byte) uint32
	isFirst bool
}

// newChecksum reads the position of the checksum from the configuration.
func newChecksum(c *config, key string, sum func([]byte) uint32, absent string) (Codec, error) {
	s := &checksum{key: key, sum: sum, isFirst: absent == "start"}
	// The index of the default among the choices below.
	def := 1
	if s.isFirst {
		def = 0
	}
	s.isFirst = c.choice("location", def, "start", "end") == 0
	return s, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumCRC32C(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// newCRC32C returns Zarr's checksum, which is stored last and has no configuration.
//
// Specification: Zarr v3, codecs/crc32c; RFC 3720, appendix B.4.
//
//	{"name": "crc32c"}
func newCRC32C(*config, Form) (Codec, error) {
	return &checksum{key: "crc32c", sum: sumCRC32C}, nil
}

// newNumcodecsCRC32C returns numcodecs' CRC-32C, stored last by default.
//
//	{"name": "numcodecs.crc32c", "configuration": {"location": "end"}}
func newNumcodecsCRC32C(c *config, _ Form) (Codec, error) {
	return newChecksum(c, "crc32c", sumCRC32C, "end")
}

// newCRC32 returns numcodecs' CRC-32 of IEEE 802.3, stored first by default.
//
//	{"name": "numcodecs.crc32", "configuration": {"location": "start"}}
func newCRC32(c *config, _ Form) (Codec, error) {
	return newChecksum(c, "crc32", crc32.ChecksumIEEE, "start")
}

// newAdler32 returns numcodecs' Adler-32 of RFC 1950, stored first by default.
//
//	{"name": "numcodecs.adler32", "configuration": {"location": "start"}}
func newAdler32(c *config, _ Form) (Codec, error) {
	return newChecksum(c, "adler32", adler32.Checksum, "start")
}

func (s *checksum) DecodeKey() string {
	if s.isFirst {
		return s.key + ":start"
	}
	return s.key + ":end"
}

func (s *checksum) EncodedSize(n int) (int, bool) { return n + 4, true }

func (s *checksum) Encode(dst, src []byte) ([]byte, error) {
	if s.isFirst {
		dst = binary.LittleEndian.AppendUint32(dst, s.sum(src))
		return append(dst, src...), nil
	}
	dst = append(dst, src...)
	return binary.LittleEndian.AppendUint32(dst, s.sum(src)), nil
}

func (s *checksum) trim(src []byte) ([]byte, error) {
	if len(src) < 4 {
		return nil, corrupt.Errorf("chunk of %d bytes is too short for a checksum of 4", len(src))
	}
	sum, body := src[len(src)-4:], src[:len(src)-4]
	if s.isFirst {
		sum, body = src[:4], src[4:]
	}
	if want, got := binary.LittleEndian.Uint32(sum), s.sum(body); got != want {
		return nil, corrupt.Errorf("checksum over %d bytes is %#08x, stored is %#08x", len(body), got, want)
	}
	return body, nil
}

func (s *checksum) surrounds() (before, after int64) {
	if s.isFirst {
		return 4, 0
	}
	return 0, 4
}

func (s *checksum) Decode(dst, src []byte) (int, error) { return decodeTrimmed(s, dst, src) }

// decodeTrimmed copies the bytes that a trimmer returns to dst.
func decodeTrimmed(t trimmer, dst, src []byte) (int, error) {
	body, err := t.trim(src)
	if err != nil {
		return 0, err
	}
	if len(body) > len(dst) {
		return 0, tooLongError(len(body), len(dst))
	}
	return copy(dst, body), nil
}

func tooLongError(n, room int) error {
	return corrupt.Errorf("decodes to %d bytes, want at most %d", n, room)
}

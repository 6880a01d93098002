package codec

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve/codec/internal/corrupt"
)

// fletcher32 is HDF5's checksum filter: a Fletcher sum over the big-endian 16-bit words
// of the bytes, stored after them in little-endian order.
//
// Specification: H5_checksum_fletcher32 of HDF5; numcodecs.fletcher32. An odd last byte
// is the high half of a word. On little-endian machines HDF5 before 1.6.3 swapped the
// bytes of each half of the sum. libhdf5 and this codec accept both; numcodecs does not.
//
//	{"name": "numcodecs.fletcher32", "configuration": {}}
type fletcher32 struct{}

func newFletcher32(*config, Form) (Codec, error) { return fletcher32{}, nil }

func (fletcher32) DecodeKey() string { return "fletcher32" }

func (fletcher32) EncodedSize(n int) (int, bool) { return n + 4, true }

func (fletcher32) Encode(dst, src []byte) ([]byte, error) {
	dst = append(dst, src...)
	return binary.LittleEndian.AppendUint32(dst, sumFletcher32(src)), nil
}

func (fletcher32) trim(src []byte) ([]byte, error) {
	if len(src) < 4 {
		return nil, corrupt.Errorf("chunk of %d bytes is too short for a checksum of 4", len(src))
	}
	body := src[:len(src)-4]
	want, got := binary.LittleEndian.Uint32(src[len(body):]), sumFletcher32(body)
	swapped := got>>8&0x00ff00ff | got<<8&0xff00ff00
	if want != got && want != swapped {
		return nil, corrupt.Errorf("checksum over %d bytes is %#08x, stored is %#08x", len(body), got, want)
	}
	return body, nil
}

func (fletcher32) surrounds() (before, after int64) { return 0, 4 }

// checkPortable returns an error for a sum with swapped bytes.
func (f fletcher32) checkPortable(stored []byte) error {
	body, err := f.trim(stored)
	if err != nil || binary.LittleEndian.Uint32(stored[len(body):]) == sumFletcher32(body) {
		return err
	}
	return fmt.Errorf("%w: the fletcher32 checksum has swapped bytes, as written before HDF5 1.6.3; varve and libhdf5 accept it, but other Zarr clients reject it; rewrite the file with h5repack", errors.ErrUnsupported)
}

func (f fletcher32) Decode(dst, src []byte) (int, error) { return decodeTrimmed(f, dst, src) }

// sumFletcher32 returns the checksum. It reduces both sums modulo 65535 before they
// overflow.
func sumFletcher32(b []byte) uint32 {
	// 360 is the largest number of words after which hi, a sum of sums, still fits 32 bits.
	const most = 360
	var lo, hi uint32
	for len(b) >= 2 {
		words := min(most, len(b)/2)
		for range words {
			lo += uint32(b[0])<<8 | uint32(b[1])
			hi += lo
			b = b[2:]
		}
		lo, hi = lo&0xffff+lo>>16, hi&0xffff+hi>>16
	}
	if len(b) == 1 {
		lo += uint32(b[0]) << 8
		hi += lo
		lo, hi = lo&0xffff+lo>>16, hi&0xffff+hi>>16
	}
	lo, hi = lo&0xffff+lo>>16, hi&0xffff+hi>>16
	return hi<<16 | lo
}

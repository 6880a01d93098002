package inflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"testing"

	"varve/codec/internal/corrupt"
)

// addStreams seeds a fuzz target with raw streams, valid and unusual.
func addStreams(f *testing.F) {
	for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, flate.BestSpeed, flate.DefaultCompression} {
		f.Add(deflate(f, small(), level))
		f.Add(deflate(f, large(), level))
	}
	readVectors(f, "codes.txt", func(fields []string) { f.Add(unhex(f, fields[1])) })
}

// FuzzRaw compares Raw with the standard library: both must return the same bytes and the same end, or an error.
func FuzzRaw(f *testing.F) {
	addStreams(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		const limit = 1 << 16
		in := bytes.NewReader(src)
		want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(in), limit+1))
		buf := bytes.Repeat([]byte{0xa5}, limit+16)
		n, consumed, err := blocks(buf[:limit], src, 0)
		switch {
		case !bytes.Equal(buf[limit:], bytes.Repeat([]byte{0xa5}, 16)):
			t.Fatal("wrote past the end of the buffer")
		case err != nil && !errors.Is(err, corrupt.Err):
			t.Fatalf("error %v is not corrupt.Err", err)
		case wantErr != nil || len(want) > limit:
			if err == nil && !isLenient {
				t.Fatalf("got %d bytes, the standard library says %v", n, wantErr)
			}
		case err != nil:
			t.Fatalf("got %v, the standard library %d bytes", err, len(want))
		case !bytes.Equal(buf[:n], want) || consumed != len(src)-in.Len():
			t.Fatalf("got %d bytes of %d, want %d of %d", n, consumed, len(want), len(src)-in.Len())
		}
	})
}

// FuzzWrapped checks all formats for panics, unmarked errors, and writes after the end of the buffer.
func FuzzWrapped(f *testing.F) {
	for _, w := range formats(f, small()) {
		f.Add(w.stream, 700)
		f.Add(w.stream, 1000)
	}
	f.Fuzz(func(t *testing.T, src []byte, size int) {
		size = int(uint(size) % 4096)
		for _, decode := range []func(dst, src []byte) (int, error){Zlib, Gzip} {
			buf := bytes.Repeat([]byte{0xa5}, size+16)
			n, err := decode(buf[:size], src)
			if n > size || !bytes.Equal(buf[size:], bytes.Repeat([]byte{0xa5}, 16)) {
				t.Fatalf("size %d: n is %d, tail %x", size, n, buf[size:])
			}
			if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("error %v is not marked", err)
			}
		}
	})
}

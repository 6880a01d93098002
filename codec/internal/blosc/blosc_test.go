package blosc

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

//go:embed testdata/blosc1.txt
var blosc1Lines string

type vector struct {
	opt     Options
	kind    string
	raw     []byte
	encoded []byte
}

func (v vector) String() string {
	o := v.opt
	return fmt.Sprintf("%s/shuffle=%d/type=%d/level=%d/block=%d/%s-%d", o.Compressor, o.Shuffle, o.TypeSize, o.Level, o.BlockSize, v.kind, len(v.raw))
}

func recorded(t testing.TB) []vector {
	t.Helper()
	var all []vector
	for line := range strings.Lines(blosc1Lines) {
		var v vector
		var n int
		var encoded string
		_, err := fmt.Sscan(line, &v.opt.Compressor, &v.opt.Shuffle, &v.opt.TypeSize, &v.opt.Level, &v.opt.BlockSize, &v.kind, &n, &encoded)
		if err != nil {
			t.Fatal(err)
		}
		if v.encoded, err = hex.DecodeString(encoded); err != nil {
			t.Fatal(err)
		}
		v.raw = vectors.Sample(v.kind, n)
		all = append(all, v)
	}
	return all
}

func TestDecode(t *testing.T) {
	for _, v := range recorded(t) {
		t.Run(v.String(), func(t *testing.T) {
			if n, err := DecodedSize(v.encoded); n != len(v.raw) || err != nil {
				t.Fatalf("DecodedSize %d, err=%v, want %d", n, err, len(v.raw))
			}
			dst := make([]byte, len(v.raw)+5)
			n, err := Decode(dst, v.encoded)
			if err != nil || !bytes.Equal(dst[:n], v.raw) {
				t.Fatalf("n=%d, err=%v", n, err)
			}
			if n, err := Decode(dst[:len(v.raw)-1], v.encoded); !errors.Is(err, corrupt.Err) {
				t.Errorf("into a byte less: n=%d, err=%v", n, err)
			}
			for cut := 0; cut < len(v.encoded); cut += 1 + cut/8 {
				if _, err := Decode(dst, v.encoded[:cut]); !errors.Is(err, corrupt.Err) {
					t.Fatalf("%d of %d bytes: err=%v", cut, len(v.encoded), err)
				}
			}
		})
	}
}

func TestDecodeRange(t *testing.T) {
	const seed = 20
	rng := rand.New(rand.NewPCG(seed, seed))
	for _, v := range recorded(t) {
		t.Run(v.String(), func(t *testing.T) {
			for range 20 {
				off := rng.IntN(len(v.raw) + 1)
				n := rng.IntN(len(v.raw) - off + 1)
				dst := make([]byte, n)
				if err := DecodeRange(dst, v.encoded, off); err != nil || !bytes.Equal(dst, v.raw[off:off+n]) {
					t.Errorf("seed %d: bytes %d to %d: err=%v", seed, off, off+n, err)
				}
			}
			for _, off := range []int{-1, 1, len(v.raw) + 1} {
				if err := DecodeRange(make([]byte, len(v.raw)), v.encoded, off); !errors.Is(err, corrupt.Err) {
					t.Errorf("from byte %d: err=%v", off, err)
				}
			}
		})
	}
}

package inflate

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"varve/codec/internal/corrupt"
)

// readVectors calls do with the fields of every line of a file in testdata.
func readVectors(t testing.TB, name string, do func(fields []string)) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		do(strings.Fields(lines.Text()))
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(s, "-"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestZlibVectors decodes streams that zlib wrote.
func TestZlibVectors(t *testing.T) {
	data := map[string][]byte{}
	readVectors(t, "zlib.txt", func(f []string) {
		if f[0] == "data" {
			data[f[1]] = unhex(t, f[2])
			return
		}
		t.Run(f[0]+"/"+f[1], func(t *testing.T) {
			want, src := data[f[1]], unhex(t, f[2])
			checkZlib(t, src, want)
			checkZlib(t, append(src, "behind"...), want)
			checkTooSmall(t, src, want)
		})
	})
}

// checkZlib decodes into a buffer of the exact size and into larger ones. Bytes after the decoded length must not
// change.
func checkZlib(t *testing.T, src, want []byte) {
	t.Helper()
	for _, room := range []int{0, 1, 100, 1000} {
		buf := bytes.Repeat([]byte{0xa5}, len(want)+room+64)
		n, err := Zlib(buf[:len(want)+room], src)
		if err != nil || !bytes.Equal(buf[:n], want) {
			t.Fatalf("room %d: got %d bytes, %v; want %d bytes", room, n, err, len(want))
		}
		if tail := buf[len(want)+room:]; !bytes.Equal(tail, bytes.Repeat([]byte{0xa5}, 64)) {
			t.Fatalf("room %d: wrote past the end of the buffer: %x", room, tail)
		}
	}
}

// checkTooSmall checks that decoding into a smaller buffer is an error.
func checkTooSmall(t *testing.T, src, want []byte) {
	t.Helper()
	for size := 0; size < len(want); size += 1 + len(want)/150 {
		buf := bytes.Repeat([]byte{0xa5}, len(want)+64)
		n, err := Zlib(buf[:size], src)
		if !errors.Is(err, corrupt.Err) || n > size {
			t.Fatalf("size %d of %d: n %d, error %v", size, len(want), n, err)
		}
		if tail := buf[size:]; !bytes.Equal(tail, bytes.Repeat([]byte{0xa5}, len(tail))) {
			t.Fatalf("size %d: wrote past the end of the buffer", size)
		}
	}
}

// TestCodes checks that unusual streams are accepted and rejected as by zlib.
func TestCodes(t *testing.T) {
	readVectors(t, "codes.txt", func(f []string) {
		t.Run(f[0], func(t *testing.T) {
			dst := make([]byte, 8192)
			n, consumed, err := blocks(dst, unhex(t, f[1]), 0)
			got := "error"
			if err == nil {
				got = fmt.Sprintf("%d:%s", consumed, dash(hex.EncodeToString(dst[:n])))
			} else if !errors.Is(err, corrupt.Err) {
				t.Errorf("error %v is not corrupt.Err", err)
			}
			if got != f[2] && !isLenientResult(got, f[2]) {
				t.Errorf("got %s (%v), zlib says %s", got, err, f[2])
			}
		})
	})
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// isLenientResult reports whether got is allowed although zlib rejects the stream: the C library that replaces
// this package in some builds may accept it.
func isLenientResult(got, want string) bool { return isLenient && want == "error" && got != want }

// TestLevels decodes streams that the standard library wrote at every level, with flushes. The sizes are close to
// those at which one loop continues the work of another.
func TestLevels(t *testing.T) {
	data := samples(rand.New(rand.NewPCG(1, 2)))
	for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
		w, err := flate.NewWriter(nil, level)
		if err != nil {
			t.Fatal(err)
		}
		for name, d := range data {
			t.Run(fmt.Sprintf("%d/%s", level, name), func(t *testing.T) {
				for _, size := range []int{0, 1, 2, 100, fastOut - 1, fastOut, fastOut + 1, 1000, 5000, len(d)} {
					checkRaw(t, deflateWith(t, w, d[:size]), d[:size])
				}
			})
		}
	}
}

func checkRaw(t *testing.T, src, want []byte) {
	t.Helper()
	dst := make([]byte, len(want))
	n, consumed, err := blocks(dst, append(src[:len(src):len(src)], 1, 2, 3), 0)
	if err != nil || consumed != len(src) || !bytes.Equal(dst[:n], want) {
		t.Fatalf("%d bytes: got %d, consumed %d of %d, %v", len(want), n, consumed, len(src), err)
	}
}

func deflate(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	w, err := flate.NewWriter(nil, level)
	if err != nil {
		t.Fatal(err)
	}
	return deflateWith(t, w, data)
}

// deflateWith compresses with two flushes, so that every kind of block occurs.
func deflateWith(t testing.TB, w *flate.Writer, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w.Reset(&out)
	for _, part := range [][]byte{data[:len(data)/3], data[len(data)/3 : len(data)/2], data[len(data)/2:]} {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// samples returns data for the different paths of the code: short and long codes, runs, and distances of every
// size.
func samples(rng *rand.Rand) map[string][]byte {
	const size = 16_000
	noise, runs, words := make([]byte, size), make([]byte, 0, size+300), make([]byte, 0, size+300)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for len(runs) < size {
		period := noise[rng.IntN(1000):][:1+rng.IntN(40)]
		runs = append(runs, bytes.Repeat(period, 1+rng.IntN(300/len(period)))...)
	}
	for len(words) < size {
		at := int(float64(size-40) * rng.Float64() * rng.Float64())
		words = append(words, noise[at:][:1+rng.IntN(20)]...)
	}
	skewed := make([]byte, size)
	for i := range skewed {
		skewed[i] = byte(rng.ExpFloat64() * 12)
	}
	field := shuffledField(rng, size/4)
	return map[string][]byte{
		"zeros": make([]byte, size), "noise": noise, "runs": runs[:size], "words": words[:size],
		"skewed": skewed, "field": field,
	}
}

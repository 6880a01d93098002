package bitstream

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// digits returns the bits of src as text.
func digits(src []byte) (text string) {
	for _, b := range src {
		text += fmt.Sprintf("%08b", b)
	}
	return text
}

// number returns n bits of a text from a bit on, with zeros past the end.
func number(text string, at int, n uint) uint64 {
	text = text[min(at, len(text)):] + strings.Repeat("0", 64)
	v, _ := strconv.ParseUint("0"+text[:n], 2, 64)
	return v
}

// source returns up to 40 bytes, with long runs of zeros.
func source(rng *rand.Rand) []byte {
	src := make([]byte, rng.IntN(41))
	for i := range src {
		if rng.IntN(3) == 0 {
			src[i] = byte(rng.Uint32())
		}
	}
	return src
}

func TestReader(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		src := source(rng)
		text := digits(src)
		r := Reader{Src: src}
		for at := 0; at <= len(text); {
			switch kind := rng.IntN(8); {
			case kind == 0:
				r.Align()
				at = (at + 7) / 8 * 8
			case kind < 4:
				rest := text[at:]
				zeros := strings.IndexByte(rest, '1')
				at += zeros + 1
				if zeros < 0 {
					zeros, at = 0, len(text)+1
				}
				if got := r.Zeros(); got != uint(zeros) {
					t.Fatalf("%x: %d zeros before bit %d, want %d", src, got, at, zeros)
				}
			default:
				n := uint(rng.IntN(33))
				if got, want := r.Take(n), number(text, at, n); got != want {
					t.Fatalf("%x: %d bits from bit %d: %x, want %x", src, n, at, got, want)
				}
				at += int(n)
			}
			if got := r.Overrun(); got != (at > len(text)) {
				t.Fatalf("%x: overrun is %v at bit %d of %d", src, got, at, len(text))
			}
			if at <= len(text) && (r.Bit() != at || r.Offset() != at/8) {
				t.Fatalf("%x: bit %d in byte %d, want bit %d", src, r.Bit(), r.Offset(), at)
			}
		}
	}
}

func TestField(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		src := source(rng)
		text := digits(src)
		for bit := range len(text) + 20 {
			n := uint(rng.IntN(65))
			if got, want := Field(src, bit, n), number(text, bit, n); got != want {
				t.Fatalf("%x: %d bits from bit %d: %x, want %x", src, n, bit, got, want)
			}
			if got, want := At(src, bit)>>(64-WindowBits), number(text, bit, WindowBits); got != want {
				t.Fatalf("%x: bits from bit %d: %x, want %x", src, bit, got, want)
			}
		}
	}
}

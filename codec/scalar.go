package codec

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// parseScalar parses one element in the spelling of a fill value in zarr.json: a number,
// "NaN", "Infinity", "-Infinity" or the hexadecimal bits of a float. Like zarr-python it
// also accepts a number in quotes, and an integer with a fraction of 0.
func parseScalar(raw []byte, n number) ([]byte, error) {
	text := string(raw)
	if raw[0] == '"' {
		if err := unmarshal(raw, &text); err != nil {
			return nil, err
		}
	} else if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return nil, errors.New("it is not a number")
	}
	out := make([]byte, 8)
	if !n.isFloat() {
		v, err := parseInteger(text, n)
		binary.LittleEndian.PutUint64(out, v)
		return out[:n.size()], err
	}
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		return parseBits(digits, n)
	}
	v, err := parseFloat(text)
	if err != nil {
		return nil, err
	}
	if floatOutside([]float64{v}, n) >= 0 {
		return nil, fmt.Errorf("out of the range of %v", n)
	}
	storeFloats(out, []float64{v}, n)
	return out[:n.size()], nil
}

func parseInteger(text string, n number) (uint64, error) {
	v, ok := new(big.Int).SetString(text, 10)
	if !ok {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) || f != math.Trunc(f) {
			return 0, errors.New("it is not an integer")
		}
		v, _ = big.NewFloat(f).Int(nil)
	}
	lo, hi := n.integerRange()
	if v.Cmp(big.NewInt(lo)) < 0 || v.Cmp(new(big.Int).SetUint64(hi)) > 0 {
		return 0, fmt.Errorf("%v holds integers from %v to %v", n, lo, hi)
	}
	return lowWord(v), nil
}

func parseFloat(text string) (float64, error) {
	switch text {
	case "NaN":
		return math.NaN(), nil
	case "Infinity", "+Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v-v != 0 || strings.ContainsAny(text, "xX_pP") {
		return 0, errors.New("it is neither a number nor \"NaN\", \"Infinity\", \"-Infinity\" or 0x and hexadecimal digits")
	}
	return v, nil
}

// parseBits parses the big-endian bits of a float.
func parseBits(digits string, n number) ([]byte, error) {
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != n.size() {
		return nil, fmt.Errorf("%v has %d hexadecimal digits", n, 2*n.size())
	}
	reverseWords(b, len(b))
	return b, nil
}

// scalar reads one element of type n, in memory form.
func (c *config) scalar(field string, n number, absent string) []byte {
	raw := c.take(field)
	if raw == nil {
		raw = []byte(absent)
	}
	return c.scalarOf(field, raw, n)
}

// scalarOf parses one value of a field.
func (c *config) scalarOf(field string, raw []byte, n number) []byte {
	b, err := parseScalar(raw, n)
	if err != nil {
		c.fail(field, "%s is not a value of %v: %v", abbreviate(raw), n, err)
	}
	return b
}

// floatValue returns a float from its memory form.
func floatValue(b []byte, n number) float64 {
	var v [1]float64
	load(v[:], b, n)
	return v[0]
}

// wordOf returns an integer from its memory form.
func wordOf(b []byte, n number) uint64 {
	var v [1]uint64
	load(v[:], b, n)
	return v[0]
}

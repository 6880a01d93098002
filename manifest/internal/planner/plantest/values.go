package plantest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest"
)

// FormatValues formats values as ParseValues reads them.
func FormatValues(t codec.Type, v *manifest.Values) string {
	switch {
	case v.Summary != nil:
		return "summary " + v.Summary.String() + " of " + v.ID
	case v.Summed:
		return "digest " + v.ID
	case t.Varies():
		var list []string
		for _, text := range v.Texts {
			list = append(list, strconv.Quote(string(text)))
		}
		return joined(repeats(list))
	}
	return formatElements(t, v.Data)
}

// ParseValues parses values of a type.
func ParseValues(t codec.Type, text string) (*manifest.Values, error) {
	words := fields(text)
	v := &manifest.Values{}
	switch {
	case len(words) == 2 && words[0] == "digest":
		return &manifest.Values{ID: words[1], Summed: true}, nil
	case len(words) > 3 && words[0] == "summary":
		v.Summed, v.ID = true, words[len(words)-1]
		if v.Summary = manifest.ParseSummary(strings.Join(words[1:len(words)-2], " ")); v.Summary == nil {
			return nil, fmt.Errorf("%q is no summary", text)
		}
		return v, nil
	case t.Varies():
		for _, word := range words {
			word, n, err := cutCount(word)
			if err != nil {
				return nil, err
			}
			if word == "none" {
				continue
			}
			element, err := strconv.Unquote(word)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", word, err)
			}
			for range n {
				v.Texts = append(v.Texts, []byte(element))
			}
		}
	default:
		data, err := parseElements(t, words)
		if err != nil {
			return nil, err
		}
		v.Data = data
	}
	v.SetID()
	return v, nil
}

// mostElements limits the number of elements that one word can stand for.
const mostElements = 1 << 24

// cutCount splits WORD*N. It returns 1 without a count.
func cutCount(word string) (string, int, error) {
	i := strings.LastIndexByte(word, '*')
	if i <= 0 || strings.HasSuffix(word, `"`) {
		return word, 1, nil
	}
	n, err := strconv.Atoi(word[i+1:])
	if err == nil && (n < 0 || n > mostElements) {
		err = fmt.Errorf("%s: the count is not in 0 to %d", word, mostElements)
	}
	return word[:i], n, err
}

func joined(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}

// repeats replaces four or more equal words in a row by one with their count.
func repeats(words []string) (out []string) {
	for i := 0; i < len(words); {
		k := i + 1
		for k < len(words) && words[k] == words[i] {
			k++
		}
		if k-i < 4 {
			out = append(out, words[i])
			i++
			continue
		}
		out, i = append(out, fmt.Sprint(words[i], "*", k-i)), k
	}
	return out
}

// formatElements formats elements, with runs where these have the same bytes.
func formatElements(t codec.Type, data []byte) string {
	if t.Size == 0 || len(data)%t.Size != 0 {
		return "0x" + hex.EncodeToString(data)
	}
	if t.Kind == codec.FixedBytes && t.Size == 1 && len(data) > 1 {
		return "chars " + strings.Join(charWords(data), " ")
	}
	x := numbersOf(t, data)
	var words []string
	for i := 0; i < len(data)/t.Size; {
		text, n := run(t, data[i*t.Size:], x[min(i, len(x)):])
		if n == 0 {
			text, n = formatElement(t, data[i*t.Size:(i+1)*t.Size]), 1
		}
		words, i = append(words, text), i+n
	}
	return joined(repeats(words))
}

// charWords quotes bytes, with a count for each long run of the same byte.
func charWords(data []byte) (words []string) {
	const long = 8
	from := 0
	for i := 0; i < len(data); {
		k := i + 1
		for k < len(data) && data[k] == data[i] {
			k++
		}
		if k-i >= long {
			if from < i {
				words = append(words, strconv.Quote(string(data[from:i])))
			}
			words, from = append(words, fmt.Sprintf("%q*%d", data[i:i+1], k-i)), k
		}
		i = k
	}
	if from < len(data) {
		words = append(words, strconv.Quote(string(data[from:])))
	}
	return words
}

// run returns a word for a run of numbers at equal distances at the start of elements, and their number: 0 if there is
// no run. NaN ends a run, because it compares to nothing.
func run(t codec.Type, data []byte, x []float64) (string, int) {
	if len(x) < 3 || x[1] == x[0] {
		return "", 0
	}
	step := x[1] - x[0]
	n := 2
	for n < len(x) && math.Abs(x[n]-x[n-1]-step) <= 1e-3*math.Abs(step) {
		n++
	}
	if n < 3 || n < 6 && step != 1 {
		return "", 0 // a few numbers are easier to read
	}
	first, last := formatElement(t, data[:t.Size]), formatElement(t, data[(n-1)*t.Size:n*t.Size])
	candidates := []string{fmt.Sprintf("%s..%s/%d", first, last, n), fmt.Sprintf("%s..%s:%s", first, last, formatFloat(t, step))}
	if step == 1 {
		candidates = append([]string{first + ".." + last}, candidates...)
	}
	for _, text := range candidates {
		if again, err := parseElements(t, []string{text}); err == nil && bytes.Equal(again, data[:n*t.Size]) {
			return text, n
		}
	}
	return "", 0
}

// formatFloat formats a number with the digits that its type has.
func formatFloat(t codec.Type, x float64) string {
	if t.Kind == codec.Float && t.Size == 4 {
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	return strconv.FormatFloat(x, 'g', 12, 64)
}

// numbersOf returns the numbers of elements, or nil for other elements.
func numbersOf(t codec.Type, data []byte) (list []float64) {
	if !isNumber(t) {
		return nil
	}
	for ; len(data) >= t.Size; data = data[t.Size:] {
		switch element := data[:t.Size]; {
		case t.Kind == codec.Int:
			list = append(list, float64(signed(element)))
		case t.Kind == codec.Uint:
			list = append(list, float64(unsigned(element)))
		case t.Size == 4:
			list = append(list, float64(math.Float32frombits(binary.LittleEndian.Uint32(element))))
		default:
			list = append(list, math.Float64frombits(binary.LittleEndian.Uint64(element)))
		}
	}
	return list
}

func isNumber(t codec.Type) bool {
	return t.Kind == codec.Int || t.Kind == codec.Uint || t.Kind == codec.Float && t.Size > 2
}

// formatElement formats one element. It uses hexadecimal bytes if no other text means these bytes.
func formatElement(t codec.Type, data []byte) string {
	var text string
	switch {
	case t.Kind == codec.FixedBytes:
		text = strconv.Quote(strings.TrimRight(string(data), "\x00"))
	case t.Kind == codec.FixedUTF32:
		var b strings.Builder
		for i := 0; i+4 <= len(data); i += 4 {
			b.WriteRune(rune(binary.LittleEndian.Uint32(data[i:])))
		}
		text = strconv.Quote(strings.TrimRight(b.String(), "\x00"))
	case t.Kind == codec.Float && t.Size == 4:
		text = strconv.FormatFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(data))), 'g', -1, 32)
	case t.Kind == codec.Float && t.Size == 8:
		text = strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(data)), 'g', -1, 64)
	case t.Kind == codec.Int || t.Kind == codec.DateTime || t.Kind == codec.TimeDelta:
		text = strconv.FormatInt(signed(data), 10)
	case t.Kind == codec.Uint || t.Kind == codec.Bool:
		text = strconv.FormatUint(unsigned(data), 10)
	}
	if again, err := parseElement(t, text); text == "" || err != nil || !bytes.Equal(again, data) {
		return "0x" + hex.EncodeToString(data)
	}
	return text
}

func unsigned(data []byte) (x uint64) {
	for i, b := range data {
		x |= uint64(b) << (8 * i)
	}
	return x
}

func signed(data []byte) int64 {
	shift := 64 - 8*len(data)
	return int64(unsigned(data)<<shift) >> shift
}

// parseElements parses words, each an element or a run.
func parseElements(t codec.Type, words []string) ([]byte, error) {
	data := []byte{}
	isChars := len(words) > 0 && words[0] == "chars" && t.Kind == codec.FixedBytes && t.Size == 1
	if isChars {
		words = words[1:]
	}
	for _, word := range words {
		if word == "none" {
			continue
		}
		word, n, err := cutCount(word)
		if err != nil {
			return nil, err
		}
		var elements []byte
		first, rest, isRun := strings.Cut(word, "..")
		switch {
		case isChars:
			var text string
			text, err = strconv.Unquote(word)
			elements = []byte(text)
		case isRun && isNumber(t):
			elements, err = parseRun(t, first, rest)
		default:
			elements, err = parseElement(t, word)
		}
		if err == nil && len(data)+n*len(elements) > mostElements*8 {
			err = errors.New("too many elements")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		data = append(data, bytes.Repeat(elements, n)...)
	}
	return data, nil
}

// parseRun returns the elements of a run: LAST, LAST/COUNT or LAST:STEP after the first number.
func parseRun(t codec.Type, from, rest string) (data []byte, err error) {
	text, count, hasCount := strings.Cut(rest, "/")
	text, step, hasStep := strings.Cut(text, ":")
	first, err := strconv.ParseFloat(from, 64)
	last, wrong := strconv.ParseFloat(text, 64)
	err = errors.Join(err, wrong)
	by, n := 1.0, 0.0
	switch {
	case hasCount:
		n, wrong = strconv.ParseFloat(count, 64)
		by = (last - first) / (n - 1)
	case hasStep:
		by, wrong = strconv.ParseFloat(step, 64)
		fallthrough
	default:
		n = math.Round((last-first)/by) + 1
	}
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	if !(n >= 2 && n <= mostElements) {
		return nil, fmt.Errorf("a run of %v numbers is not in 2 to %d", n, mostElements)
	}
	for i := range int(n) {
		x := first + float64(i)*by
		if hasCount && i == int(n)-1 {
			x = last
		}
		data = append(data, ElementOf(t, x)...)
	}
	return data, nil
}

// ElementOf returns the element of a number.
func ElementOf(t codec.Type, x float64) []byte {
	switch {
	case t.Kind == codec.Float && t.Size == 4:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	case t.Kind == codec.Float && t.Size == 8:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
	case t.Kind == codec.Uint:
		return binary.LittleEndian.AppendUint64(nil, uint64(x))[:t.Size]
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(int64(x)))[:t.Size]
}

func parseElement(t codec.Type, word string) ([]byte, error) {
	if digits, ok := strings.CutPrefix(word, "0x"); ok {
		data, err := hex.DecodeString(digits)
		if err == nil && len(data) != t.Size {
			err = fmt.Errorf("%d bytes for a type of %d", len(data), t.Size)
		}
		return data, err
	}
	switch t.Kind {
	case codec.FixedBytes, codec.FixedUTF32:
		text, err := strconv.Unquote(word)
		if err != nil {
			return nil, err
		}
		data := []byte(text)
		if t.Kind == codec.FixedUTF32 {
			data = nil
			for _, r := range text {
				data = binary.LittleEndian.AppendUint32(data, uint32(r))
			}
		}
		if len(data) > t.Size {
			return nil, fmt.Errorf("%d bytes for a type of %d", len(data), t.Size)
		}
		return append(data, make([]byte, t.Size-len(data))...), nil
	case codec.Bool, codec.Uint:
		if x, err := strconv.ParseUint(word, 10, 8*t.Size); err == nil {
			return binary.LittleEndian.AppendUint64(nil, x)[:t.Size], nil
		}
	case codec.Int, codec.DateTime, codec.TimeDelta:
		if x, err := strconv.ParseInt(word, 10, 8*t.Size); err == nil {
			return binary.LittleEndian.AppendUint64(nil, uint64(x))[:t.Size], nil
		}
	case codec.Float:
		if t.Size == 4 || t.Size == 8 {
			x, err := strconv.ParseFloat(word, 8*t.Size)
			return ElementOf(t, x), err
		}
	}
	return nil, fmt.Errorf("no value of type %s", t)
}

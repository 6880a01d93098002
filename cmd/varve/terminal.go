package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"varve/manifest/report"
	"varve/manifest/report/text"
)

// All text for people leaves through a shownWriter. Names, attributes and messages come from files and servers, so
// they may contain characters that a terminal obeys: colours, the title of the window, the direction of text. A
// shownWriter writes these as \x1b or \u202e. It cannot know whether a line break is part of a name, so code that
// writes a name within a line calls printable, and errors are indented (indented). Colours are added afterwards.

// shownWriter quotes control characters, and passes everything else on. Any number of goroutines may use it.
type shownWriter struct {
	to        io.Writer
	hasColour bool // whether the first word of an error and of a finding is coloured
	mu        sync.Mutex
	held      []byte // the beginning of a character, until its end is written
	isInLine  bool   // whether the next character continues a line
}

func (w *shownWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.held) > 0 {
		text = append(w.held, p...)
		w.held = nil
	}
	if end := wholeRunes(text); end < len(text) {
		w.held = append([]byte(nil), text[end:]...)
		text = text[:end]
	}
	if len(text) > 0 {
		if _, err := w.to.Write(w.coloured(quoteControls(text))); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// wordColours has the first words of lines that are coloured, and the parameters of their colours.
var wordColours = []struct{ word, colour string }{
	{errorPrefix + " ", "1;31"},
	{string(report.Refused) + "  ", "1;31"},
	{string(report.Dropped) + "  ", "33"},
	{string(report.Filled) + "  ", "33"},
	{string(report.Reencoded) + "  ", "33"},
}

// coloured adds colours to text for a terminal. Only varve's own words begin a line: names from files are printable or
// indented.
func (w *shownWriter) coloured(text []byte) []byte {
	if !w.hasColour {
		return text
	}
	var out []byte
	for line := range bytes.Lines(text) {
		if !w.isInLine {
			for _, c := range wordColours {
				if rest, ok := bytes.CutPrefix(line, []byte(c.word)); ok {
					word := strings.TrimRight(c.word, " ")
					out = fmt.Appendf(out, "\x1b[%sm%s\x1b[0m%s", c.colour, word, c.word[len(word):])
					line = rest
					break
				}
			}
		}
		out = append(out, line...)
		w.isInLine = !bytes.HasSuffix(line, []byte("\n"))
	}
	return out
}

// obeysColour reports whether a writer is a terminal that shows colours, and the user has not switched them off.
func obeysColour(out io.Writer) bool {
	if _, ok := terminalOf(out); !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	return runtime.GOOS != "windows" || os.Getenv("WT_SESSION") != "" // older consoles of Windows print the codes
}

// finish writes the first bytes of a character whose last bytes never came.
func (w *shownWriter) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 {
		return nil
	}
	_, err := w.to.Write(quoteControls(w.held))
	w.held = nil
	return err
}

// wholeRunes returns the length of text without an incomplete character at its end.
func wholeRunes(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return len(text) - n
			}
			break
		}
	}
	return len(text)
}

// quoteControls returns b with each control character quoted, except line breaks and tabs. It returns b itself if
// there are none.
func quoteControls(b []byte) []byte {
	var out []byte // nil until the first character to quote
	for at := 0; at < len(b); {
		r, n := utf8.DecodeRune(b[at:])
		isBad := r == utf8.RuneError && n == 1
		switch {
		case !isBad && (r == '\n' || r == '\t' || !text.IsControl(r)):
			if out != nil {
				out = append(out, b[at:at+n]...)
			}
			at += n
			continue
		case out == nil:
			out = append(make([]byte, 0, len(b)+16), b[:at]...)
		}
		if isBad || r < 0x7f {
			out = fmt.Appendf(out, `\x%02x`, b[at])
		} else {
			out = fmt.Appendf(out, `\u%04x`, r) // in JSON, it is the same character
		}
		at += n
	}
	if out == nil {
		return b
	}
	return out
}

// printable quotes all characters of a name that do not print, also line breaks: each byte as \x and two digits.
func printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if unicode.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(s[:n])
		} else {
			for _, c := range []byte(s[:n]) {
				fmt.Fprintf(&b, "\\x%02x", c)
			}
		}
		s = s[n:]
	}
	return b.String()
}

// indented indents all lines of an error but the first. So a line break in a name cannot look like a line of varve or
// of another program.
func indented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines[1:] {
		if !strings.HasPrefix(line, "  ") {
			lines[i+1] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// terminalOf returns the terminal to which a writer writes, if it is one.
func terminalOf(out io.Writer) (*os.File, bool) {
	file, ok := baseOf(out).(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// baseOf returns what a writer of this program writes to.
func baseOf(out io.Writer) io.Writer {
	for {
		switch w := out.(type) {
		case *shownWriter:
			out = w.to
		case *results:
			out = w.to
		default:
			return out
		}
	}
}

// dataWriter returns a writer for text that another program reads, such as CSV. Only on a terminal control
// characters in them are quoted.
func dataWriter(out io.Writer) io.Writer {
	shown, ok := out.(*shownWriter)
	if _, isTerminal := terminalOf(out); !ok || isTerminal {
		return out
	}
	return shown.to
}

package fits

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"varve/readers"
	"varve/readers/source"
)

// Limits of a file. They are far above real files, and bound the memory that a hostile file can
// use.
const (
	maxCards = 1 << 18 // of all headers
	maxHDUs  = 1 << 16
	maxAxes  = 999 // sections 4.4.1 and 7.3.1
	readSize = 16 * blockSize
)

// header holds the cards of one header, with continued strings joined.
type header struct {
	cards []card
	index map[string]int // index of the first card of each keyword with a value
	start int64
	end   int64 // offset of the data
}

// scanner reads headers one after another.
type scanner struct {
	ctx   context.Context
	src   *source.Source
	cards int // cards that may still be read
}

// header reads the header at an offset.
func (s *scanner) header(at int64) (*header, error) {
	h := &header{index: map[string]int{}, start: at}
	for ended := false; !ended; {
		left := s.src.Size() - at
		if left < blockSize {
			return nil, readers.Corruptf("the header at offset %d has no END before the end of the file at %d", h.start, s.src.Size())
		}
		view, err := s.src.View(s.ctx, at, int(min(readSize, left/blockSize*blockSize)))
		if err != nil {
			return nil, err
		}
		var blocks int
		if blocks, ended, err = s.blocks(h, view); err != nil {
			return nil, err
		}
		at += int64(blocks) * blockSize
	}
	h.end = at
	return h, s.ctx.Err()
}

// blocks reads cards up to END, and returns the number of blocks read.
func (s *scanner) blocks(h *header, view []byte) (blocks int, ended bool, err error) {
	for i := 0; i < len(view); i += cardSize {
		raw := view[i : i+cardSize]
		if s.cards--; s.cards < 0 {
			return 0, false, unsupported("more than %d header cards", maxCards)
		}
		// Comments of real files may contain other bytes, so only the first card is checked.
		if i == 0 && len(h.cards) == 0 && !isPrintable(raw) {
			if line := bytes.IndexAny(raw, "\r\n"); line > 0 && isPrintable(raw[:line]) {
				return 0, false, readers.Corruptf("the header has line breaks: the file was saved as text; use the original file")
			}
			return 0, false, readers.Corruptf("a header should start here, but the bytes are %q", bytes.TrimRight(raw, " "))
		}
		c := parseCard(raw)
		if c.keyword == "END" && c.kind == noValue {
			return i/blockSize + 1, true, nil
		}
		h.add(c, raw)
	}
	return len(view) / blockSize, false, nil
}

func isPrintable(raw []byte) bool {
	for _, c := range raw {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// add appends a card, or joins it to the string that it continues.
func (h *header) add(c card, raw []byte) {
	if n := len(h.cards); c.keyword == "CONTINUE" && n > 0 {
		last := &h.cards[n-1]
		// Only a string that ends with & is continued; other CONTINUE cards are commentary.
		more, _, closed := quoted(strings.TrimLeft(string(raw[8:]), " "))
		if start, joined := strings.CutSuffix(last.text, "&"); last.kind == text && joined && closed {
			last.text = start + more
			return
		}
	}
	if _, known := h.index[c.keyword]; c.kind != noValue && !known {
		h.index[c.keyword] = len(h.cards)
	}
	// Blank cards only fill the header.
	if c.kind != noValue || c.text != "" {
		h.cards = append(h.cards, c)
	}
}

// lookup returns the card of a keyword, or nil.
func (h *header) lookup(keyword string) *card {
	if i, ok := h.index[keyword]; ok {
		return &h.cards[i]
	}
	return nil
}

// int returns the value of an integer keyword. A missing keyword is an error if it is needed, and 0
// otherwise.
func (h *header) int(keyword string, needed bool, least, most uint64) (uint64, error) {
	c := h.lookup(keyword)
	if c == nil && needed {
		return 0, readers.Corruptf("keyword %s is missing", keyword)
	}
	if c == nil {
		return 0, nil
	}
	return c.int(least, most)
}

// string returns the value of a string keyword, or "".
func (h *header) string(keyword string) string {
	if c := h.lookup(keyword); c != nil && c.kind == text {
		return strings.TrimSpace(c.text)
	}
	return ""
}

// isTrue reports whether a logical keyword is present and true.
func (h *header) isTrue(keyword string) bool {
	c := h.lookup(keyword)
	return c != nil && c.kind == logical && c.truth
}

// column returns the keyword of a column, such as TFORM3.
func column(keyword string, n int) string { return fmt.Sprint(keyword, n) }

package dap

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"varve/codec"
)

// Answer is an answer with values, which Write reads while it writes.
type Answer struct {
	// Size is the number of bytes, or -1 if it is not known before. Values is that of the values alone.
	Size, Values int64
	write        func(ctx context.Context, w io.Writer) error
}

// Write writes the answer. After an error the answer is incomplete.
func (a *Answer) Write(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if err := a.write(ctx, out); err != nil {
		return err
	}
	return out.Flush()
}

// SizeError is returned for an answer that would be larger than the limit.
type SizeError struct{ Size, Limit int64 }

// Error says what to request instead.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the answer would have %d bytes or more, and the limit is %d; request fewer variables, or a part of them by index, such as name[0:1:9][3]", e.Size, e.Limit)
}

// checkValues returns the number of bytes of the values of arrays, by a function for each array, or a *SizeError. It
// refuses numbers that the protocol would change.
func checkValues(leaves []leaf, limit int64, size func(l leaf) (int64, error)) (total int64, err error) {
	for _, l := range leaves {
		// The first test also keeps the numbers of bytes far from an overflow.
		n := elements(l.slabs)
		if n > limit {
			return 0, &SizeError{n, limit}
		}
		if n, err = size(l); err != nil {
			return 0, err
		}
		if total += n; total > limit {
			return 0, &SizeError{total, limit}
		}
	}
	return total, nil
}

// textSize returns the sum of a size of each text in an array, or a *SizeError if it exceeds a limit. Sizes of texts are
// known only when they are read.
func textSize(ctx context.Context, l leaf, limit int64, size func(text []byte) int64) (total int64, err error) {
	err = l.each(ctx, l.slabs, func(e codec.Elems) error {
		for _, text := range e.Var {
			if total += size(text); total > limit {
				return &SizeError{total, limit}
			}
		}
		return nil
	})
	return total, err
}

// padded returns the length of bytes in XDR, where they fill words of 4 bytes.
func padded(n int64) int64 { return (n + 3) &^ 3 }

// size2 returns the number of bytes of an array in XDR.
func (l leaf) size2(ctx context.Context, limit int64) (int64, error) {
	switch {
	case l.type2 == typeString:
		n, err := textSize(ctx, l, limit, func(text []byte) int64 { return 4 + padded(int64(len(text))) })
		if len(l.slabs) > 0 {
			n += 4
		}
		return n, err
	case len(l.slabs) == 0:
		return max(l.type2.size(), 4), nil
	}
	return 8 + padded(elements(l.slabs)*l.type2.size()), nil
}

// open2 parses a constraint expression and checks that its answer has at most limit bytes.
func (d *Dataset) open2(ctx context.Context, query string, limit int64) (choices []*choice, leaves []leaf, size int64, err error) {
	if err = d.decide(ctx); err != nil {
		return nil, nil, 0, err
	}
	if choices, err = d.parse2(query); err != nil {
		return nil, nil, 0, err
	}
	for _, c := range choices {
		leaves = append(leaves, c.leaves()...)
	}
	size, err = checkValues(leaves, limit, func(l leaf) (int64, error) { return l.size2(ctx, limit) })
	if err != nil {
		return nil, nil, 0, err
	}
	for _, l := range leaves {
		if err := l.checkExact(ctx, l.slabs); err != nil {
			return nil, nil, 0, err
		}
	}
	return choices, leaves, size, nil
}

// DODS returns the answer in DAP2's binary form. An answer of more than limit bytes is a *SizeError.
func (d *Dataset) DODS(ctx context.Context, query string, limit int64) (*Answer, error) {
	choices, leaves, size, err := d.open2(ctx, query, limit)
	if err != nil {
		return nil, err
	}
	head := d.dds(choices) + "\nData:\n"
	return &Answer{Size: int64(len(head)) + size, Values: size, write: func(ctx context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, head); err != nil {
			return err
		}
		for _, l := range leaves {
			if err := l.writeXDR(ctx, w); err != nil {
				return fmt.Errorf("%s: %w", l.path, err)
			}
		}
		return nil
	}}, nil
}

// writeXDR writes an array: its length, twice if its elements are numbers, and its elements.
func (l leaf) writeXDR(ctx context.Context, w io.Writer) error {
	isArray, n := len(l.slabs) > 0, elements(l.slabs)
	var buffer []byte
	if isArray {
		buffer = binary.BigEndian.AppendUint32(buffer, uint32(n))
		if l.type2 != typeString {
			buffer = binary.BigEndian.AppendUint32(buffer, uint32(n))
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
	}
	err := l.each(ctx, l.slabs, func(e codec.Elems) error {
		for _, text := range e.Var {
			buffer = binary.BigEndian.AppendUint32(buffer[:0], uint32(len(text)))
			buffer = append(buffer, text...)
			if _, err := w.Write(append(buffer, make([]byte, padded(int64(len(text)))-int64(len(text)))...)); err != nil {
				return err
			}
		}
		return l.inPieces(e.Fixed, func(piece []byte) error {
			buffer = l.appendXDR(buffer[:0], piece)
			if !isArray && len(buffer) == 1 { // a Byte alone fills a word, whose last byte it is
				buffer = []byte{0, 0, 0, buffer[0]}
			}
			_, err := w.Write(buffer)
			return err
		})
	})
	if err == nil && isArray && l.type2 == typeByte {
		_, err = w.Write(make([]byte, padded(n)-n))
	}
	return err
}

// inPieces passes packed elements to write in small pieces, which are converted in the caches of the processor.
func (v *variable) inPieces(elems []byte, write func(piece []byte) error) error {
	size := max(v.array.Schema().DataType.Type().Size, 1)
	for most := max(16<<10/size, 1) * size; len(elems) > 0; {
		n := min(most, len(elems))
		if err := write(elems[:n]); err != nil {
			return err
		}
		elems = elems[n:]
	}
	return nil
}

// textFactor is about how many bytes of text a byte of binary values becomes.
const textFactor = 3

// ASCII returns the answer of DAP2 as text. An answer of about more than limit bytes is a *SizeError.
func (d *Dataset) ASCII(ctx context.Context, query string, limit int64) (*Answer, error) {
	choices, leaves, size, err := d.open2(ctx, query, limit/textFactor)
	if err != nil {
		return nil, err
	}
	return &Answer{Size: -1, Values: size * textFactor, write: func(ctx context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, d.dds(choices)+"---------------------------------------------\n"); err != nil {
			return err
		}
		for _, l := range leaves {
			if err := l.writeASCII(ctx, w); err != nil {
				return fmt.Errorf("%s: %w", l.path, err)
			}
		}
		return nil
	}}, nil
}

// writeASCII writes the name and shape of an array, and a line for each row, which begins with the row's indices.
func (l leaf) writeASCII(ctx context.Context, w io.Writer) error {
	var line []byte
	if l.of != nil {
		line = append(append(line, escape2(l.of.name2)...), '.')
	}
	line = append(line, escape2(l.name2)...)
	for _, s := range l.slabs {
		line = fmt.Appendf(line, "[%d]", s.length())
	}
	rank := len(l.slabs)
	if rank > 0 {
		line = append(line, '\n')
	} else {
		line = append(line, ", "...)
	}
	at := make([]int64, rank)
	put := func(text []byte) error {
		switch {
		case rank > 0 && at[rank-1] > 0:
			line = append(line, ", "...)
		case rank > 1:
			for _, i := range at[:rank-1] {
				line = fmt.Appendf(line, "[%d]", i)
			}
			line = append(line, ", "...)
		}
		line = append(line, text...)
		for axis := rank - 1; axis >= 0; axis-- {
			if at[axis]++; at[axis] < l.slabs[axis].length() {
				break
			}
			at[axis] = 0
		}
		if rank == 0 || at[rank-1] == 0 {
			line = append(line, '\n')
		}
		if len(line) < 32<<10 {
			return nil
		}
		_, err := w.Write(line)
		line = line[:0]
		return err
	}
	t := l.elements
	if t.Kind == codec.DateTime || t.Kind == codec.TimeDelta {
		t = codec.Type{Kind: codec.Int, Size: t.Size}
	}
	err := l.each(ctx, l.slabs, func(e codec.Elems) error {
		for _, text := range e.Var {
			if err := put([]byte(`"` + quotes2.Replace(string(text)) + `"`)); err != nil {
				return err
			}
		}
		for at := 0; at < len(e.Fixed); at += t.Size {
			if err := put([]byte(plainNumber(t, e.Fixed[at:at+t.Size]))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// plainNumber returns an element as text, a boolean as 0 or 1.
func plainNumber(t codec.Type, e []byte) string {
	if t.Kind == codec.Bool {
		return strconv.Itoa(int(e[0]))
	}
	return numberText(t, e)
}

// Error2 returns an error in DAP2's form.
func Error2(status int, err error) []byte {
	return []byte(fmt.Sprintf("Error {\n    code = %d;\n    message = \"%s\";\n};\n", status, quotes2.Replace(strings.ReplaceAll(err.Error(), "\n", " "))))
}

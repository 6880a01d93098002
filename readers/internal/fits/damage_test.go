package fits

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/readertest"
)

// extensions returns the offsets of a file's extensions.
func extensions(data []byte) (list []int) {
	for at := blockSize; at < len(data); at += blockSize {
		if bytes.HasPrefix(data[at:], []byte("XTENSION")) {
			list = append(list, at)
		}
	}
	return list
}

func TestConformance(t *testing.T) {
	samples := []readertest.Sample{{Name: "keywords", Data: fixture(t, "keywords")}}
	for _, name := range []string{"scaling", "table", "ascii"} {
		data := fixture(t, name)
		samples = append(samples, readertest.Sample{Name: name, Data: data, Whole: extensions(data)})
	}
	data := fixture(t, "compressed")
	begin := append(extensions(data), len(data))
	for i, name := range places["compressed"][1:] {
		switch name {
		case "RICE8", "GZIP2", "ZEROS":
			one := slices.Concat(data[:begin[0]], data[begin[i]:begin[i+1]])
			samples = append(samples, readertest.Sample{Name: name, Data: one, Whole: begin[:1]})
		}
	}
	readertest.Run(t, Info(), samples...)
}

// TestBoundaries cuts a file at the end of every structure, and one byte before and after it.
func TestBoundaries(t *testing.T) {
	data := fixture(t, "table")
	const tableHeader, tableData, tableEnd = 2880, 8640, 8640 + 3*104
	for _, c := range []struct {
		size      int
		problem   string // keyword or number in the error
		variables int
	}{
		{tableHeader, "", 0},
		{tableHeader + 1, "1", 0},
		{tableHeader + blockSize, "END", 0},
		{tableData - 1, "END", 0},
		{tableData, "8952", 17},
		{tableEnd - 1, "8952", 17},
		{tableEnd, "312", 17},
		{len(data) - 1, "2879", 17},
		{len(data), "", 17},
	} {
		d := open(t, data[:c.size])
		n := 0
		for _, g := range d.Root.Groups {
			n += len(g.Variables)
		}
		said := ""
		if len(d.Problems) > 0 {
			said = d.Problems[0].Err.Error()
		}
		if n != c.variables || (said == "") != (c.problem == "") || !strings.Contains(said, c.problem) {
			t.Errorf("%d bytes: %d variables, want %d; problem %q, want %q", c.size, n, c.variables, said, c.problem)
		}
	}
}

// cards returns a header.
func cards(list ...string) []byte {
	var b strings.Builder
	for _, c := range append(list, "END") {
		fmt.Fprintf(&b, "%-80s", c)
	}
	for b.Len()%blockSize != 0 {
		b.WriteByte(' ')
	}
	return []byte(b.String())
}

func TestDamage(t *testing.T) {
	const simple = "SIMPLE  =                    T"
	primary := cards(simple, "BITPIX  = 8", "NAXIS   = 0")
	tableOf := func(more ...string) []byte {
		list := append([]string{"XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 8", "NAXIS2  = 1", "PCOUNT  = 0", "GCOUNT  = 1"}, more...)
		return append(append(bytes.Clone(primary), cards(list...)...), make([]byte, blockSize)...)
	}
	for _, c := range []struct {
		name, names string // names: keyword or value in the error
		data        []byte
	}{
		{"BITPIX 7", "BITPIX", cards(simple, "BITPIX  = 7", "NAXIS   = 0")},
		{"BITPIX absent", "BITPIX", cards(simple, "NAXIS   = 0")},
		{"NAXIS absent", "NAXIS", cards(simple, "BITPIX  = 8")},
		{"NAXIS negative", "NAXIS", cards(simple, "BITPIX  = 8", "NAXIS   = -1")},
		{"NAXIS 1000", "999", cards(simple, "BITPIX  = 8", "NAXIS   = 1000")},
		{"NAXIS2 absent", "NAXIS2", cards(simple, "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 3")},
		{"axes overflow", "2^62", cards(simple, "BITPIX  = 64", "NAXIS   = 2", "NAXIS1  = 4294967296", "NAXIS2  = 4294967296")},
		{"groups overflow", "2^62", cards(simple, "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 1", "PCOUNT  = 9223372036854775807")},
		{"no END", "END", bytes.Repeat([]byte(fmt.Sprintf("%-80s", simple)), 36)},
		{"data missing", "1002880", cards(simple, "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 1000000")},
		{"records after the data", "XTENSION", append(bytes.Clone(primary), cards("FOREIGN = 1")...)},
		{"bytes after the data", `\xff`, append(bytes.Clone(primary), bytes.Repeat([]byte{0xff}, blockSize)...)},
		{"a card with a control character", `/ a st\x1bndard"`, cards(simple+" / a st\x1bndard", "BITPIX  = 8", "NAXIS   = 0")},
		{"lines", "", append([]byte(simple+" / a standard\nBITPIX  = 8\nNAXIS   = 0\nEND\n"), bytes.Repeat([]byte(" "), blockSize)...)},
		{"TFIELDS absent", "TFIELDS", tableOf()},
		{"TFORM empty", `"12"`, tableOf("TFIELDS = 1", "TFORM1  = '12'")},
		{"TFORM of type Z", `"Z"`, tableOf("TFIELDS = 1", "TFORM1  = 'Z'")},
		{"TFORM too long", "TFORM2", tableOf("TFIELDS = 2", "TFORM1  = 'J'", "TFORM2  = 'D'")},
		{"TFORM out of range", "99999999999999999999J", tableOf("TFIELDS = 1", "TFORM1  = '99999999999999999999J'")},
	} {
		d, err := Format{}.Open(context.Background(), memory(c.data))
		if err == nil && len(d.Problems) > 0 {
			err = d.Problems[0].Err
		}
		if err == nil || !strings.Contains(err.Error(), c.names) || !errors.Is(err, readers.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt that names %q", c.name, err, c.names)
		}
	}
}

// TestOddKeyword: a keyword with a value that is not FITS, as in old plates, becomes an attribute
// with an error, and affects nothing else.
func TestOddKeyword(t *testing.T) {
	d := open(t, append(cards("SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 2880", "SKEW    = -1.386E+00, -1.691E+00"), make([]byte, blockSize)...))
	list := slices.Concat(d.Root.Attributes, d.Root.Variables[0].Attributes)
	i := slices.IndexFunc(list, func(a readers.Attribute) bool { return a.Name == "SKEW" })
	if i < 0 || !errors.Is(list[i].Err, errors.ErrUnsupported) || !strings.Contains(list[i].Err.Error(), "-1.386E+00, -1.691E+00") {
		t.Errorf("attributes are %+v", list)
	}
}

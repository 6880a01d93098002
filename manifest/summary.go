package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// Summary describes a coordinate that is too large to store: its count, its first, last, least and greatest
// values, its order, and hashes of its values.
//
//	times 3000 1 60 1577836800:0 1578016740:0 1577836800:0 1578016740:0 6c1b… 92f0…
//	  │    │   │  │   First        Last         Least        Greatest     │     └ Bag
//	  │    │   │  └ Step                                                  └ Meant
//	  │    │   └ Run
//	  │    └ Count
//	  └ Nature
type Summary struct {
	Nature string // whole, numbers or times: the form of the positions
	Count  int64
	Run    int8    // 1 increasing, -1 decreasing, 2 neither, 0 if there are fewer than two values
	Step   float64 // the largest difference of neighbours; seconds for times
	// Positions: an integer; the bits of a float64, mapped so that they sort as it does; or seconds
	// since 1970 and nanoseconds.
	First, Last, Least, Greatest [2]int64
	Meant                        string // hash of the meaning of the values, in order
	Bag                          uint64 // sum of the hashes of single values, which does not depend on their order
}

// String returns the stored form of the summary, which ParseSummary reads.
func (o *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %d %s", o.Nature, o.Count, o.Run, strconv.FormatFloat(o.Step, 'g', -1, 64))
	for _, p := range [][2]int64{o.First, o.Last, o.Least, o.Greatest} {
		fmt.Fprintf(&b, " %d:%d", p[0], p[1])
	}
	fmt.Fprintf(&b, " %s %016x", o.Meant, o.Bag)
	return b.String()
}

// ParseSummary parses the result of String. It returns nil for any other text, so that the caller computes
// the summary again.
func ParseSummary(text string) *Summary {
	words := strings.Fields(text)
	if len(words) != 10 {
		return nil
	}
	o := &Summary{Nature: words[0], Meant: words[8]}
	var failed error
	o.Count, failed = strconv.ParseInt(words[1], 10, 64)
	ok := failed == nil
	run, failed := strconv.ParseInt(words[2], 10, 8)
	ok = ok && failed == nil
	o.Run = int8(run)
	o.Step, failed = strconv.ParseFloat(words[3], 64)
	ok = ok && failed == nil
	for i, p := range []*[2]int64{&o.First, &o.Last, &o.Least, &o.Greatest} {
		hi, lo, _ := strings.Cut(words[4+i], ":")
		for k, part := range []string{hi, lo} {
			p[k], failed = strconv.ParseInt(part, 10, 64)
			ok = ok && failed == nil
		}
	}
	o.Bag, failed = strconv.ParseUint(words[9], 16, 64)
	if !ok || failed != nil {
		return nil
	}
	return o
}

// ValueHasher computes the ID of values from their elements, which can be written in parts.
type ValueHasher struct{ hash hash.Hash }

// NewValueHasher returns a ValueHasher for values of a fixed element size, with this number of bytes in total.
func NewValueHasher(bytes int64) *ValueHasher {
	s := &ValueHasher{sha256.New()}
	s.hash.Write(binary.AppendUvarint(nil, uint64(bytes)))
	return s
}

// Write adds elements. It never fails.
func (s *ValueHasher) Write(elements []byte) (int, error) { return s.hash.Write(elements) }

// ID returns the ID that Values.SetID would set. Call it once, after all elements.
func (s *ValueHasher) ID() string {
	s.hash.Write(appendList(nil, nil, appendBytes))
	return idOf(s.hash.Sum(nil))
}

package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// Summary is what is kept of numbers or times that are too many to be kept: how they run, and
// sums of what they mean.
//
//	times 3000 1 60 1577836800:0 1578016740:0 1577836800:0 1578016740:0 6c1b… 92f0…
//	  │    │   │  │   First        Last         Least        Greatest     │     └ Bag
//	  │    │   │  └ Step                                                  └ Meant
//	  │    │   └ Run
//	  │    └ Count
//	  └ Nature
type Summary struct {
	Nature string // whole, numbers or times: what the places are told in
	Count  int64
	Run    int8    // 1 rising, -1 falling, 0 for fewer than two, 2 neither
	Step   float64 // the largest between neighbours, in seconds if they are times
	// Places: a whole number; the bits of a float64, so that they sort as it does; seconds
	// since 1970 and nanoseconds.
	First, Last, Least, Greatest [2]int64
	Meant                        string // hash of what the elements mean, in their order
	Bag                          uint64 // sum of hashes of that, in whatever order
}

// String writes the summary as a manifest keeps it; ParseSummary reads it.
func (o *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %d %s", o.Nature, o.Count, o.Run, strconv.FormatFloat(o.Step, 'g', -1, 64))
	for _, p := range [][2]int64{o.First, o.Last, o.Least, o.Greatest} {
		fmt.Fprintf(&b, " %d:%d", p[0], p[1])
	}
	fmt.Fprintf(&b, " %s %016x", o.Meant, o.Bag)
	return b.String()
}

// ParseSummary reads what String returned; nil if it is something else, which is to be found out
// again.
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

// Summing finds the ID of values whose elements come some at a time.
type Summing struct{ hash hash.Hash }

// NewSumming begins with values of a fixed size that take so many bytes.
func NewSumming(bytes int64) *Summing {
	s := &Summing{sha256.New()}
	s.hash.Write(binary.AppendUvarint(nil, uint64(bytes)))
	return s
}

// Write takes more elements. There is no error.
func (s *Summing) Write(elements []byte) (int, error) { return s.hash.Write(elements) }

// ID is the one that SetID sets.
func (s *Summing) ID() string {
	s.hash.Write(appendList(nil, nil, appendBytes))
	return idOf(s.hash.Sum(nil))
}

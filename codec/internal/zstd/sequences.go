package zstd

import (
	"varve/codec/internal/corrupt"
)

// A sequencer executes the sequences of a block. The loops in fast*.go execute usual sequences; step executes any
// sequence. Assembly accesses its fields.
type sequencer struct {
	tables   [kinds]*fseTable
	states   [kinds]uint
	recent   [3]int // the last three offsets, the most recent first
	dst      []byte // the output, up to the maximum end of the block
	literals []byte // the literals, and literalRoom more bytes
	src      []byte // the stream of sequences

	op, lp int // index of the next byte of dst, of literals
	start  int // start of the frame in dst
	left   int // bits of src that are not yet read
	count  int // sequences that are not yet executed
	most   int // number of literals
}

// sequences decodes a sequences section and executes it, which completes the block.
func (d *decoder) sequences(src []byte) error {
	count, used, err := sequenceCount(src)
	if err != nil {
		return err
	}
	src = src[used:]
	limit := min(len(d.dst), d.op+d.blockMax)
	if count == 0 {
		if len(src) > 0 {
			return corrupt.Errorf("%d bytes follow a block without sequences, must be 0", len(src))
		}
		return d.rest(d.literals, limit)
	}
	if used, err = d.readTables(src); err != nil {
		return err
	}
	s := &d.sequence
	*s = sequencer{tables: d.current, recent: d.recent, dst: d.dst[:limit], literals: d.literals[:len(d.literals)+literalRoom],
		op: d.op, start: d.start, count: count, most: len(d.literals)}
	if err := s.run(src[used:]); err != nil {
		return err
	}
	d.op, d.recent = s.op, s.recent
	return d.rest(d.literals[s.lp:], limit)
}

// rest appends the literals after the last sequence.
func (d *decoder) rest(literals []byte, limit int) error {
	if len(literals) > limit-d.op {
		return tooLong(limit)
	}
	d.op += copy(d.dst[d.op:], literals)
	return nil
}

// tooLong returns the error for a block that would write past limit.
func tooLong(limit int) error {
	return corrupt.Errorf("the block extends the output past %d bytes, its limit", limit)
}

// sequenceCount reads the number of sequences. It also returns the number of bytes read.
func sequenceCount(src []byte) (count, used int, err error) {
	switch {
	case len(src) == 0:
		return 0, 0, corrupt.Errorf("the sequences section is missing")
	case src[0] < 128:
		return int(src[0]), 1, nil
	case src[0] < 255 && len(src) > 1:
		return int(src[0]-128)<<8 + int(src[1]), 2, nil
	case src[0] == 255 && len(src) > 2:
		return int(src[1]) + int(src[2])<<8 + 0x7f00, 3, nil
	}
	return 0, 0, corrupt.Errorf("truncated in the number of its sequences")
}

// Modes of a table in a sequences section.
const (
	modePredefined = iota
	modeRLE        // one symbol
	modeFSE        // a table follows
	modeRepeat     // the table of the previous block
)

// readTables sets d.current and returns the number of bytes read.
func (d *decoder) readTables(src []byte) (used int, err error) {
	if len(src) == 0 {
		return 0, corrupt.Errorf("truncated in the modes of its sequences")
	}
	modes := src[0]
	if modes&3 != 0 {
		return 0, corrupt.Errorf("modes %02x of the sequences, the two reserved bits must be 0", modes)
	}
	used = 1
	for k := range sequenceKinds {
		n, err := d.readTable(k, modes>>(6-2*k)&3, src[used:])
		if err != nil {
			return 0, corrupt.Errorf("%s: %w", sequenceKinds[k].name, err)
		}
		used += n
	}
	return used, nil
}

// readTable sets d.current[k] and returns the number of bytes read.
func (d *decoder) readTable(k int, mode byte, src []byte) (used int, err error) {
	kind, own := &sequenceKinds[k], &d.own[k]
	switch mode {
	case modePredefined:
		d.current[k] = kind.table
		return 0, nil
	case modeRLE:
		if len(src) == 0 {
			return 0, corrupt.Errorf("truncated before its symbol")
		}
		if int(src[0]) >= len(kind.symbols) {
			return 0, corrupt.Errorf("symbol %d, must be below %d", src[0], len(kind.symbols))
		}
		own.single(kind.symbols[src[0]])
		d.current[k] = own
		return 1, nil
	case modeRepeat:
		if d.current[k] == nil {
			return 0, corrupt.Errorf("repeats the table of the previous block, but it has none")
		}
		return 0, nil
	}
	counts := d.counts[:len(kind.symbols)]
	log, n, used, err := readCounts(counts, src, kind.maxLog)
	if err == nil {
		err = own.build(counts[:n], log, kind.symbols)
	}
	if err != nil {
		d.current[k] = nil // own may be half built
		return 0, err
	}
	d.current[k] = own
	return used, nil
}

// run executes all sequences of a stream.
func (s *sequencer) run(src []byte) error {
	r := backward{}
	if err := r.begin(src); err != nil {
		return err
	}
	s.src = src
	for k := range s.states {
		s.states[k] = uint(r.take(s.tables[k].log))
	}
	if s.left = r.left; s.left < 0 {
		return corrupt.Errorf("truncated in the first states of its sequences")
	}
	for {
		s.fast()
		if err := s.step(); err != nil {
			return err
		}
		if s.count == 0 {
			break
		}
	}
	if s.left != 0 {
		return corrupt.Errorf("%d bits follow the last sequence, must be 0", s.left)
	}
	return nil
}

// step executes one sequence.
func (s *sequencer) step() error {
	r := backward{s.src, s.left}
	l := s.tables[lengths].entries[s.states[lengths]]
	m := s.tables[matches].entries[s.states[matches]]
	o := s.tables[offsets].entries[s.states[offsets]]
	offset := int(uint64(o.value()) + r.take(o.extra()))
	length := int(uint64(m.value()) + r.take(m.extra()))
	literals := int(uint64(l.value()) + r.take(l.extra()))
	if s.count--; s.count > 0 {
		s.states[lengths] = l.next() + uint(r.take(l.width()))
		s.states[matches] = m.next() + uint(r.take(m.width()))
		s.states[offsets] = o.next() + uint(r.take(o.width()))
	}
	if s.left = r.left; s.left < 0 {
		return corrupt.Errorf("truncated in its sequences, %d are missing", s.count+1)
	}
	if offset = s.distance(offset, literals); offset == 0 {
		return corrupt.Errorf("match with offset 0, must be positive")
	}
	return s.execute(literals, offset, length)
}

// distance returns the distance of a match for an offset value, and updates s.recent. Values up to 3 refer to recent
// offsets (RFC 8878, section 3.1.1.5).
func (s *sequencer) distance(value, literals int) int {
	if value > 3 {
		s.recent = [3]int{value - 3, s.recent[0], s.recent[1]}
		return value - 3
	}
	if literals == 0 {
		value++
	}
	r := &s.recent
	switch value {
	case 2:
		r[0], r[1] = r[1], r[0]
	case 3:
		r[0], r[1], r[2] = r[2], r[0], r[1]
	case 4:
		r[0], r[1], r[2] = r[0]-1, r[0], r[1]
	}
	return r[0]
}

// execute copies literals and a match.
func (s *sequencer) execute(literals, offset, length int) error {
	if literals > s.most-s.lp {
		return corrupt.Errorf("a sequence copies %d literals, only %d are left", literals, s.most-s.lp)
	}
	if literals+length > len(s.dst)-s.op {
		return tooLong(len(s.dst))
	}
	s.op += copy(s.dst[s.op:], s.literals[s.lp:s.lp+literals])
	s.lp += literals
	if offset > s.op-s.start {
		return corrupt.Errorf("match begins %d bytes back, only %d are decoded", offset, s.op-s.start)
	}
	from := s.op - offset
	for end := s.op + length; s.op < end; { // each copy doubles the available source
		s.op += copy(s.dst[s.op:end], s.dst[from:s.op])
	}
	return nil
}

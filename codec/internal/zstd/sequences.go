package zstd

import (
	"varve/codec/internal/corrupt"
)

// A sequencer executes the sequences of a block. The loops in fast*.go do so as long as
// nothing is unusual; step does one sequence whatever it is.
type sequencer struct {
	tables   [kinds]*fseTable
	states   [kinds]uint
	recent   [3]int // offsets, the last one first
	dst      []byte // up to where the block may write
	literals []byte // with literalRoom bytes behind them
	src      []byte // the stream

	op, lp int // next byte of dst, of literals
	start  int // of the frame in dst
	left   int // bits of src
	count  int // sequences to come
	most   int // literals
}

// sequences decodes a sequences section, and makes the block of it and the literals.
func (d *decoder) sequences(src []byte) error {
	count, used, err := sequenceCount(src)
	if err != nil {
		return err
	}
	src = src[used:]
	limit := min(len(d.dst), d.op+d.blockMax)
	if count == 0 {
		if len(src) > 0 {
			return corrupt.Errorf("%d bytes behind a block without sequences", len(src))
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

// rest appends the literals behind the last sequence.
func (d *decoder) rest(literals []byte, limit int) error {
	if len(literals) > limit-d.op {
		return tooLong(limit)
	}
	d.op += copy(d.dst[d.op:], literals)
	return nil
}

func tooLong(limit int) error {
	return corrupt.Errorf("decodes to more than the %d bytes there may be so far", limit)
}

// sequenceCount reads how many sequences there are.
func sequenceCount(src []byte) (count, used int, err error) {
	switch {
	case len(src) == 0:
		return 0, 0, corrupt.Errorf("no sequences section")
	case src[0] < 128:
		return int(src[0]), 1, nil
	case src[0] < 255 && len(src) > 1:
		return int(src[0]-128)<<8 + int(src[1]), 2, nil
	case src[0] == 255 && len(src) > 2:
		return int(src[1]) + int(src[2])<<8 + 0x7f00, 3, nil
	}
	return 0, 0, corrupt.Errorf("ends within the number of its sequences")
}

// The modes of a table.
const (
	predefined = iota
	single
	described
	repeated
)

// readTables sets d.current, and returns how many bytes the tables took.
func (d *decoder) readTables(src []byte) (used int, err error) {
	if len(src) == 0 {
		return 0, corrupt.Errorf("ends within the modes of its sequences")
	}
	modes := src[0]
	if modes&3 != 0 {
		return 0, corrupt.Errorf("reserved bits of the sequences' modes %02x are set", modes)
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

func (d *decoder) readTable(k int, mode byte, src []byte) (used int, err error) {
	kind, own := &sequenceKinds[k], &d.own[k]
	switch mode {
	case predefined:
		d.current[k] = kind.table
		return 0, nil
	case single:
		if len(src) == 0 {
			return 0, corrupt.Errorf("no symbol")
		}
		if int(src[0]) >= len(kind.symbols) {
			return 0, corrupt.Errorf("symbol %d, there are %d", src[0], len(kind.symbols))
		}
		own.single(kind.symbols[src[0]])
		d.current[k] = own
		return 1, nil
	case repeated:
		if d.current[k] == nil {
			return 0, corrupt.Errorf("the table of the block before, there is none")
		}
		return 0, nil
	}
	counts := d.counts[:len(kind.symbols)]
	log, n, used, err := readCounts(counts, src, kind.maxLog)
	if err == nil {
		err = own.build(counts[:n], log, kind.symbols)
	}
	if err != nil {
		d.current[k] = nil
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
		return corrupt.Errorf("ends within the first states of its sequences")
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
		return corrupt.Errorf("%d bits behind the last sequence", s.left)
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
		return corrupt.Errorf("its sequences end %d too early", s.count+1)
	}
	if offset = s.distance(offset, literals); offset == 0 {
		return corrupt.Errorf("offset 0 of a match")
	}
	return s.execute(literals, offset, length)
}

// distance is how far back an offset leads: values up to 3 are those used last (section
// 3.1.1.5).
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
		return corrupt.Errorf("%d literals are copied, %d are left", literals, s.most-s.lp)
	}
	if literals+length > len(s.dst)-s.op {
		return tooLong(len(s.dst))
	}
	s.op += copy(s.dst[s.op:], s.literals[s.lp:s.lp+literals])
	s.lp += literals
	if offset > s.op-s.start {
		return corrupt.Errorf("match reaches back %d bytes, there are %d", offset, s.op-s.start)
	}
	from := s.op - offset
	for end := s.op + length; s.op < end; { // twice as much each time
		s.op += copy(s.dst[s.op:end], s.dst[from:s.op])
	}
	return nil
}

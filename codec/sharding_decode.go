package codec

// Decode implements ArrayToBytes.
func (s *sharding) Decode(dst Elems, src []byte, _ Form) error {
	a := getArena()
	defer a.release()
	index, err := s.findIndex(a, src)
	if err != nil {
		return err
	}
	// Fill the whole shard once instead of each missing inner chunk.
	if index.hasEmpty() {
		dst.SetFill(s.form)
	}
	d := shardDecode{s: s, out: window{dst, s.box, s.form.Type.unit()}, scratch: scratch{a: a}}
	at := s.innerChunks.Get().(*innerChunk)
	defer s.innerChunks.Put(at)
	left := s.innerBudget(int64(len(src)))
	for i := range s.innerGrid.Chunks() {
		stored, ok, err := index.entry(i, int64(len(src)))
		if ok {
			err = left.spend(stored)
		}
		if ok && err == nil {
			at.moveTo(s, i)
			err = d.inner(at, src[stored.Offset:stored.Offset+stored.Length])
		}
		if err != nil {
			return s.innerError(i, err)
		}
	}
	return nil
}

// shardDecode is the state of decoding a whole shard.
type shardDecode struct {
	s       *sharding
	out     window
	scratch scratch
}

// inner decodes one inner chunk, directly to the shard's elements if its own are
// contiguous there.
func (d *shardDecode) inner(at *innerChunk, stored []byte) error {
	p, err := d.s.checkedPipeline(at.region.Shape, int64(len(stored)))
	if err != nil {
		return err
	}
	if into, ok := d.out.slice(at.region); ok {
		return p.Decode(into, stored)
	}
	into := d.scratch.elems(p.Form())
	if err := p.Decode(into, stored); err != nil {
		return err
	}
	return d.out.copyFrom(window{into, at.region, d.out.unit}, at.region)
}

// scratch is a buffer for the elements of one inner chunk at a time.
type scratch struct {
	a    *arena
	room Elems
}

func (s *scratch) elems(f Form) Elems {
	n := f.Count()
	if f.Type.Varies() {
		if cap(s.room.Var) < n {
			s.room.Var = make([][]byte, n)
		}
		return Elems{Var: s.room.Var[:n]}
	}
	// The first inner chunk is the largest in most shards, so the buffer rarely grows.
	if n = f.Bytes(); cap(s.room.Fixed) < n {
		s.room.Fixed = s.a.bytes(n)
	}
	return Elems{Fixed: s.room.Fixed[:n]}
}

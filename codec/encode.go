package codec

// Encode appends the stored form of a chunk's elements to dst.
func (p *Pipeline) Encode(dst []byte, src Elems) ([]byte, error) {
	if err := p.CanEncode(); err != nil {
		return dst, err
	}
	if err := src.checkSize(p.Form()); err != nil {
		return dst, err
	}
	a := getArena()
	defer a.release()
	for i, c := range p.arrayCodecs {
		out := a.newElems(p.forms[i+1])
		if err := c.Encode(out, src, p.forms[i]); err != nil {
			return dst, p.stageError(i, err)
		}
		src = out
	}
	if len(p.bytesCodecs) == 0 {
		out, err := p.toBytes.Encode(dst, src, p.innermost())
		return out, p.stageError(len(p.arrayCodecs), err)
	}
	cur, err := p.toBytes.Encode(a.bytes(max(0, p.sizes[0]))[:0], src, p.innermost())
	if err != nil {
		return dst, p.stageError(len(p.arrayCodecs), err)
	}
	return p.encodeBytes(a, dst, cur)
}

func (p *Pipeline) encodeBytes(a *arena, dst, cur []byte) ([]byte, error) {
	for i, c := range p.bytesCodecs {
		last := i == len(p.bytesCodecs)-1
		into := dst
		if !last {
			// Compressors enlarge incompressible data a little; a larger buffer avoids
			// reallocation.
			into = a.bytes(len(cur) + len(cur)/8 + 64)[:0]
		}
		out, err := c.Encode(into, cur)
		if err != nil {
			return dst, p.stageError(len(p.arrayCodecs)+1+i, err)
		}
		cur = out
	}
	return cur, nil
}

package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync"

	"varve/codec"
)

// Things are known by a hash of their keys. A key is every field but the ID in the order of
// the declaration: numbers as varints, texts and lists behind their length, nil like empty.
// Equal keys are equal things; what a hash is made of is part of the stored form.

// hashedAtOnce is about how much of a key is in memory.
const hashedAtOnce = 16 << 10

var keys = sync.Pool{New: func() any { return new([]byte) }}

// SetID sets the ID of a header from all else. Its key, which may be long, is not kept.
func (h *Header) SetID() {
	sum, buf := sha256.New(), keys.Get().(*[]byte)
	key := h.appendDimensions((*buf)[:0])
	for i := range h.Variables {
		if key = h.Variables[i].appendKey(key); len(key) >= hashedAtOnce {
			sum.Write(key)
			key = key[:0]
		}
	}
	sum.Write(key)
	h.ID = idOf(sum.Sum(key[:0]))
	*buf = key
	keys.Put(buf)
}

// SetID sets the ID of the attributes from all else.
func (g *GroupAttributes) SetID() {
	sum := sha256.Sum256(g.AppendKey(nil))
	g.ID = idOf(sum[:])
}

// SetID sets the ID of values from all else. The elements, which may be many, are not copied.
func (v *Values) SetID() {
	sum := sha256.New()
	sum.Write(binary.AppendUvarint(nil, uint64(len(v.Data))))
	sum.Write(v.Data)
	sum.Write(appendList(nil, v.Texts, appendBytes))
	v.ID = idOf(sum.Sum(nil))
}

// print is a hash of what tells a source from others, and from other versions of itself.
func (s Source) print() string {
	key := appendInt(appendText(nil, s.URL), s.Size)
	if key = appendFlags(key, s.Modified.IsZero()); !s.Modified.IsZero() {
		key = appendInt(appendInt(key, s.Modified.Unix()), int64(s.Modified.Nanosecond()))
	}
	sum := sha256.Sum256(appendText(key, s.ETag))
	return idOf(sum[:])
}

// idOf is the first half of a SHA-256, in hex.
func idOf(sum []byte) string { return hex.EncodeToString(sum[:sha256.Size/2]) }

// AppendKey appends all that the ID depends on.
func (g *GroupAttributes) AppendKey(dst []byte) []byte {
	return appendList(dst, g.Groups, func(dst []byte, x Group) []byte {
		return appendList(appendText(dst, x.Path), x.Attributes, appendAttribute)
	})
}

// AppendKey appends all that the ID depends on.
func (h *Header) AppendKey(dst []byte) []byte {
	dst = h.appendDimensions(dst)
	for i := range h.Variables {
		dst = h.Variables[i].appendKey(dst)
	}
	return dst
}

// appendDimensions appends what comes before the variables.
func (h *Header) appendDimensions(dst []byte) []byte {
	dst = appendList(dst, h.Dimensions, func(dst []byte, d Dimension) []byte {
		dst = appendFlags(appendInt(appendText(dst, d.Path), d.Length), d.Unlimited, d.Anonymous, len(d.Like) > 0)
		if len(d.Like) > 0 {
			dst = appendList(dst, d.Like, appendText)
		}
		return dst
	})
	return appendInt(dst, int64(len(h.Variables)))
}

func (v *Variable) appendKey(dst []byte) []byte {
	dst = v.appendElements(appendText(dst, v.Path))
	return v.appendStored(appendList(dst, v.Attributes, appendAttribute))
}

func (v *Variable) appendElements(dst []byte) []byte {
	dst = appendList(appendList(dst, v.Dims, appendText), v.Shape, appendInt)
	return appendFlags(appendBytes(appendType(dst, v.Type), v.Fill.Value), v.Fill.User, v.Fill.Value != nil)
}

func (v *Variable) appendStored(dst []byte) []byte {
	dst = appendList(v.Storage.appendKey(dst), v.Enum, func(dst []byte, c Choice) []byte {
		return appendInt(appendText(dst, c.Name), c.Value)
	})
	why := v.Unreadable
	if v.Elsewhere != "" {
		why += "\x00" + v.Elsewhere
	}
	if v.Damaged {
		why += "\x00\x00"
	}
	return appendText(dst, why)
}

// AppendDecoding appends all that elements depend on but the stored bytes.
func (v *Variable) AppendDecoding(dst []byte) []byte {
	return v.Storage.appendKey(v.appendElements(dst))
}

func (s *Storage) appendKey(dst []byte) []byte {
	dst = appendList(appendText(dst, string(s.Layout)), s.Chunks, appendInt)
	dst = appendList(dst, s.Edges, func(dst []byte, runs [][2]int64) []byte {
		return appendList(dst, runs, func(dst []byte, r [2]int64) []byte {
			return appendInt(appendInt(dst, r[0]), r[1])
		})
	})
	dst = appendList(dst, s.Codecs, func(dst []byte, c codec.Spec) []byte {
		return appendFlags(appendBytes(appendText(dst, c.Name), c.Config), c.Clip)
	})
	return appendInt(appendFlags(appendInt(dst, int64(s.Filters)), s.RawEdges), s.Stride)
}

func appendAttribute(dst []byte, a Attribute) []byte {
	dst = appendType(appendText(dst, a.Name), a.Type)
	dst = appendFlags(appendList(appendBytes(dst, a.Data), a.Texts, appendText), a.Scalar, a.JSON != "", a.Unreadable != "")
	for _, text := range []string{a.JSON, a.Unreadable} {
		if text != "" {
			dst = appendText(dst, text)
		}
	}
	return dst
}

func appendType(dst []byte, t codec.Type) []byte {
	dst = append(dst, byte(t.Kind))
	dst = appendInt(appendText(appendInt(dst, int64(t.Size)), t.Unit), int64(t.Ticks))
	return appendList(dst, t.Fields, func(dst []byte, f codec.Field) []byte {
		return appendType(appendText(dst, f.Name), f.Type)
	})
}

func appendList[T any](dst []byte, list []T, one func([]byte, T) []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, x := range list {
		dst = one(dst, x)
	}
	return dst
}

func appendInt(dst []byte, n int64) []byte { return binary.AppendVarint(dst, n) }

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func appendFlags(dst []byte, flags ...bool) []byte {
	set := byte(0)
	for i, f := range flags {
		if f {
			set |= 1 << i
		}
	}
	return append(dst, set)
}

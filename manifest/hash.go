package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"varve/codec"
)

// Things are known by a hash of their keys. A key is every field but the ID in the order of
// the declaration: numbers as varints, texts and lists behind their length, nil like empty.
// Equal keys are equal things; what a hash is made of is part of the stored form.

// SetID sets the ID of a header from all else.
func (h *Header) SetID() { h.ID = IDOf(h.AppendKey(nil)) }

// SetID sets the ID of the attributes from all else.
func (g *GroupAttributes) SetID() { g.ID = IDOf(g.AppendKey(nil)) }

// SetID sets the ID of values from all else. The elements, which may be many, are not copied.
func (v *Values) SetID() {
	sum := sha256.New()
	sum.Write(binary.AppendUvarint(nil, uint64(len(v.Data))))
	sum.Write(v.Data)
	sum.Write(appendList(nil, v.Texts, appendBytes))
	v.ID = idOf(sum.Sum(nil))
}

// IDOf returns the ID of what has a key, which is what AppendKey appends: the first half of a
// SHA-256, in hex.
func IDOf(key []byte) string {
	sum := sha256.Sum256(key)
	return idOf(sum[:])
}

func idOf(sum []byte) string { return hex.EncodeToString(sum[:sha256.Size/2]) }

// AppendKey appends all that the ID depends on.
func (g *GroupAttributes) AppendKey(dst []byte) []byte {
	return appendList(dst, g.Groups, func(dst []byte, x Group) []byte {
		return appendList(appendText(dst, x.Path), x.Attributes, appendAttribute)
	})
}

// AppendKey appends all that the ID depends on.
func (h *Header) AppendKey(dst []byte) []byte {
	dst = appendList(dst, h.Dimensions, func(dst []byte, d Dimension) []byte {
		return appendFlags(appendInt(appendText(dst, d.Path), d.Length), d.Unlimited, d.Anonymous)
	})
	dst = appendInt(dst, int64(len(h.Variables)))
	for i := range h.Variables {
		at := len(dst)
		dst = h.Variables[i].appendKey(doubled(dst))
		if i == 0 {
			dst = forMore(dst, len(h.Variables)-1, len(dst)-at)
		}
	}
	return dst
}

// doubled makes room for as much again if there is little left. Append would give a long slice
// a quarter more at a time, and so copy it often.
func doubled(b []byte) []byte {
	if cap(b)-len(b) > len(b)/8 {
		return b
	}
	return slices.Grow(b, len(b))
}

// maxRoom bounds the room that is made for what is not there yet.
const maxRoom = 4 << 20

// forMore makes room for n more things that are about as long as the first was.
func forMore(b []byte, n, first int) []byte { return slices.Grow(b, min(n*(first+first/4), maxRoom)) }

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
	return appendText(dst, v.Unreadable)
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
	return appendFlags(appendList(appendBytes(dst, a.Data), a.Texts, appendText), a.Scalar)
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

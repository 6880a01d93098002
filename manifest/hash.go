package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"sync"

	"varve/codec"
)

// The ID of a header, of group attributes or of values is a hash of its key. The key is all fields except
// the ID, in the order of declaration: numbers as varints, texts and lists after their lengths, nil like an
// empty list. Objects with equal keys are equal. IDs are stored in manifests, so the keys must not change.

// hashBuffer is about the number of bytes of a key that are in memory at a time.
const hashBuffer = 16 << 10

var keys = sync.Pool{New: func() any { return new([]byte) }}

// SetID sets the ID of a header. A long key is hashed in parts, so that it is never in memory as a
// whole.
func (h *Header) SetID() {
	k := newKeyHash()
	k.key = h.appendDimensions(k.key)
	for _, v := range h.Variables {
		k.key = v.appendElements(appendText(k.key, v.Path))
		k.addAttributes(v.Attributes)
		k.key = v.appendStored(k.key)
		k.flush()
	}
	h.ID = k.end()
}

// keyHash hashes a key that is appended in parts.
type keyHash struct {
	sum    hash.Hash
	buffer *[]byte
	key    []byte // the part that is not hashed yet
}

func newKeyHash() *keyHash {
	buffer := keys.Get().(*[]byte)
	return &keyHash{sum: sha256.New(), buffer: buffer, key: (*buffer)[:0]}
}

// flush hashes the part if it is long.
func (k *keyHash) flush() {
	if len(k.key) >= hashBuffer {
		k.sum.Write(k.key)
		k.key = k.key[:0]
	}
}

// addAttributes appends a list of attributes. The list may be long.
func (k *keyHash) addAttributes(list []Attribute) {
	k.key = binary.AppendUvarint(k.key, uint64(len(list)))
	for i := range list {
		k.key = appendAttribute(k.key, list[i])
		k.flush()
	}
}

// end returns the ID.
func (k *keyHash) end() string {
	k.sum.Write(k.key)
	id := idOf(k.sum.Sum(k.key[:0]))
	if cap(k.key) <= 4*hashBuffer { // one long list need not stay in memory
		*k.buffer = k.key
	}
	keys.Put(k.buffer)
	return id
}

// SetID sets the ID of the attributes.
func (g *GroupAttributes) SetID() {
	k := newKeyHash()
	k.key = binary.AppendUvarint(k.key, uint64(len(g.Groups)))
	for _, x := range g.Groups {
		k.key = appendText(k.key, x.Path)
		k.addAttributes(x.Attributes)
		k.flush()
	}
	g.ID = k.end()
}

// SetID sets the ID of the values. It does not copy the elements, which may be many.
func (v *Values) SetID() {
	sum := sha256.New()
	sum.Write(binary.AppendUvarint(nil, uint64(len(v.Data))))
	sum.Write(v.Data)
	sum.Write(appendList(nil, v.Texts, appendBytes))
	v.ID = idOf(sum.Sum(nil))
}

// versionID returns a hash of the source's URL, size, modification time and ETag: it distinguishes the
// source from all others and from other versions of itself.
func (s Source) versionID() string {
	key := appendInt(appendText(nil, s.URL), s.Size)
	// The Unix time of a zero time has no meaning, so a flag replaces it.
	if key = appendFlags(key, s.Modified.IsZero()); !s.Modified.IsZero() {
		key = appendInt(appendInt(key, s.Modified.Unix()), int64(s.Modified.Nanosecond()))
	}
	sum := sha256.Sum256(appendText(key, s.ETag))
	return idOf(sum[:])
}

// idOf returns the first half of a SHA-256 in hex.
func idOf(sum []byte) string { return hex.EncodeToString(sum[:sha256.Size/2]) }

// AppendKey appends the key from which SetID computes the ID.
func (g *GroupAttributes) AppendKey(dst []byte) []byte {
	return appendList(dst, g.Groups, func(dst []byte, x Group) []byte {
		return appendList(appendText(dst, x.Path), x.Attributes, appendAttribute)
	})
}

// AppendKey appends the key from which SetID computes the ID.
func (h *Header) AppendKey(dst []byte) []byte {
	dst = h.appendDimensions(dst)
	for i := range h.Variables {
		dst = h.Variables[i].appendKey(dst)
	}
	return dst
}

// appendDimensions appends the dimensions and the number of variables.
func (h *Header) appendDimensions(dst []byte) []byte {
	// Like was added after version 1 was in use. A flag announces it, so that headers without it keep
	// their IDs.
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
		// Elsewhere and Damaged came later. Separators that cannot occur in the text keep the IDs of
		// variables without them.
		why += "\x00" + v.Elsewhere
	}
	if v.Damaged {
		why += "\x00\x00"
	}
	return appendText(dst, why)
}

// AppendDecoding appends the key of everything that the elements depend on, except the stored bytes.
func (v *Variable) AppendDecoding(dst []byte) []byte {
	return v.Storage.appendKey(v.appendElements(dst))
}

func (s *Storage) appendKey(dst []byte) []byte {
	dst = appendList(appendText(dst, string(s.Layout)), s.Chunks, appendInt)
	dst = appendList(dst, s.Edges, appendLengths)
	dst = appendList(dst, s.Codecs, func(dst []byte, c codec.Spec) []byte {
		return appendFlags(appendBytes(appendText(dst, c.Name), c.Config), c.Clip)
	})
	dst = appendInt(appendFlags(appendInt(dst, int64(s.Filters)), s.RawEdges, s.DataSizes != nil), s.Stride)
	if s.DataSizes != nil { // came later: the flag announces it
		dst = appendList(dst, s.DataSizes, appendLengths)
	}
	return dst
}

// appendLengths appends the key of runs of lengths.
func appendLengths(dst []byte, runs [][2]int64) []byte {
	return appendList(dst, runs, func(dst []byte, r [2]int64) []byte {
		return appendInt(appendInt(dst, r[0]), r[1])
	})
}

// appendAttribute appends the key of an attribute. JSON and Unreadable came later: flags announce
// them, so that attributes without them keep their keys.
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

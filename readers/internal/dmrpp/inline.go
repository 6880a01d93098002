package dmrpp

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"varve/codec"
	"varve/readers"
)

// vlsa reads the strings of a variable: <v>text</v>, <v c="3">text that is repeated three
// times</v>, <v s="1000">text of 1000 bytes, deflated, in base64</v>.
func (p *parser) vlsa(v *variable) error {
	v.hasTexts = true
	for {
		tok, err := p.child(nil)
		if err != nil || tok == nil {
			return err
		}
		if string(tok.name) != "v" {
			if err := p.skip(); err != nil {
				return err
			}
			continue
		}
		if err := p.vlsaValue(v, tok); err != nil {
			return err
		}
	}
}

func (p *parser) vlsaValue(v *variable, tok *token) error {
	count, size := uint64(1), uint64(0)
	var err error
	if c := tok.attr("c"); c != nil {
		if count, err = p.length(c, "count of a string"); err != nil {
			return err
		}
	}
	packed := tok.attr("s") != nil
	if packed {
		if size, err = p.length(tok.attr("s"), "size of a string"); err != nil {
			return err
		}
	}
	text, err := p.text()
	if err != nil {
		return err
	}
	if packed {
		if text, err = unpack(text, size); err != nil {
			v.fail(err)
			return nil
		}
	}
	if count > maxInline/32 || uint64(len(v.texts))+count > maxInline/32 {
		v.fail(unsupported("more than %d inline strings", maxInline/32))
		return nil
	}
	if err := p.account(len(text) + 24*int(count)); err != nil {
		return err
	}
	for range count {
		v.texts = append(v.texts, text)
	}
	return nil
}

// unpack decodes base64 and inflates the result, which must have size bytes.
func unpack(text []byte, size uint64) ([]byte, error) {
	raw, err := decodeBase64(text)
	if err != nil {
		return nil, err
	}
	// Deflate expands by at most a factor of 1032: a larger size is damaged or hostile.
	if size > maxInline || size > 1032*uint64(len(raw)) {
		return nil, readers.Corruptf("inline values: %d bytes of deflate cannot expand to %d", len(raw), size)
	}
	z, err := zlib.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, readers.Corruptf("inline values: %w", err)
	}
	out := make([]byte, size)
	if _, err := io.ReadFull(z, out); err != nil {
		return nil, readers.Corruptf("inline values: %w", err)
	}
	if n, err := z.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return nil, readers.Corruptf("inline values have more than %d bytes, or a damaged end", size)
	}
	return out, nil
}

// decodeBase64 decodes base64 that may contain blanks and line breaks.
func decodeBase64(text []byte) ([]byte, error) {
	text = bytes.Join(bytes.Fields(text), nil)
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(out, text)
	if err != nil {
		return nil, readers.Corruptf("inline values: %w", err)
	}
	return out[:n], nil
}

// storeInline sets the storage of values in base64.
func (v *variable) storeInline() error {
	raw, err := v.inlineBytes()
	if err != nil {
		return err
	}
	if v.Type.Class == readers.VarLen {
		if len(v.Shape) == 0 {
			return v.storeTexts([][]byte{bytes.TrimRight(raw, "\x00")})
		}
		v.Storage.Undecodable = unsupported("array of strings of varying length in base64")
		return nil
	}
	if want := product(v.Shape) * uint64(v.Type.Size); uint64(len(raw)) != want {
		return readers.Corruptf("inline values have %d bytes, but shape %v of %s takes %d", len(raw), v.Shape, v.Type, want)
	}
	v.Storage.Layout, v.Storage.Data, v.Storage.Bytes = readers.Inline, raw, uint64(len(raw))
	v.setPlain()
	v.setReader(nil)
	return nil
}

// inlineBytes decodes inline values. missingdata is deflated if it has more than one element.
func (v *variable) inlineBytes() ([]byte, error) {
	if v.isDeflated && product(v.Shape) != 1 {
		return unpack(v.inline, product(v.Shape)*uint64(v.Type.Size))
	}
	raw, err := decodeBase64(v.inline)
	if err == nil && v.isDeflated { // a single element may be followed by padding
		raw = raw[:min(len(raw), v.Type.Size)]
	}
	return raw, err
}

// storeTexts sets the storage of strings, in the encoding of the codec vlen-utf8.
func (v *variable) storeTexts(texts [][]byte) error {
	if !isTextType(v.kind) {
		return readers.Corruptf("strings in a variable of type %s", v.kind)
	}
	if uint64(len(texts)) != product(v.Shape) {
		return readers.Corruptf("%d inline strings, but shape %v takes %d", len(texts), v.Shape, product(v.Shape))
	}
	v.Type = textType
	size := 4
	for _, t := range texts {
		if size += 4 + len(t); size > maxInline {
			return unsupported("inline strings of more than %d bytes", maxInline)
		}
	}
	data := binary.LittleEndian.AppendUint32(make([]byte, 0, size), uint32(len(texts)))
	for _, t := range texts {
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(t))), t...)
	}
	v.Storage = readers.Storage{
		Layout: readers.Inline, Data: data, Bytes: uint64(len(data)), Plain: true,
		Pipeline: readers.Pipeline{Bytes: codec.Spec{Name: "vlen-utf8"}},
	}
	v.setReader(texts)
	return nil
}

// setReader sets ReadAll of a variable with inline values.
func (v *variable) setReader(texts [][]byte) {
	out, size := v.Variable, uint64(len(v.Storage.Data))
	v.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		if size > limit {
			return readers.Value{}, fmt.Errorf("%s: values take %d bytes, which is more than the limit of %d", out.Path, size, limit)
		}
		value := readers.Value{Type: out.Type, Shape: out.Shape, Texts: texts}
		if texts != nil {
			return value, ctx.Err()
		}
		var err error
		if value.Data, err = out.Type.AppendMemory(nil, out.Storage.Data); err != nil {
			return readers.Value{}, err
		}
		if out.Type.Class == readers.String {
			for text := range slices.Chunk(value.Data, out.Type.Size) {
				value.Texts = append(value.Texts, out.Type.Padding.Trim(text))
			}
		}
		return value, ctx.Err()
	}
}

package describe

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"varve/readers"
	"varve/readers/internal/hdf5"
)

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// values hashes all elements of a dataset. Those in other files count where they can be read.
func (in *inspection) values(d *hdf5.Dataset, doc document) error {
	if unset(d, doc) {
		doc["unset"] = true
	}
	if !in.opts.Values || d.Space == hdf5.Null || d.Elsewhere() && d.Layout != readers.External {
		return nil
	}
	if n, ok := readers.Elements(d.Shape); !ok || n > maxHashedValues/uint64(d.Type.Size) {
		return nil
	}
	stored, err := d.ReadAll(in.ctx, maxHashedValues)
	if in.ctx.Err() != nil {
		return in.ctx.Err()
	}
	if err == nil && d.Type.Class == readers.String && !d.Elsewhere() {
		doc["raw"] = hashOf(stored)
	}
	sum := ""
	if err == nil {
		sum, err = in.digest(d.Type, stored)
	}
	if err != nil {
		in.note(err)
		sum = "undecodable: " + err.Error()
	}
	doc["values"] = sum
	return nil
}

// unset reports whether a dataset has elements without a value: they were never written, and HDF5 fills none of them.
func unset(d *hdf5.Dataset, doc document) bool {
	if d.FillTime != hdf5.FillNever {
		return false
	}
	switch d.Layout {
	case readers.Contiguous:
		return doc["offset"] == nil
	case readers.Chunked:
		grid := uint64(1)
		for i, n := range d.Shape {
			grid *= (n + d.Chunk[i] - 1) / d.Chunk[i]
		}
		chunks, _ := doc["chunks"].(document)
		n, _ := chunks["n"].(int)
		return uint64(n) < grid
	}
	return false
}

// digest hashes elements: strings as a JSON list, all else in canonical form.
func (in *inspection) digest(t *readers.Type, stored []byte) (string, error) {
	if hdf5.IsText(t) {
		texts, err := in.file.Texts(in.ctx, t, stored)
		if err != nil {
			return "", err
		}
		return hashTexts(texts), nil
	}
	sum := sha256.New()
	const piece = 1 << 20
	step := max(piece/t.Size, 1) * t.Size
	var buf []byte
	for len(stored) > 0 {
		n := min(step, len(stored))
		var err error
		if buf, err = in.file.Canonical(in.ctx, buf[:0], t, stored[:n]); err != nil {
			return "", err
		}
		sum.Write(buf)
		stored = stored[n:]
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func hashTexts(texts [][]byte) string {
	sum := sha256.New()
	writeTexts(sum, texts)
	return hex.EncodeToString(sum.Sum(nil))
}

// writeTexts writes strings as a JSON list without spaces, and copies bytes that
// are not UTF-8 unchanged.
func writeTexts(w hash.Hash, texts [][]byte) {
	w.Write([]byte{'['})
	var line []byte
	for i, s := range texts {
		line = line[:0]
		if i > 0 {
			line = append(line, ',')
		}
		w.Write(appendText(line, s))
	}
	w.Write([]byte{']'})
}

func appendText(dst, s []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(dst, '"')
}

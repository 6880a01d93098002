package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve/codec"
	"varve/readers"
)

// storageLines says in words where the values of a variable are, and whether they can be
// served as they are stored. If its chunks cannot be listed, the lines say so and the error is returned.
func storageLines(ctx context.Context, v *readers.Variable) ([]string, error) {
	s := &v.Storage
	lines := []string{whereText(v)}
	masked := 0
	if s.Layout == readers.Chunked {
		chunks, n, err := chunkText(ctx, v)
		masked = n
		if err != nil {
			return append(lines, "cannot list its chunks: "+err.Error()), err
		}
		lines[0] += ", " + chunks
	}
	return append(lines, verdict(v, masked)), nil
}

func whereText(v *readers.Variable) string {
	s := &v.Storage
	switch s.Layout {
	case readers.Contiguous:
		return fmt.Sprintf("contiguous at %d, %s", s.Offset, byteSize(s.Bytes))
	case readers.Inline:
		return fmt.Sprintf("inline in the metadata, %d bytes", len(s.Data))
	case readers.Records:
		return fmt.Sprintf("a run each record, the first at %d, %d bytes apart", s.Offset, s.Stride)
	case readers.External:
		return fmt.Sprintf("in %s of other files, the first %q", plural(int64(len(s.Files)), "run", "runs"), s.Files[0].Name)
	case readers.Virtual:
		return fmt.Sprintf("virtual: %s of other variables", plural(int64(len(s.Mappings)), "part", "parts"))
	case readers.Unallocated:
		return "nothing stored: all fill"
	}
	text := "one chunk"
	if len(s.ChunkShape) > 0 {
		text = "chunks of " + shapeText(s.ChunkShape)
	}
	if s.Grid != nil && s.Grid.Rank() > 0 {
		text = "chunks of " + s.Edges()
	}
	if len(s.Pipeline.Filters) > 0 {
		text += " through " + filtersText(s.Pipeline.Filters)
	}
	if s.RawEdges {
		text += " (partial chunks without filters)"
	}
	return text
}

func shapeText(shape []uint64) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(parts, " × ")
}

func filtersText(filters []readers.Filter) string {
	parts := make([]string, len(filters))
	for i, f := range filters {
		parts[i], _, _ = strings.Cut(f.Name, ";")
		if parts[i] == "" {
			parts[i] = fmt.Sprintf("filter %d", f.ID)
		}
		if len(f.Values) == 1 {
			parts[i] += fmt.Sprintf("(%d)", f.Values[0])
		}
	}
	return strings.Join(parts, ", ")
}

// chunkText counts chunks, what they take, and those with a filter mask.
func chunkText(ctx context.Context, v *readers.Variable) (text string, masked int, err error) {
	n, bytes := 0, uint64(0)
	for r, err := range v.Storage.Refs(ctx) {
		if err != nil {
			return "", 0, err
		}
		n++
		if r.Size != readers.WholeSource {
			bytes += r.Size
		}
		if r.Mask != 0 {
			masked++
		}
	}
	all := uint64(1)
	for i := range v.Storage.ChunkShape {
		edge := max(v.Storage.ChunkShape[i], 1)
		all *= (v.Shape[i] + edge - 1) / edge
	}
	if v.Storage.Grid != nil {
		all = uint64(v.Storage.Grid.Chunks())
	}
	text = fmt.Sprintf("%d of %d stored in %s", n, all, byteSize(bytes))
	if raw, ok := readers.Elements(v.Shape); ok && n > 0 && uint64(n) == all && bytes > 0 {
		text += fmt.Sprintf(" (%.1f : 1)", float64(raw)*float64(v.Type.Size)/float64(bytes))
	}
	if masked > 0 {
		text += fmt.Sprintf(", %d with a filter mask", masked)
	}
	return text, masked, nil
}

// verdict returns how clients get a variable: verbatim, re-encoded or not at all.
func verdict(v *readers.Variable, masked int) string {
	s := &v.Storage
	if _, ok := v.Type.Row(); ok {
		return "decodable; re-encoded for clients, which know texts of one length only"
	}
	switch {
	case v.Type.Varies() && s.Texts == nil:
		return "decodable; not for clients, which have no such type"
	case s.Undecodable != nil:
		return "cannot be decoded: " + s.Undecodable.Error()
	case s.IsDecimal:
		return "decodable; re-encoded for clients, which know no numbers in texts"
	}
	if info, ok := codec.Lookup(s.Pipeline.Bytes.Name); ok && info.Client == codec.NoClient {
		return "decodable; re-encoded for clients, which do not know " + info.Name
	}
	for _, f := range s.Pipeline.Filters {
		info, ok := codec.Lookup(f.Codec.Name)
		switch {
		case !ok:
			return "cannot be decoded: no codec " + f.Codec.Name
		case info.Client == codec.NoClient:
			return "decodable; re-encoded for clients, which do not know " + f.Name
		case info.Client != codec.AnyClient:
			return fmt.Sprintf("decodable; verbatim for clients with %s, else re-encoded", info.Client)
		}
	}
	switch {
	case s.Layout == readers.Virtual || s.Layout == readers.External:
		return "decodable where the sources are at hand"
	case !s.Plain && s.Texts == nil:
		return "decodable; re-encoded for clients, which have no such type"
	case v.Type.IsPath():
		return "decodable; for clients the paths of objects"
	case s.Texts != nil:
		return "decodable; re-encoded for clients, because their strings are stored outside the chunks"
	case masked > 0:
		return "verbatim, except chunks with a filter mask, which are re-encoded"
	case s.RawEdges:
		return "verbatim, except partial chunks, which are re-encoded"
	}
	return "verbatim"
}

const maxShownValues = 24

// valueText writes a value as CDL does.
func valueText(v *readers.Value) string {
	if v.Null {
		return "// nothing"
	}
	var parts []string
	for _, t := range v.Texts {
		parts = append(parts, strconv.Quote(string(t)))
	}
	n := len(parts)
	if parts == nil && v.Type != nil {
		parts, n = elementsText(v)
	}
	if parts == nil {
		return fmt.Sprintf("// %d bytes of %s", len(v.Data), printable(v.Type.String()))
	}
	if n > maxShownValues {
		return strings.Join(parts[:maxShownValues], ", ") + fmt.Sprintf(", … // %d values", n)
	}
	return strings.Join(parts, ", ")
}

func numberText(t codec.Type, b []byte) string {
	var wide [8]byte
	copy(wide[:], b)
	bits := binary.LittleEndian.Uint64(wide[:])
	switch {
	case t.Kind == codec.Uint:
		return strconv.FormatUint(bits, 10) + map[int]string{1: "UB", 2: "US", 4: "U", 8: "ULL"}[t.Size]
	case t.Kind == codec.Int:
		shift := 64 - 8*t.Size
		return strconv.FormatInt(int64(bits<<shift)>>shift, 10) + map[int]string{1: "b", 2: "s", 8: "LL"}[t.Size]
	case t.Size == 4:
		return floatText(float64(math.Float32frombits(uint32(bits))), 32) + "f"
	case t.Size == 8:
		return floatText(math.Float64frombits(bits), 64)
	}
	return fmt.Sprintf("0x%x", bits)
}

func floatText(f float64, size int) string {
	text := strconv.FormatFloat(f, 'g', -1, size)
	if strings.ContainsAny(text, ".eNI") {
		return text
	}
	return text + "."
}

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"varve/codec"
	"varve/grid"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/zarrjson"
)

// findSnapshot sets the full snapshot ID in the options: the current snapshot if it is empty, otherwise the
// only snapshot whose ID starts with it.
func findSnapshot(ctx context.Context, name string, opts *store.Options) (err error) {
	repository, err := repo.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repository.Close()) }()
	if opts.Snapshot == "" {
		opts.Snapshot, err = repository.Current(ctx)
		return err
	}
	opts.Snapshot, err = repository.Find(ctx, opts.Snapshot)
	return err
}

// open opens a dataset, and answers with its handle and the descriptions of its groups and arrays.
func (s *Server) open(ctx context.Context, l *link, raw []byte, done func()) error {
	var ask openRequest
	var text []byte
	err := json.Unmarshal(raw, &ask)
	if err != nil {
		err = fmt.Errorf("%w: %w", errRequest, err)
	} else {
		text, err = s.opened(ctx, &ask)
	}
	done()
	if err != nil {
		return s.fail(l, err)
	}
	return l.answer(statusDone, text)
}

func (s *Server) opened(ctx context.Context, ask *openRequest) ([]byte, error) {
	handle, at, err := s.datasets.open(ctx, ask)
	if err != nil {
		return nil, err
	}
	defer s.datasets.release(at)
	text, err := describe(handle, at.store)
	if err != nil {
		s.datasets.drop(handle)
	}
	return text, err
}

// describe returns the answer to open. It inserts the JSON of attributes unchanged, because they may contain
// an unquoted NaN, which Python reads but encoding/json cannot write.
func describe(handle uint32, st *store.Store) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"dataset":%d,"snapshot":%q,"groups":[`, handle, st.Snapshot().ID)
	for i, g := range st.Groups() {
		comma(&out, i)
		if err := object(&out, "path", g.Path); err != nil {
			return nil, err
		}
		if err := attributes(&out, g.Attributes, g.AttributeTypes); err != nil {
			return nil, err
		}
	}
	out.WriteString(`],"arrays":[`)
	for i, a := range st.Arrays() {
		comma(&out, i)
		if err := describeArray(&out, a); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
	}
	out.WriteString("]}")
	return out.Bytes(), nil
}

func describeArray(out *bytes.Buffer, a *store.Array) error {
	schema := a.Schema()
	dtype, err := numpyType(schema.DataType.Type())
	if err != nil {
		return err
	}
	if err := object(out, "path", a.Path(), "dims", schema.Dims(), "shape", append([]int64{}, schema.Shape...), "dtype", dtype, "chunks", chunksOf(a.Grid())); err != nil {
		return err
	}
	return attributes(out, schema.Attributes, a.Spec().AttributeTypes)
}

// attributes writes the last members of an object: attributes, and the types that their JSON does not show.
func attributes(out *bytes.Buffer, list zarrjson.Attributes, types map[string]string) error {
	fmt.Fprintf(out, `,"attributes":%s`, orEmpty(list.JSON()))
	if len(types) > 0 {
		text, err := json.Marshal(types)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, `,"types":%s`, text)
	}
	out.WriteByte('}')
	return nil
}

// object writes the start of a JSON object with some members, without the closing brace.
func object(out *bytes.Buffer, members ...any) error {
	for i := 0; i < len(members); i += 2 {
		text, err := json.Marshal(members[i+1])
		if err != nil {
			return err
		}
		if i == 0 {
			out.WriteByte('{')
		} else {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "%q:%s", members[i], text)
	}
	return nil
}

func comma(out *bytes.Buffer, i int) {
	if i > 0 {
		out.WriteByte(',')
	}
}

func orEmpty(object []byte) []byte {
	if len(object) == 0 {
		return []byte("{}")
	}
	return object
}

// chunksOf returns, for each axis, the length of its chunks. If the grid is not regular, it returns runs of
// equal lengths [length, count]; the last chunk ends with the array.
func chunksOf(g *grid.Grid) []any {
	out := make([]any, g.Rank())
	regular, isRegular := g.ChunkShape()
	for k := range out {
		if isRegular {
			out[k] = regular[k]
			continue
		}
		out[k] = runsOf(g.Dim(k))
	}
	return out
}

// runsOf returns the runs of the chunks of an axis.
func runsOf(d grid.Dimension) [][2]int64 {
	runs := [][2]int64{}
	for n := int64(0); n < d.Chunks(); {
		span := d.Span(n)
		length, _ := d.DataSize(n)
		count := min(span.First+span.Count, d.Chunks()) - n
		if last, _ := d.DataSize(n + count - 1); count > 1 && last != length { // the last chunk extends beyond the array
			count--
		}
		if k := len(runs) - 1; k >= 0 && runs[k][0] == length {
			runs[k][1] += count
		} else {
			runs = append(runs, [2]int64{length, count})
		}
		n += count
	}
	return runs
}

// numpyType returns a type in the form that numpy.dtype accepts: a text, or a list of fields. Texts of varying
// length are "T", bytes of varying length "O".
func numpyType(t codec.Type) (any, error) {
	switch t.Kind {
	case codec.Bool:
		return "|b1", nil
	case codec.Int:
		return fmt.Sprintf("<i%d", t.Size), nil
	case codec.Uint:
		return fmt.Sprintf("<u%d", t.Size), nil
	case codec.Float:
		return fmt.Sprintf("<f%d", t.Size), nil
	case codec.Complex:
		return fmt.Sprintf("<c%d", t.Size), nil
	case codec.Raw:
		return fmt.Sprintf("|V%d", t.Size), nil
	case codec.FixedBytes:
		return fmt.Sprintf("|S%d", t.Size), nil
	case codec.FixedUTF32:
		return fmt.Sprintf("<U%d", t.Size/4), nil
	case codec.DateTime, codec.TimeDelta:
		letter := map[codec.Kind]string{codec.DateTime: "M", codec.TimeDelta: "m"}[t.Kind]
		if t.Unit == "generic" {
			return "<" + letter + "8", nil
		}
		return fmt.Sprintf("<%s8[%d%s]", letter, max(t.Ticks, 1), t.Unit), nil
	case codec.String:
		return "T", nil
	case codec.Bytes:
		return "O", nil
	case codec.Struct:
		fields := make([][2]any, len(t.Fields))
		for i, f := range t.Fields {
			field, err := numpyType(f.Type)
			if err != nil {
				return nil, err
			}
			fields[i] = [2]any{f.Name, field}
		}
		return fields, nil
	}
	return nil, fmt.Errorf("NumPy has no type for %v: %w", t, errors.ErrUnsupported)
}

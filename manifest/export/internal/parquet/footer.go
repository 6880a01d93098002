package parquet

import "varve/readers/thrift"

// footer returns the FileMetaData.
func (w *Writer) footer() []byte {
	t := &thrift.Writer{}
	t.Begin()
	t.I32(1, 1)
	w.schema(t)
	rows := int64(0)
	for _, g := range w.groups {
		rows += g.rows
	}
	t.I64(3, rows)
	t.List(4, thrift.Struct, len(w.groups))
	for _, g := range w.groups {
		w.group(t, g)
	}
	t.Text(6, "varve")
	t.End()
	return t.Out
}

// schema writes the columns as a tree, the root first.
func (w *Writer) schema(t *thrift.Writer) {
	nodes := 1
	for _, c := range w.columns {
		nodes++
		if c.Kind.isList() {
			nodes += 2
		}
	}
	t.List(2, thrift.Struct, nodes)
	t.Begin()
	t.Text(4, "schema")
	t.I32(5, int32(len(w.columns)))
	t.End()
	for _, c := range w.columns {
		if c.Kind.isList() {
			parent(t, c.Name, required, true)
			parent(t, "list", repeated, false)
			leaf(t, Column{Name: "element", Kind: c.Kind})
			continue
		}
		leaf(t, c)
	}
}

// parent writes a node with one child.
func parent(t *thrift.Writer, name string, repetition int32, list bool) {
	t.Begin()
	t.I32(3, repetition)
	t.Text(4, name)
	t.I32(5, 1)
	if list {
		t.I32(6, convertedList)
	}
	t.End()
}

func leaf(t *thrift.Writer, c Column) {
	t.Begin()
	t.I32(1, c.physical())
	if c.Optional {
		t.I32(3, optional)
	} else {
		t.I32(3, required)
	}
	t.Text(4, c.Name)
	if c.Kind == Text || c.Kind == Texts {
		t.I32(6, convertedUTF8)
	}
	t.End()
}

func (c Column) physical() int32 {
	if c.Kind == Int64 || c.Kind == Int64s {
		return typeInt64
	}
	return typeByteArray
}

func (w *Writer) group(t *thrift.Writer, g group) {
	t.Begin()
	t.List(1, thrift.Struct, len(g.chunks))
	for i, m := range g.chunks {
		t.Begin()
		t.I64(2, m.start)
		t.Struct(3)
		w.columns[i].metadata(t, m)
		t.End()
		t.End()
	}
	t.I64(2, g.bytes)
	t.I64(3, g.rows)
	t.End()
}

// metadata writes the ColumnMetaData.
func (c Column) metadata(t *thrift.Writer, m chunk) {
	t.I32(1, c.physical())
	encodings := []int64{encodePlain, encodeRLE}
	if m.dictionary {
		encodings = append(encodings, encodeDictionary)
	}
	t.List(2, thrift.I32, len(encodings))
	for _, e := range encodings {
		t.Varint(e)
	}
	path := []string{c.Name}
	if c.Kind.isList() {
		path = append(path, "list", "element")
	}
	t.List(3, thrift.Binary, len(path))
	for _, p := range path {
		t.Bare(p)
	}
	t.I32(4, codecZSTD)
	t.I64(5, m.values)
	t.I64(6, m.plain)
	t.I64(7, m.packed)
	t.I64(9, m.data)
	if m.dictionary {
		t.I64(11, m.start)
	}
	t.Struct(12)
	t.I64(3, m.nulls)
	t.End()
}

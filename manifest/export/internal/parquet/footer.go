package parquet

// footer returns the FileMetaData.
func (w *Writer) footer() []byte {
	t := newThrift(nil)
	t.int32(1, 1)
	w.schema(t)
	rows := int64(0)
	for _, g := range w.groups {
		rows += g.rows
	}
	t.int64(3, rows)
	t.list(4, structField, len(w.groups))
	for _, g := range w.groups {
		w.group(t, g)
	}
	t.text(6, "varve")
	t.end()
	return t.out
}

// schema writes the columns as a tree, the root first.
func (w *Writer) schema(t *thrift) {
	nodes := 1
	for _, c := range w.columns {
		nodes++
		if c.Kind.isList() {
			nodes += 2
		}
	}
	t.list(2, structField, nodes)
	t.begin()
	t.text(4, "schema")
	t.int32(5, int64(len(w.columns)))
	t.end()
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
func parent(t *thrift, name string, repetition int64, list bool) {
	t.begin()
	t.int32(3, repetition)
	t.text(4, name)
	t.int32(5, 1)
	if list {
		t.int32(6, convertedList)
	}
	t.end()
}

func leaf(t *thrift, c Column) {
	t.begin()
	t.int32(1, c.physical())
	if c.Optional {
		t.int32(3, optional)
	} else {
		t.int32(3, required)
	}
	t.text(4, c.Name)
	if c.Kind == Text || c.Kind == Texts {
		t.int32(6, convertedUTF8)
	}
	t.end()
}

func (c Column) physical() int64 {
	if c.Kind == Int64 || c.Kind == Int64s {
		return typeInt64
	}
	return typeByteArray
}

func (w *Writer) group(t *thrift, g group) {
	t.begin()
	t.list(1, structField, len(g.chunks))
	for i, m := range g.chunks {
		t.begin()
		t.int64(2, m.start)
		t.beginField(3)
		w.columns[i].metadata(t, m)
		t.end()
		t.end()
	}
	t.int64(2, g.bytes)
	t.int64(3, g.rows)
	t.end()
}

// metadata writes the ColumnMetaData.
func (c Column) metadata(t *thrift, m chunk) {
	t.int32(1, c.physical())
	encodings := []int64{encodePlain, encodeRLE}
	if m.dictionary {
		encodings = append(encodings, encodeDictionary)
	}
	t.list(2, int32Field, len(encodings))
	for _, e := range encodings {
		t.varint(e)
	}
	path := []string{c.Name}
	if c.Kind.isList() {
		path = append(path, "list", "element")
	}
	t.list(3, binaryField, len(path))
	for _, p := range path {
		t.string(p)
	}
	t.int32(4, codecZSTD)
	t.int64(5, m.values)
	t.int64(6, m.plain)
	t.int64(7, m.packed)
	t.int64(9, m.data)
	if m.dictionary {
		t.int64(11, m.start)
	}
	t.beginField(12)
	t.int64(3, m.nulls)
	t.end()
}

package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"varve/codec"
	"varve/zarrjson"
)

// Headers and the attributes of groups are stored as JSON that others can read: data types
// and values are spelt as in a zarr.json. What cannot be spelt so, such as text that is not
// UTF-8 or a type that Zarr does not have, is in base64 under another name.

// label is a text from a source. One that is not UTF-8 becomes {"base64": …}.
type label string

type rawLabel struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (l label) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(l)) {
		return json.Marshal(string(l))
	}
	return json.Marshal(rawLabel{[]byte(l)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *label) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		var raw rawLabel
		err := json.Unmarshal(text, &raw)
		*l = label(raw.Base64)
		return err
	}
	return json.Unmarshal(text, (*string)(l))
}

func labels[T, L ~string](texts []T) []L {
	out := make([]L, len(texts))
	for i, s := range texts {
		out[i] = L(s)
	}
	return out
}

type headerDocument struct {
	Dimensions []dimensionDocument `json:"dimensions"`
	Variables  []Variable          `json:"variables"`
}

type dimensionDocument struct {
	Path      label   `json:"path"`
	Length    int64   `json:"length"`
	Unlimited bool    `json:"unlimited,omitempty"`
	Anonymous bool    `json:"anonymous,omitempty"`
	Like      []label `json:"like,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler. It leaves the ID as it is.
func (h *Header) UnmarshalJSON(text []byte) error {
	var doc headerDocument
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	h.Dimensions, h.Variables = make([]Dimension, len(doc.Dimensions)), make([]*Variable, len(doc.Variables))
	for i, v := range doc.Variables {
		h.Variables[i] = &v // by itself: others may be shared, and forgotten
	}
	for i, d := range doc.Dimensions {
		if d.Length < 0 {
			return fmt.Errorf("dimension %s: length %d", d.Path, d.Length)
		}
		h.Dimensions[i] = Dimension{string(d.Path), d.Length, d.Unlimited, d.Anonymous, nil}
		if len(d.Like) > 0 {
			h.Dimensions[i].Like = labels[label, string](d.Like)
		}
	}
	return nil
}

type groupsDocument struct {
	Groups []attributesDocument `json:"groups"`
}

type attributesDocument struct {
	Path       label       `json:"path"`
	Attributes []Attribute `json:"attributes"`
}

// UnmarshalJSON implements json.Unmarshaler. It leaves the ID as it is.
func (g *GroupAttributes) UnmarshalJSON(text []byte) error {
	var doc groupsDocument
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	g.Groups = make([]Group, len(doc.Groups))
	for i, x := range doc.Groups {
		g.Groups[i] = Group{string(x.Path), x.Attributes}
	}
	return nil
}

type variableDocument struct {
	Path label `json:"path"`
	elementDocument
	Attributes []Attribute `json:"attributes"`
	storedDocument
}

// elementDocument is what a variable says of its elements.
type elementDocument struct {
	Dims     []label         `json:"dims"`
	Shape    []int64         `json:"shape"`
	DataType json.RawMessage `json:"data_type,omitempty"`
	Type     *typeDocument   `json:"type,omitempty"`
	Fill     json.RawMessage `json:"fill_value,omitempty"`
	RawFill  *[]byte         `json:"raw_fill_value,omitempty"`
	Chosen   bool            `json:"fill_value_chosen,omitempty"`
}

// storedDocument is what a variable says of its storage.
type storedDocument struct {
	Storage    storageDocument `json:"storage"`
	Enum       []enumDocument  `json:"enum,omitempty"`
	Unreadable label           `json:"unreadable,omitempty"`
	Elsewhere  label           `json:"elsewhere,omitempty"`
	Damaged    bool            `json:"damaged,omitempty"`
}

type enumDocument struct {
	Name  label `json:"name"`
	Value int64 `json:"value"`
}

type storageDocument struct {
	Layout   Layout            `json:"layout"`
	Chunks   []int64           `json:"chunks,omitempty"`
	Edges    [][][2]int64      `json:"edges,omitempty"`
	Codecs   []json.RawMessage `json:"codecs,omitempty"`
	Clipped  []int             `json:"clipped,omitempty"` // places in Codecs
	Filters  int               `json:"filters,omitempty"`
	RawEdges bool              `json:"raw_edges,omitempty"`
	Stride   int64             `json:"stride,omitempty"`
}

type codecDocument struct {
	Name   string          `json:"name"`
	Config json.RawMessage `json:"configuration,omitempty"`
}

func (s *Storage) document() (storageDocument, error) {
	doc := storageDocument{Layout: s.Layout, Chunks: s.Chunks, Edges: s.Edges, Filters: s.Filters, RawEdges: s.RawEdges, Stride: s.Stride}
	for i, c := range s.Codecs {
		text, err := json.Marshal(codecDocument{c.Name, c.Config})
		if err != nil {
			return doc, fmt.Errorf("codec %s: %w", c.Name, err)
		}
		doc.Codecs = append(doc.Codecs, text)
		if c.Clip {
			doc.Clipped = append(doc.Clipped, i)
		}
	}
	return doc, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Variable) UnmarshalJSON(text []byte) error {
	var doc variableDocument
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	*v = Variable{
		Path: string(doc.Path), Dims: labels[label, string](doc.Dims), Shape: doc.Shape,
		Attributes: doc.Attributes, Unreadable: string(doc.Unreadable), Elsewhere: string(doc.Elsewhere), Damaged: doc.Damaged,
	}
	err := v.readValues(&doc)
	if err == nil {
		err = v.Storage.read(&doc.Storage)
	}
	if err == nil && v.Storage.Layout == "" && v.Unreadable == "" {
		err = errors.New("storage: no layout")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", v.Path, err)
	}
	for _, c := range doc.Enum {
		v.Enum = append(v.Enum, Choice{string(c.Name), c.Value})
	}
	return nil
}

func (v *Variable) readValues(doc *variableDocument) error {
	if len(doc.Dims) != len(doc.Shape) {
		return fmt.Errorf("%d dimensions, and a shape of %d", len(doc.Dims), len(doc.Shape))
	}
	for _, n := range doc.Shape {
		if n < 0 {
			return fmt.Errorf("shape: %d", n)
		}
	}
	s, err := unspell(doc.DataType, doc.Type)
	if err != nil {
		return err
	}
	v.Type, v.Fill.User = s.of, doc.Chosen
	switch {
	case doc.RawFill != nil:
		v.Fill.Value = *doc.RawFill
	case doc.Fill != nil:
		v.Fill.Value, err = s.parse(doc.Fill)
	}
	if err == nil && v.Fill.Value != nil && s.of.Size > 0 && len(v.Fill.Value) != s.of.Size {
		err = fmt.Errorf("fill_value: %d bytes; an element has %d", len(v.Fill.Value), s.of.Size)
	}
	return err
}

func (s *Storage) read(doc *storageDocument) error {
	*s = Storage{Layout: doc.Layout, Chunks: doc.Chunks, Edges: doc.Edges, Filters: doc.Filters, RawEdges: doc.RawEdges, Stride: doc.Stride}
	switch s.Layout {
	case Chunked, Strided, Inline, Nothing, Parted, Valued:
	case "": // of what is Unreadable
	default:
		return fmt.Errorf("storage: layout %.40q", s.Layout)
	}
	for _, text := range doc.Codecs {
		var c codec.Spec
		if err := json.Unmarshal(text, &c); err != nil {
			return fmt.Errorf("storage: %w", err)
		}
		s.Codecs = append(s.Codecs, c)
	}
	for _, i := range doc.Clipped {
		if i < 0 || i >= len(s.Codecs) {
			return fmt.Errorf("storage: clipped: there is no codec %d", i)
		}
		s.Codecs[i].Clip = true
	}
	if s.Filters < 0 || s.Filters > len(s.Codecs) {
		return fmt.Errorf("storage: %d of %d codecs are filters", s.Filters, len(s.Codecs))
	}
	return nil
}

type attributeDocument struct {
	Name     label             `json:"name"`
	DataType json.RawMessage   `json:"data_type,omitempty"`
	Type     *typeDocument     `json:"type,omitempty"`
	Value    json.RawMessage   `json:"value,omitempty"`
	Values   []json.RawMessage `json:"values,omitempty"`
	Raw      *rawValues        `json:"raw,omitempty"`
	// Document is a value that is no list of elements.
	Document   label `json:"json,omitempty"`
	Unreadable label `json:"unreadable,omitempty"`
}

// rawValues are an attribute's in base64.
type rawValues struct {
	Data   []byte   `json:"data,omitempty"`
	Texts  [][]byte `json:"texts,omitempty"`
	Scalar bool     `json:"scalar,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *Attribute) UnmarshalJSON(text []byte) error {
	var doc attributeDocument
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	s, err := unspell(doc.DataType, doc.Type)
	if err != nil {
		return fmt.Errorf("attribute %s: %w", doc.Name, err)
	}
	*a = Attribute{Name: string(doc.Name), Type: s.of, JSON: string(doc.Document), Unreadable: string(doc.Unreadable)}
	if doc.Raw != nil {
		a.Data, a.Scalar = doc.Raw.Data, doc.Raw.Scalar
		for _, t := range doc.Raw.Texts {
			a.Texts = append(a.Texts, string(t))
		}
		return a.checkSize()
	}
	values := doc.Values
	if doc.Value != nil {
		a.Scalar, values = true, []json.RawMessage{doc.Value}
	}
	for _, v := range values {
		if err := a.addValue(s, v); err != nil {
			return fmt.Errorf("attribute %s: %w", doc.Name, err)
		}
	}
	return nil
}

// checkSize holds the bytes of an attribute to its type.
func (a *Attribute) checkSize() error {
	if n := a.Type.Size; n > 0 && len(a.Data)%n != 0 {
		return fmt.Errorf("attribute %s: %d bytes are no elements of %d", a.Name, len(a.Data), n)
	}
	return nil
}

// maxAttribute bounds what a list of short texts of a long fixed size can make of memory.
const maxAttribute = 64 << 20

func (a *Attribute) addValue(s spelling, value json.RawMessage) error {
	if len(a.Data) > maxAttribute-s.of.Size {
		return fmt.Errorf("more than %d bytes", maxAttribute)
	}
	element, err := s.parse(value)
	if err != nil {
		return err
	}
	if s.of.Varies() {
		a.Texts = append(a.Texts, string(element))
		return nil
	}
	a.Data = append(a.Data, element...)
	return nil
}

// spelling is how a type and its elements are spelt.
type spelling struct {
	of   codec.Type
	zarr *zarrjson.DataType // nil for a type that Zarr does not have
	json json.RawMessage    // of zarr
	raw  *typeDocument      // of what is not in zarr; nil for no type at all
}

func spell(t codec.Type) spelling {
	s := spelling{of: t}
	if t.Kind == 0 && t.Size == 0 {
		return s
	}
	if d, err := zarrjson.DataTypeOf(t); err == nil && d.Type().Equal(t) {
		s.zarr, s.json = &d, d.JSON()
		return s
	}
	s.raw = describe(t)
	return s
}

func unspell(zarr json.RawMessage, raw *typeDocument) (s spelling, err error) {
	switch {
	case zarr != nil:
		d, err := zarrjson.ParseDataType(zarr)
		if err != nil {
			return s, err
		}
		s.zarr, s.of = &d, d.Type()
	case raw != nil:
		s.of, err = raw.read(0)
	}
	return s, err
}

// element spells one element, or returns nil if that cannot be read back bit for bit.
func (s *spelling) element(value []byte) json.RawMessage {
	if s.zarr == nil {
		return nil
	}
	text, err := s.zarr.FillJSON(value)
	if err != nil {
		return nil
	}
	back, err := s.zarr.ParseFill(text)
	if err != nil || string(back) != string(value) {
		return nil
	}
	return text
}

func (s *spelling) parse(text json.RawMessage) ([]byte, error) {
	if s.zarr == nil {
		return nil, fmt.Errorf("a value %.40s without a data_type", text)
	}
	value, err := s.zarr.ParseFill(text)
	if err == nil && value == nil {
		value = []byte{}
	}
	return value, err
}

// elements spells all values of an attribute.
func (s *spelling) elements(a *Attribute) (values []json.RawMessage, ok bool) {
	list := make([][]byte, 0, len(a.Texts))
	for _, t := range a.Texts {
		list = append(list, []byte(t))
	}
	switch {
	case s.zarr == nil || s.of.Varies() && len(a.Data) > 0:
		return nil, false
	case !s.of.Varies() && (len(a.Texts) > 0 || len(a.Data)%s.of.Size != 0 || len(a.Data) > maxAttribute):
		return nil, false
	}
	for data := a.Data; len(data) > 0; data = data[s.of.Size:] {
		list = append(list, data[:s.of.Size])
	}
	values = make([]json.RawMessage, len(list))
	for i, element := range list {
		if values[i] = s.element(element); values[i] == nil {
			return nil, false
		}
	}
	return values, true
}

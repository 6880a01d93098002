package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"varve/codec"
	"varve/zarrjson"
)

// Headers and group attributes are stored as JSON that other programs can read: data types and values
// have the same form as in a zarr.json. Text that is not UTF-8, and types that Zarr does not have, are
// stored in base64 under other keys.

// label is a text from a source. Text that is not UTF-8 is stored as {"base64": …}.
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

// UnmarshalJSON implements json.Unmarshaler. It does not change the ID.
func (h *Header) UnmarshalJSON(text []byte) error {
	var doc headerDocument
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	h.Dimensions, h.Variables = make([]Dimension, len(doc.Dimensions)), make([]*Variable, len(doc.Variables))
	for i, v := range doc.Variables {
		h.Variables[i] = &v // a copy: a pointer into doc.Variables would keep all of them alive
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

// UnmarshalJSON implements json.Unmarshaler. It does not change the ID.
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

// elementDocument is the part of a variable's JSON that describes its elements.
type elementDocument struct {
	Dims     []label         `json:"dims"`
	Shape    []int64         `json:"shape"`
	DataType json.RawMessage `json:"data_type,omitempty"`
	Type     *typeDocument   `json:"type,omitempty"`
	Fill     json.RawMessage `json:"fill_value,omitempty"`
	RawFill  *[]byte         `json:"raw_fill_value,omitempty"`
	Chosen   bool            `json:"fill_value_chosen,omitempty"`
}

// storedDocument is the part of a variable's JSON that describes its storage.
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
	Data     [][][2]int64      `json:"data_sizes,omitempty"`
	Codecs   []json.RawMessage `json:"codecs,omitempty"`
	Clipped  []int             `json:"clipped,omitempty"` // indices into Codecs
	Filters  int               `json:"filters,omitempty"`
	RawEdges bool              `json:"raw_edges,omitempty"`
	Stride   int64             `json:"stride,omitempty"`
}

type codecDocument struct {
	Name   string          `json:"name"`
	Config json.RawMessage `json:"configuration,omitempty"`
}

func (s *Storage) document() (storageDocument, error) {
	doc := storageDocument{Layout: s.Layout, Chunks: s.Chunks, Edges: s.Edges, Data: s.DataSizes, Filters: s.Filters, RawEdges: s.RawEdges, Stride: s.Stride}
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
		return fmt.Errorf("dims has %d entries, shape has %d", len(doc.Dims), len(doc.Shape))
	}
	for _, n := range doc.Shape {
		if n < 0 {
			return fmt.Errorf("shape: length %d is negative", n)
		}
	}
	s, err := parseJSONType(doc.DataType, doc.Type)
	if err != nil {
		return err
	}
	v.Type, v.Fill.User = s.typ, doc.Chosen
	switch {
	case doc.RawFill != nil:
		v.Fill.Value = *doc.RawFill
	case doc.Fill != nil:
		v.Fill.Value, err = s.parse(doc.Fill)
	}
	if err == nil && v.Fill.Value != nil && s.typ.Size > 0 && len(v.Fill.Value) != s.typ.Size {
		err = fmt.Errorf("fill_value has %d bytes, an element has %d", len(v.Fill.Value), s.typ.Size)
	}
	return err
}

func (s *Storage) read(doc *storageDocument) error {
	*s = Storage{Layout: doc.Layout, Chunks: doc.Chunks, Edges: doc.Edges, DataSizes: doc.Data, Filters: doc.Filters, RawEdges: doc.RawEdges, Stride: doc.Stride}
	switch s.Layout {
	case Chunked, Strided, Inline, Nothing, Parted, Valued:
	case "": // the variable is Unreadable
	default:
		return fmt.Errorf("storage: unknown layout %.40q", s.Layout)
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
			return fmt.Errorf("storage: clipped: codec %d does not exist", i)
		}
		s.Codecs[i].Clip = true
	}
	if s.Filters < 0 || s.Filters > len(s.Codecs) {
		return fmt.Errorf("storage: filters is %d, but there are %d codecs", s.Filters, len(s.Codecs))
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
	// Document is a value that is neither an element nor a list of elements.
	Document   label `json:"json,omitempty"`
	Unreadable label `json:"unreadable,omitempty"`
}

// rawValues are the values of an attribute in base64.
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
	s, err := parseJSONType(doc.DataType, doc.Type)
	if err != nil {
		return fmt.Errorf("attribute %s: %w", doc.Name, err)
	}
	*a = Attribute{Name: string(doc.Name), Type: s.typ, JSON: string(doc.Document), Unreadable: string(doc.Unreadable)}
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

// checkSize returns an error if the data is not a whole number of elements.
func (a *Attribute) checkSize() error {
	if n := a.Type.Size; n > 0 && len(a.Data)%n != 0 {
		return fmt.Errorf("attribute %s: %d bytes are not a whole number of elements of %d bytes", a.Name, len(a.Data), n)
	}
	return nil
}

// maxAttribute limits the bytes of an attribute in memory: if its type has a long fixed size, each short
// text in the JSON needs that size.
const maxAttribute = 64 << 20

func (a *Attribute) addValue(s jsonType, value json.RawMessage) error {
	if len(a.Data) > maxAttribute-s.typ.Size {
		return fmt.Errorf("the values need more than %d bytes", maxAttribute)
	}
	element, err := s.parse(value)
	if err != nil {
		return err
	}
	if s.typ.Varies() {
		a.Texts = append(a.Texts, string(element))
		return nil
	}
	a.Data = append(a.Data, element...)
	return nil
}

// jsonType is the form of a type and its elements in JSON.
type jsonType struct {
	typ  codec.Type
	zarr *zarrjson.DataType // nil for a type that Zarr does not have
	json json.RawMessage    // the name or document of zarr
	raw  *typeDocument      // a type that Zarr does not have; nil if there is no type
}

// jsonTypeOf returns the form of a type in JSON: Zarr's if it has the type, else our own.
func jsonTypeOf(t codec.Type) jsonType {
	s := jsonType{typ: t}
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

// parseJSONType returns the type that zarr describes, or raw if zarr is nil, or no type if both are nil.
func parseJSONType(zarr json.RawMessage, raw *typeDocument) (s jsonType, err error) {
	switch {
	case zarr != nil:
		d, err := zarrjson.ParseDataType(zarr)
		if err != nil {
			return s, err
		}
		s.zarr, s.typ = &d, d.Type()
	case raw != nil:
		s.typ, err = raw.read(0)
	}
	return s, err
}

// element returns the JSON of one element, or nil if parsing that JSON would not give the same bits.
func (s *jsonType) element(value []byte) json.RawMessage {
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

func (s *jsonType) parse(text json.RawMessage) ([]byte, error) {
	if s.zarr == nil {
		return nil, fmt.Errorf("value %.40s has no data_type", text)
	}
	value, err := s.zarr.ParseFill(text)
	if err == nil && value == nil {
		value = []byte{}
	}
	return value, err
}

// elements returns the JSON of all values of an attribute. ok is false if Zarr's JSON cannot represent
// them exactly.
func (s *jsonType) elements(a *Attribute) (values []json.RawMessage, ok bool) {
	list := make([][]byte, 0, len(a.Texts))
	for _, t := range a.Texts {
		list = append(list, []byte(t))
	}
	switch {
	case s.zarr == nil || s.typ.Varies() && len(a.Data) > 0:
		return nil, false
	case !s.typ.Varies() && (len(a.Texts) > 0 || len(a.Data)%s.typ.Size != 0 || len(a.Data) > maxAttribute):
		return nil, false
	}
	for data := a.Data; len(data) > 0; data = data[s.typ.Size:] {
		list = append(list, data[:s.typ.Size])
	}
	values = make([]json.RawMessage, len(list))
	for i, element := range list {
		if values[i] = s.element(element); values[i] == nil {
			return nil, false
		}
	}
	return values, true
}

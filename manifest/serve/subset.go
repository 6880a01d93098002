package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest/internal/cf"
	"varve/manifest/present"
	"varve/manifest/store"
)

// A subset is a file with a selection of one or several arrays:
//
//	/GROUP/ARRAY?as=csv&time=2010-01/2010-03&lat=45:55&lon=7
//	/GROUP?as=nc&vars=t2m,msl&isel.time=0:10
//
// A parameter with the name of a dimension selects by coordinate, as "varve read --sel" does, and one with isel. before it by
// index, as --isel. sel. before a name is for dimensions with the name of another parameter.
const (
	subsetAs     = "as"
	subsetVars   = "vars"
	subsetDecode = "decode"
	indexPrefix  = "isel."
	labelPrefix  = "sel."
)

// subset is a request of a subset.
type subset struct {
	format        present.Format
	arrays        []*store.Array
	index, labels []string // terms of present.Select
	decode        bool
}

func badSubset(format string, args ...any) error {
	return &fault{Status: http.StatusBadRequest, Kind: "subset", Reason: fmt.Sprintf(format, args...)}
}

// isSubset reports whether a request for a node asks for a subset. All of a group as netCDF is none.
func isSubset(n node, asked *url.URL) bool {
	f, ok := present.FormatOf(asked.Query().Get(subsetAs))
	if !ok || f.IsDecoded {
		return false // pictures are drawn by servePlot
	}
	return n.array != nil || f.Name != "nc" || strings.Contains(asked.RawQuery, "&")
}

// subsetOf reads a subset from a query.
func (s *site) subsetOf(st *store.Store, n node, query url.Values) (*subset, error) {
	sub := &subset{}
	sub.format, _ = present.FormatOf(query.Get(subsetAs))
	names, err := s.subsetNames(n, strings.Join(query[subsetVars], ","))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		a, err := st.Array(name)
		if err != nil {
			return nil, badSubset("there is no array %.200q; %s are the names of arrays", name, subsetVars)
		}
		sub.arrays = append(sub.arrays, a)
	}
	switch text := query.Get(subsetDecode); text {
	case "":
	case "auto":
		sub.decode = !sub.format.IsPacked
	default:
		if sub.decode, err = strconv.ParseBool(text); err != nil {
			return nil, badSubset("%s=%.40q: want true, false or auto", subsetDecode, text)
		}
	}
	if sub.decode && sub.format.IsPacked {
		return nil, badSubset("a .%s file keeps numbers packed, with scale_factor and add_offset; remove %s", sub.format.Name, subsetDecode)
	}
	for key, values := range query {
		if key == subsetAs || key == subsetVars || key == subsetDecode {
			continue
		}
		for _, value := range values {
			dim, isIndex := strings.CutPrefix(key, indexPrefix)
			switch {
			case value == "": // an empty field of a form
			case isIndex:
				sub.index = append(sub.index, dim+"="+value)
			default:
				dim = strings.TrimPrefix(key, labelPrefix)
				sub.labels = append(sub.labels, dim+"="+s.interval(sub.arrays, dim, value))
			}
		}
	}
	slices.Sort(sub.index)
	slices.Sort(sub.labels)
	return sub, nil
}

// subsetNames returns the paths of the arrays of a subset. Without names they are all arrays of the group that are no
// coordinates and no bounds of coordinates.
func (s *site) subsetNames(n node, vars string) (names []string, err error) {
	switch {
	case n.array != nil && vars != "":
		return nil, badSubset("%s is an array; give %s at the address of its group", n.array.Path(), subsetVars)
	case n.array != nil:
		return []string{n.array.Path()}, nil
	case vars != "":
		for name := range strings.SplitSeq(vars, ",") {
			names = append(names, path.Join("/", n.path, strings.TrimSpace(name)))
		}
		return names, nil
	}
	bounds := map[string]bool{}
	for _, m := range s.nodes {
		if m.array != nil && parentOf(m.path) == n.path {
			for _, role := range cf.BoundsRoles {
				bounds[cf.TextIn(m.array.Schema().Attributes, role)] = true
			}
		}
	}
	for _, m := range s.nodes {
		if m.array != nil && parentOf(m.path) == n.path && !cf.IsCoordinate(m.array) && !bounds[path.Base(m.path)] {
			names = append(names, m.array.Path())
		}
	}
	if len(names) == 0 {
		return nil, badSubset("the group /%s has no arrays; name some with %s", n.path, subsetVars)
	}
	return names, nil
}

// interval returns a value as a label or range. FIRST/LAST, as ISO 8601 writes intervals, is FIRST:LAST, except along texts.
func (s *site) interval(arrays []*store.Array, dim, value string) string {
	for _, a := range arrays {
		if c := s.coordinate(a, dim); c != nil {
			switch c.Schema().DataType.Type().Kind {
			case codec.String, codec.FixedBytes, codec.FixedUTF32:
				return value
			}
		}
	}
	first, last, ok := strings.Cut(value, "/")
	if !ok || strings.Contains(last, "/") {
		return value
	}
	open := func(end string) string { return strings.TrimPrefix(end, "..") }
	return open(first) + ":" + open(last)
}

// subsetForm is the form of a page that asks for a subset.
type subsetForm struct {
	Vars    []string // names of arrays in a group
	Dims    []subsetDim
	Formats []string
}

// subsetDim is a dimension of a form.
type subsetDim struct {
	Name, Parameter string
	Ends            string // the first and last label
}

// maxVars is the largest number of arrays of a group for which a page has a form.
const maxVars = 200

// subsetForm returns the form for an array, or for the arrays of a group; nil if there are none, or too many.
func (s *site) subsetForm(ctx context.Context, n node) *subsetForm {
	if _, ok := s.data.(storeDataset); !ok {
		return nil
	}
	form := &subsetForm{}
	for _, f := range present.FormatNames() {
		if of, _ := present.FormatOf(f); !of.IsDecoded {
			form.Formats = append(form.Formats, f)
		}
	}
	names, err := s.subsetNames(n, "")
	if err != nil || len(names) > maxVars {
		return nil
	}
	for _, m := range s.nodes {
		if m.array == nil || !slices.Contains(names, m.array.Path()) {
			continue
		}
		if n.array == nil {
			form.Vars = append(form.Vars, path.Base(m.path))
		}
		for _, dim := range m.array.Schema().Dims() {
			if slices.ContainsFunc(form.Dims, func(d subsetDim) bool { return d.Name == dim }) || len(form.Dims) >= maxDims {
				continue
			}
			d := subsetDim{Name: dim, Parameter: dim}
			c := s.coordinate(m.array, dim)
			if c != nil && len(form.Dims) < maxPreviews {
				if first, last := s.ends(ctx, c); first != "" {
					d.Ends = first + " to " + last
				}
			}
			switch {
			case c == nil:
				d.Parameter = indexPrefix + dim
			case dim == subsetAs || dim == subsetVars || dim == subsetDecode || strings.HasPrefix(dim, indexPrefix) || strings.HasPrefix(dim, labelPrefix):
				d.Parameter = labelPrefix + dim
			}
			form.Dims = append(form.Dims, d)
		}
	}
	return form
}

// serveSubset answers with a subset.
func (h *Handler) serveSubset(w http.ResponseWriter, r *http.Request, at *address, s *site, n node) {
	note(w, kindData)
	data, ok := s.data.(storeDataset)
	if !ok {
		refuse(w, r, errNoKey)
		return
	}
	// A term that is left out would select more than was asked for.
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		refuse(w, r, &fault{Status: http.StatusBadRequest, Kind: "subset", Reason: fmt.Sprintf("%v; write %% as %%25, and ; as %%3B", err)})
		return
	}
	sub, err := s.subsetOf(data.Store, n, query)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	etag := tagOf("subset", []byte(s.data.Snapshot().ID), []byte(n.path), []byte(r.URL.RawQuery), []byte(h.opts.Version))
	if answerConditional(w, r, etag) {
		return
	}
	o, err := h.prepare(r.Context(), s, data.Store, sub)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", sub.format.Media)
	header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": sub.fileName(at.datasetName())}))
	err = s.stream(w, r, etag, o.Size, o.About, func(ctx context.Context, w io.Writer) error {
		if o.Size < 0 {
			w = &limitedWriter{w, h.opts.MaxAnswer, h.opts.MaxAnswer}
		}
		return o.Write(ctx, w)
	})
	if err != nil {
		header.Del("Content-Disposition")
		header.Del("Content-Length")
		s.fail(w, r, err)
	}
}

// prepare selects the elements of a subset, and refuses one that is too large.
func (h *Handler) prepare(ctx context.Context, s *site, st *store.Store, sub *subset) (*present.Output, error) {
	// To select by label takes the values of coordinates, about 16 bytes for each.
	memory := int64(64 << 10)
	for _, a := range sub.arrays {
		for axis, dim := range a.Schema().Dims() {
			if slices.ContainsFunc(sub.labels, func(term string) bool { return strings.HasPrefix(term, dim+"=") }) {
				memory += 16 * a.Grid().Shape()[axis]
			}
		}
	}
	done, ok := s.create(ctx, memory)
	if !ok {
		return nil, errBusy
	}
	defer done()
	selections, err := present.SelectAll(ctx, st, sub.arrays, sub.index, sub.labels)
	if err != nil {
		return nil, subsetFault(err)
	}
	for _, selection := range selections {
		selection.BlockBytes = 4 << 20
	}
	o, err := sub.format.Output(ctx, st, sub.decode, selections...)
	if err != nil {
		return nil, subsetFault(err)
	}
	if o.About > h.opts.MaxAnswer {
		return nil, &fault{Status: http.StatusRequestEntityTooLarge, Kind: "too large",
			Reason: fmt.Sprintf("the answer would have about %s, and the limit is %s (--max-answer); select less, such as isel.%s=0:10", byteSize(o.About), byteSize(h.opts.MaxAnswer), longestDim(selections))}
	}
	return o, nil
}

// longestDim returns the dimension along which most is selected.
func longestDim(selections []*present.Selection) string {
	longest := present.Axis{}
	for _, s := range selections {
		for _, x := range s.Axes {
			if x.Len() > longest.Len() {
				longest = x
			}
		}
	}
	return longest.Dim
}

// subsetFault returns the fault of a selection or a format that does not fit the arrays, and other errors as they are.
func subsetFault(err error) error {
	var selection *present.SelectionError
	if errors.As(err, &selection) || errors.Is(err, errors.ErrUnsupported) {
		return &fault{Status: http.StatusBadRequest, Kind: "subset", Reason: err.Error()}
	}
	return err
}

// fileName returns the name under which a browser saves a subset.
func (sub *subset) fileName(dataset string) string {
	name := dataset
	if len(sub.arrays) <= 3 {
		for _, a := range sub.arrays {
			name += "_" + path.Base(a.Path())
		}
	}
	return name + "." + sub.format.Name
}

// limitedWriter returns an error after a number of bytes.
type limitedWriter struct {
	io.Writer
	left, limit int64
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, &fault{Status: http.StatusRequestEntityTooLarge, Kind: "too large", Reason: fmt.Sprintf("the answer has more than %s, the limit of --max-answer; select less", byteSize(l.limit))}
	}
	return l.Writer.Write(p)
}

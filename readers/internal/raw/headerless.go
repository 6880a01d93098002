package raw

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/readers"
	"varve/readers/internal/naming"
	"varve/readers/source"
)

// rawOption describes arrays without a header.
const rawOption = "raw"

// Headerless describes files that are nothing but elements: an option says their type and shape. Files of other formats stay theirs.
//
//	--raw 'dtype=>f4,shape=720x1440,offset=0,order=C,dims=lat/lon,name=sst'
func Headerless() readers.Format {
	return readers.Format{
		Name:    "headerless",
		Options: []readers.Option{{Name: rawOption, Kind: readers.OptionText, Scope: readers.ForManifest, Check: checkSpec, Help: "read files of no known format as arrays: `dtype=>f4,shape=720x1440` (offset, order, dims, name)"}},
		New: func(c *readers.Config) readers.Reader {
			spec := c.Settings.Word(rawOption)
			h := headerless{isSet: spec != ""}
			if h.isSet {
				h.array, _ = parseSpec(spec) // checkSpec has refused others
			}
			return h
		},
	}
}

type headerless struct {
	isSet bool
	array *array
}

// Finds reports whether a source has the format: every file has it if the option is set.
func (h headerless) Finds(ctx context.Context, src *source.Source) (bool, error) {
	return h.isSet && !src.IsFolder(), ctx.Err()
}

// Open compares the size of a source with the option.
func (h headerless) Open(ctx context.Context, src *source.Source) (*readers.Dataset, error) {
	b := newBuilder(src, "headerless")
	if h.array == nil || src.IsFolder() {
		return nil, b.fail(0, "not an array: the option --%s does not describe it", rawOption)
	}
	a := *h.array
	a.shape = append([]uint64(nil), a.shape...)
	for k, n := range a.shape {
		if n != anyLength {
			continue
		}
		a.shape[k] = 1
		size, ok := bytesOf(a.shape, a.typ.Size)
		if have := max(uint64(src.Size()), a.offset) - a.offset; !ok || size == 0 || have == 0 || have%size != 0 {
			return nil, b.fail(int64(min(a.offset, uint64(src.Size()))), "%d bytes after offset %d are no multiple of the %d bytes of %v elements of %s", have, a.offset, size, a.shape, a.typ)
		}
		a.shape[k] = (uint64(src.Size()) - a.offset) / size
	}
	_, err := b.add(&a)
	return b.out, err
}

// anyLength is a length that follows from the size of the file.
const anyLength = 1<<64 - 1

func checkSpec(spec string) error {
	_, err := parseSpec(spec)
	return err
}

// parseSpec decodes the value of the option: words KEY=VALUE between commas.
func parseSpec(spec string) (*array, error) {
	a := &array{name: dataName}
	seen := map[string]bool{}
	fortran := false
	for word := range strings.SplitSeq(spec, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(word), "=")
		if !ok || value == "" || seen[key] {
			return nil, fmt.Errorf("%q: want KEY=VALUE, each key once, such as dtype=>f4,shape=720x1440", word)
		}
		seen[key] = true
		var err error
		switch key {
		case "dtype":
			a.typ, a.big, err = typeNamed(quoted(value))
		case "shape":
			err = a.setShape(value)
		case "offset":
			a.offset, err = strconv.ParseUint(value, 10, 62)
		case "order":
			if fortran = value == "F"; value != "C" && value != "F" {
				err = fmt.Errorf("want C or F")
			}
		case "dims":
			for name := range strings.SplitSeq(value, "/") {
				if name == "" || slices.Contains(a.dims, name) {
					err = fmt.Errorf("want different names with slashes between them")
				}
				a.dims = append(a.dims, name)
			}
		case "name":
			a.name = naming.Clean(value)
		default:
			err = fmt.Errorf("known are dtype, shape, offset, order, dims and name")
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", key, value, err)
		}
	}
	switch {
	case a.typ == nil || !seen["shape"]:
		return nil, fmt.Errorf("%q: dtype and shape are needed, such as dtype=>f4,shape=720x1440", spec)
	case !seen["dims"]:
		a.anonymous = true
		for k := range a.shape {
			a.dims = append(a.dims, fmt.Sprint("dim_", k))
		}
	case len(a.dims) != len(a.shape):
		return nil, fmt.Errorf("dims=%s: %d names for %d lengths", strings.Join(a.dims, "/"), len(a.dims), len(a.shape))
	}
	if fortran {
		a.order = reversed(len(a.shape))
	}
	return a, nil
}

// setShape decodes lengths with x between them. One may be *: it follows from the size of the file.
func (a *array) setShape(text string) error {
	hasAny := false
	for word := range strings.SplitSeq(text, "x") {
		n, err := strconv.ParseUint(word, 10, 62)
		if word == "*" && !hasAny {
			hasAny, n, err = true, anyLength, nil
		}
		if err != nil || n == 0 || len(a.shape) == maxRank {
			return fmt.Errorf("want up to %d lengths from 1 with x between them; one may be *", maxRank)
		}
		a.shape = append(a.shape, n)
	}
	return nil
}

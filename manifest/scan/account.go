package scan

import (
	"math"
	"path"
	"slices"

	"varve/manifest"
	"varve/readers"
)

// request says what to read of a source in addition to headers and small values.
type request struct {
	indexes bool    // read the indexes of all variables, not only of wanted values
	stream  *stream // receives rows while they are read; nil returns all rows with the result
	held    *holding
}

// account collects the variables of a source: their headers, refs and small values.
type account struct {
	*opened
	asked  request
	found  *found
	header *manifest.Header
	known  map[*readers.Dimension]bool // dimensions in the header
	others others
	handed int64 // bytes referenced by rows that were passed on
}

func newAccount(o *opened, asked request) *account {
	return &account{
		opened: o, asked: asked,
		found:  &found{url: o.url, file: &manifest.File{}, refs: newRefs()},
		header: &manifest.Header{},
		known:  map[*readers.Dimension]bool{},
	}
}

func (a *account) addDimension(d *readers.Dimension) {
	if a.known[d] {
		return
	}
	a.known[d] = true
	a.header.Dimensions = append(a.header.Dimensions, manifest.Dimension{
		Path: d.Path, Length: int64(min(d.Length, math.MaxInt64)), Unlimited: d.Unlimited, Anonymous: d.Anonymous,
	})
}

// addGuess adds an anonymous dimension for an axis whose dimension the source does not name, and returns its
// path. The path is the path of taken, which netCDF assumes, with a "#". like are all dimensions that it may be.
func (a *account) addGuess(taken *readers.Dimension, like []*readers.Dimension) string {
	group, name := path.Split(taken.Path)
	for at := group + "#" + name; ; at += "#" {
		i := slices.IndexFunc(a.header.Dimensions, func(d manifest.Dimension) bool { return d.Path == at })
		if i >= 0 && a.header.Dimensions[i].Like != nil {
			return at
		}
		if i >= 0 {
			continue // a dimension of the source has this name
		}
		guess := manifest.Dimension{Path: at, Length: int64(min(taken.Length, math.MaxInt64)), Unlimited: taken.Unlimited, Anonymous: true, Like: []string{taken.Path}}
		for _, d := range like {
			if d != taken {
				guess.Like = append(guess.Like, d.Path)
			}
		}
		a.header.Dimensions = append(a.header.Dimensions, guess)
		return at
	}
}

// addInline stores bytes and returns the offset of a ref to them. It takes ownership of b.
func (a *account) addInline(b []byte) int64 {
	a.found.inline = append(a.found.inline, b)
	return manifest.InlineRow(int64(len(a.found.inline) - 1))
}

// others numbers the sources to which refs of one source point.
type others struct {
	last   *readers.Other // the last result: consecutive refs usually point to the same source
	number int32
	known  map[string]int32
	sizes  []int64 // of each, as it is read: a packed file has another size than its outer file
}

// other returns the number of a source among the others, starting at 1.
func (a *account) other(x *readers.Other) (int32, error) {
	o := &a.others
	if x == o.last {
		return o.number, nil
	}
	k, ok := o.known[x.Source]
	if !ok {
		src, size, err := a.identify(x)
		if err != nil {
			return 0, err
		}
		a.found.others, o.sizes = append(a.found.others, src), append(o.sizes, size)
		k = int32(len(a.found.others))
		if o.known == nil {
			o.known = map[string]int32{}
		}
		o.known[x.Source] = k
	}
	o.last, o.number = x, k
	return k, nil
}

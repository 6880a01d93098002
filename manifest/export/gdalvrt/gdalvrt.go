// Package gdalvrt writes a manifest as a multidimensional VRT of GDAL, an XML file that names parts of arrays in other files
// (https://gdal.org/drivers/raster/vrt_multidimensional.html):
//
//	<VRTDataset><Group name="/">
//	  <Dimension name="time" size="62" type="TEMPORAL" indexingVariable="/time"/>
//	  <Array name="sst"><DataType>Int16</DataType><DimensionRef ref="/time"/>…
//	    <Source>
//	      <SourceFilename>/archive/sst_02.nc</SourceFilename><SourceArray>/sst</SourceArray>
//	      <SourceSlab offset="0,0,0" count="31,90,180"/><DestSlab offset="31,0,0"/>
//	    </Source>
//	  </Array>
//	</Group></VRTDataset>
//
// GDAL reads the values from netCDF and HDF5 files with its own drivers. So an array becomes Sources only if the elements in its
// files are those of the array, bit for bit, and GDAL's view of the file has the same elements. Other arrays are written with
// their values if they are small, and else left out with the reason: see array.check.
//
// Values are the stored ones. scale_factor, add_offset, _FillValue and units become Scale, Offset, NoDataValue and Unit, which
// GDAL applies on request.
package gdalvrt

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"varve/manifest/internal/cf"
	"varve/manifest/internal/georef"
	"varve/manifest/store"
	"varve/zarrjson"
)

const (
	defaultInline = 1 << 16
	// maxElements is the largest number of elements of an array in the manifest.
	maxElements = 1 << 24
)

// Options are the options of Write.
type Options struct {
	// Folder is the folder of the VRT, if local sources are named relative to it. Empty means absolute names.
	Folder string
	// InlineElements is the largest number of elements of an array that is written with its values, if it cannot have sources. 0
	// means 65,536, a negative number none.
	InlineElements int64
}

// Result describes a VRT.
type Result struct {
	Arrays  int   // in the VRT
	Sources int64 // parts of arrays in files
	Inline  int   // arrays with values in the VRT
	Omitted []Omission
	// Assumed are the paths of arrays whose longitudes and latitudes are taken as WGS 84, because they have no grid mapping.
	Assumed []string
}

// Omission is why an array is not in the VRT, or is there without its coordinate reference system.
type Omission struct {
	Path string `json:"path"`
	Part string `json:"part"` // Values or System
	Why  string `json:"why"`
}

// What Omission.Part names.
const (
	Values = "values"
	System = "crs"
)

// writer writes a VRT.
type writer struct {
	out    *bufio.Writer
	err    error
	opts   *Options
	finder *georef.Finder
	groups map[string]*group
	arrays map[string]*array // that are written, by path
	Result
}

// group is a group of the VRT.
type group struct {
	name       string
	attributes zarrjson.Attributes
	dims       map[string]int64 // lengths, by name
	arrays     []*array
	groups     []string // paths
}

// Write writes the arrays of a store. It reads values of arrays that are written with them, and else only the manifest.
func Write(ctx context.Context, out io.Writer, st *store.Store, opts *Options) (*Result, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	o.InlineElements = cmp.Or(o.InlineElements, defaultInline)
	if err := st.Snapshot().CheckNames(); err != nil {
		return nil, err
	}
	w := &writer{out: bufio.NewWriter(out), opts: &o, finder: georef.NewFinder(st), groups: map[string]*group{}, arrays: map[string]*array{}}
	for _, g := range st.Groups() {
		w.group(path.Clean(g.Path)).attributes = g.Attributes
	}
	for _, a := range st.Arrays() {
		if err := w.add(ctx, a); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
	}
	if w.Arrays == 0 {
		return nil, w.nothing()
	}
	w.text("<VRTDataset>\n")
	if err := w.writeGroup(ctx, "/", 1); err != nil {
		return nil, err
	}
	w.text("</VRTDataset>\n")
	return &w.Result, errors.Join(w.err, w.out.Flush())
}

// nothing returns the error of a store without an array that a VRT can have.
func (w *writer) nothing() error {
	if len(w.Omitted) == 0 {
		return fmt.Errorf("the manifest has no arrays: %w", errors.ErrUnsupported)
	}
	first := w.Omitted[0]
	return fmt.Errorf("a VRT can have none of the %d arrays; %s: %s. Export a copy instead: varve export zarr: %w", len(w.Omitted), first.Path, first.Why, errors.ErrUnsupported)
}

// group returns a group, and adds it and its parents if they are new.
func (w *writer) group(of string) *group {
	if g := w.groups[of]; g != nil {
		return g
	}
	g := &group{name: path.Base(of), dims: map[string]int64{}}
	w.groups[of] = g
	if of != "/" {
		parent := w.group(path.Dir(of))
		parent.groups = append(parent.groups, of)
	}
	return g
}

// add adds an array to its group, or says why not.
func (w *writer) add(ctx context.Context, of *store.Array) error {
	a := &array{Array: of}
	err := a.check(ctx, w)
	var why *omitted
	switch {
	case errors.As(err, &why):
		w.Omitted = append(w.Omitted, Omission{of.Path(), Values, why.Error()})
		return nil
	case err != nil:
		return err
	}
	w.Arrays++
	w.Sources += a.sources
	if a.isInline {
		w.Inline++
	}
	w.arrays[of.Path()] = a
	g := w.group(path.Dir(of.Path()))
	g.arrays = append(g.arrays, a)
	w.place(a)
	return nil
}

// place chooses where the dimensions of an array are defined: in the group that the sources have them in, if this is the
// array's group or above it, or else in the array.
func (w *writer) place(a *array) {
	for axis, n := range a.Schema().Shape {
		name := a.Schema().Dim(axis)
		dim := dimension{name: name, length: n}
		if dims := a.Spec().Dims; axis < len(dims) && path.Base(dims[axis]) == name {
			owner := path.Dir(dims[axis])
			if owner == "/" || strings.HasPrefix(a.Path(), owner+"/") {
				g := w.group(owner)
				if known, exists := g.dims[name]; !exists || known == n {
					g.dims[name], dim.path = n, path.Join(owner, name)
				}
			}
		}
		a.dims = append(a.dims, dim)
	}
}

// dimension is a dimension of an array.
type dimension struct {
	name   string
	length int64
	path   string // where a group defines it; empty if the array does
}

// writeGroup writes a group. Dimensions come first, because arrays refer to those of groups that were read before.
func (w *writer) writeGroup(ctx context.Context, of string, depth int) error {
	g := w.groups[of]
	if g == nil {
		g = &group{}
	}
	name := g.name
	if of == "/" {
		name = "/"
	}
	w.open(depth, "Group", "name", name)
	for _, dim := range slices.Sorted(maps.Keys(g.dims)) {
		w.dimension(depth+1, dimension{dim, g.dims[dim], path.Join(of, dim)})
	}
	for name, value := range g.attributes.All() {
		w.attribute(depth+1, name, value)
	}
	for _, a := range g.arrays {
		if err := a.write(ctx, w, depth+1); err != nil {
			return fmt.Errorf("%s: %w", a.Path(), err)
		}
	}
	slices.Sort(g.groups)
	for _, below := range g.groups {
		if err := w.writeGroup(ctx, below, depth+1); err != nil {
			return err
		}
	}
	w.close(depth, "Group")
	return w.err
}

// dimension writes the definition of a dimension. Its type makes GDAL find x and y.
func (w *writer) dimension(depth int, d dimension) {
	pairs := []string{"name", d.name, "size", fmt.Sprint(d.length)}
	if c := w.arrays[d.path]; c != nil && cf.IsCoordinate(c.Array) && c.Schema().Shape[0] == d.length {
		if kind := kinds[cf.RoleOf(c.Path(), c.Schema())]; kind != "" {
			pairs = append(pairs, "type", kind)
		}
		pairs = append(pairs, "indexingVariable", d.path)
	}
	w.element(depth, "Dimension", "", pairs...)
}

// kinds are GDAL's types of dimensions.
var kinds = map[cf.Role]string{
	cf.LongitudeRole: "HORIZONTAL_X", cf.XRole: "HORIZONTAL_X", cf.LatitudeRole: "HORIZONTAL_Y", cf.YRole: "HORIZONTAL_Y", cf.ZRole: "VERTICAL", cf.TimeRole: "TEMPORAL",
}

// Package conventions describes datasets by three conventions of Zarr: spatial, proj and multiscales
// (https://github.com/zarr-conventions). Programs that know them find the cells of arrays and their coordinate reference
// system without CF's coordinates and grid mappings. A fourth one, gdal, is the attribute _CRS that GDAL writes and reads itself:
// its versions before 3.9 find no system otherwise.
//
// An array on a grid (see package georef) gets these attributes:
//
//	zarr_conventions                the conventions that describe it
//	spatial:dimensions, shape       its rows and columns
//	spatial:transform, bbox         their positions, of the edges of cells
//	proj:code or proj:wkt2          the coordinate reference system
//	_CRS                            the same for GDAL
//
// A group whose members are one dataset at several resolutions gets the attribute multiscales: see levels.
//
// What cannot be described is left out, and Omission says why. Attributes that a dataset already has are kept.
package conventions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/crs"
	"varve/manifest/internal/georef"
	"varve/manifest/store"
	"varve/zarrjson"
)

// Name is the name of a convention.
type Name string

// The conventions.
const (
	Spatial     Name = "spatial"
	Proj        Name = "proj"
	Multiscales Name = "multiscales"
	GDAL        Name = "gdal"
)

// Names are all conventions of Zarr, in the order in which they are written. They are for format 3 only; GDAL is for both formats.
var Names = []Name{Spatial, Proj, Multiscales}

// known are all names that a Set can have.
var known = append(slices.Clone(Names), GDAL)

// Set is the conventions that were asked for.
type Set []Name

// Parse returns the conventions of a list of names. The name all stands for Names.
func Parse(names []string) (set Set, err error) {
	for _, name := range names {
		switch {
		case name == "all":
			set = append(set, Names...)
		case slices.Contains(known, Name(name)):
			set = append(set, Name(name))
		default:
			return nil, fmt.Errorf("%q: want spatial, proj, multiscales, all of these, or gdal", name)
		}
	}
	slices.SortFunc(set, func(a, b Name) int { return slices.Index(known, a) - slices.Index(known, b) })
	return slices.Compact(set), nil
}

// String returns the names, separated by commas.
func (s Set) String() string {
	names := make([]string, len(s))
	for i, name := range s {
		names[i] = string(name)
	}
	return strings.Join(names, ",")
}

func (s Set) has(name Name) bool { return slices.Contains(s, name) }

// NeedsFormat3 reports whether a convention is only for format 3 of Zarr.
func (s Set) NeedsFormat3() bool {
	return slices.ContainsFunc(s, func(name Name) bool { return name != GDAL })
}

// Description is the attributes that describe a dataset.
type Description struct {
	Arrays map[string]zarrjson.Attributes // by path: all attributes of the arrays that are described
	Groups map[string]zarrjson.Attributes
	// Omitted lists what has no description and why, in the order of the arrays and conventions.
	Omitted []Omission
	// Assumed are the paths of arrays of longitudes and latitudes that are described as WGS 84, because they have no grid mapping.
	Assumed []string
}

// Omission is why an array or a group is not described by a convention.
type Omission struct {
	Path       string `json:"path"`
	Convention Name   `json:"convention"`
	Why        string `json:"why"`
}

// described is an array on a grid.
type described struct {
	*store.Array
	grid *georef.Grid
}

// Describe returns the attributes by which conventions describe a dataset. It reads the coordinates of grids.
func Describe(ctx context.Context, st *store.Store, set Set) (*Description, error) {
	d := &Description{Arrays: map[string]zarrjson.Attributes{}, Groups: map[string]zarrjson.Attributes{}}
	if len(set) == 0 {
		return d, nil
	}
	finder := georef.NewFinder(st)
	var list []described
	for _, a := range st.Arrays() {
		g, err := finder.Of(ctx, a)
		switch {
		case errors.Is(err, georef.ErrNoGrid):
			continue
		case errors.Is(err, errors.ErrUnsupported):
			for _, name := range []Name{Spatial, Proj, GDAL} {
				if set.has(name) && !isDeclared(a.Attributes(), name) {
					d.omit(a.Path(), name, err)
					break // the reason is the same
				}
			}
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
		list = append(list, described{a, g})
		if err := d.array(a, g, set); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
	}
	if set.has(Multiscales) {
		if err := d.levels(st, list, set); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// In returns groups with the attributes that describe them, sorted by path. Groups that occur only in paths are added.
func (d *Description) In(groups []manifest.GroupSchema) []manifest.GroupSchema {
	groups = slices.Clone(groups)
	for _, path := range slices.Sorted(maps.Keys(d.Groups)) {
		i := slices.IndexFunc(groups, func(g manifest.GroupSchema) bool { return g.Path == path })
		if i < 0 {
			i = len(groups)
			groups = append(groups, manifest.GroupSchema{Path: path})
		}
		groups[i].Attributes = d.Groups[path]
	}
	slices.SortFunc(groups, func(a, b manifest.GroupSchema) int { return strings.Compare(a.Path, b.Path) })
	return groups
}

func (d *Description) omit(path string, name Name, why error) {
	d.Omitted = append(d.Omitted, Omission{path, name, why.Error()})
}

// array describes an array.
func (d *Description) array(a *store.Array, g *georef.Grid, set Set) error {
	w := &writer{d: d, path: a.Path(), attributes: a.Attributes()}
	if set.has(Spatial) && w.declare(Spatial) {
		w.spatial(g)
	}
	switch {
	case !set.has(Proj):
	case g.CRS == nil:
		if !isDeclared(w.attributes, Proj) {
			d.omit(a.Path(), Proj, g.Unknown)
		}
	case w.declare(Proj):
		w.proj(g.CRS)
		if g.IsAssumed {
			d.Assumed = append(d.Assumed, a.Path())
		}
	}
	switch {
	case !set.has(GDAL) || isDeclared(w.attributes, GDAL):
	case g.CRS == nil:
		d.omit(a.Path(), GDAL, g.Unknown)
	default:
		w.gdal(g.CRS)
		if g.IsAssumed && !slices.Contains(d.Assumed, a.Path()) {
			d.Assumed = append(d.Assumed, a.Path())
		}
	}
	if w.err == nil && w.isChanged {
		d.Arrays[a.Path()] = w.attributes
	}
	return w.err
}

// writer adds attributes of conventions to an array or a group.
type writer struct {
	d          *Description
	path       string
	attributes zarrjson.Attributes
	isChanged  bool
	err        error
}

// spatial adds the positions of a grid.
func (w *writer) spatial(g *georef.Grid) {
	w.set("spatial:dimensions", []string{g.Y.Dim, g.X.Dim})
	w.set("spatial:shape", []int64{g.Y.Length, g.X.Length})
	w.set("spatial:bbox", g.Bounds())
	w.set("spatial:transform_type", "affine")
	w.set("spatial:registration", "pixel")
	w.set("spatial:transform", g.Transform())
}

func (w *writer) proj(c *crs.CRS) {
	if c.Code != "" {
		w.set("proj:code", c.Code)
	} else {
		w.set("proj:wkt2", c.WKT2)
	}
}

// gdal adds the system for GDAL's driver of Zarr.
func (w *writer) gdal(c *crs.CRS) {
	member, text := "wkt", c.WKT2
	if authority, code, ok := strings.Cut(c.Code, ":"); ok {
		member, text = "url", "http://www.opengis.net/def/crs/"+authority+"/0/"+code
	}
	w.set(gdalAttribute, map[string]string{member: text})
}

// gdalAttribute is the attribute of GDAL's driver of Zarr: https://gdal.org/drivers/raster/zarr.html, "SRS encoding".
const gdalAttribute = "_CRS"

func (w *writer) set(name string, value any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = w.attributes.Set(name, text)
	}
	w.err, w.isChanged = errors.Join(w.err, err), true
}

// registration is an entry of the attribute zarr_conventions.
type registration struct {
	Schema      string `json:"schema_url"`
	Spec        string `json:"spec_url"`
	UUID        string `json:"uuid"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// version is the tag of the specifications that this package follows.
const version = "v0.1"

func registrationOf(name Name) registration {
	known := map[Name]registration{
		Spatial:     {UUID: "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4", Description: "Spatial coordinate information"},
		Proj:        {UUID: "f17cb550-5864-4468-aeb7-f3180cfb622f", Description: "Coordinate reference system information for geospatial data"},
		Multiscales: {UUID: "d35379db-88df-4056-af3a-620245f8e347", Description: "Multiscale layout of zarr datasets"},
	}[name]
	known.Name = string(name)
	known.Schema = "https://raw.githubusercontent.com/zarr-conventions/" + known.Name + "/refs/tags/" + version + "/schema.json"
	known.Spec = "https://github.com/zarr-conventions/" + known.Name + "/blob/" + version + "/README.md"
	return known
}

// declare adds a convention to zarr_conventions. It returns false if the dataset has attributes of the convention, which are kept.
// If the dataset does not declare the convention, they may mean something else, and are an Omission.
func (w *writer) declare(name Name) bool {
	if isDeclared(w.attributes, name) {
		return false
	}
	var list []json.RawMessage
	if was, ok := w.attributes.Get("zarr_conventions"); ok && json.Unmarshal(was, &list) != nil {
		w.d.omit(w.path, name, errors.New("its attribute zarr_conventions is not a list of conventions"))
		return false
	}
	for attribute := range w.attributes.All() {
		if attribute == string(Multiscales) && name == Multiscales || strings.HasPrefix(attribute, string(name)+":") {
			w.d.omit(w.path, name, fmt.Errorf("it already has the attribute %s", attribute))
			return false
		}
	}
	entry, err := json.Marshal(registrationOf(name))
	w.err = errors.Join(w.err, err)
	w.set("zarr_conventions", append(list, entry))
	return w.err == nil
}

// isDeclared reports whether attributes declare a convention, by its UUID or one of its addresses.
func isDeclared(attributes zarrjson.Attributes, name Name) bool {
	if name == GDAL { // it is not registered
		_, ok := attributes.Get(gdalAttribute)
		return ok
	}
	r := registrationOf(name)
	var list []json.RawMessage
	if was, ok := attributes.Get("zarr_conventions"); !ok || json.Unmarshal(was, &list) != nil {
		return false
	}
	return slices.ContainsFunc(list, func(item json.RawMessage) bool {
		var other registration
		if json.Unmarshal(item, &other) != nil {
			return false
		}
		isAt := func(address string) bool { return strings.Contains(address, "/zarr-conventions/"+r.Name+"/") }
		return other.UUID == r.UUID || other.UUID == "" && (isAt(other.Schema) || isAt(other.Spec))
	})
}

// groupOf returns the attributes of a group, which may occur only in paths.
func groupOf(st *store.Store, group string) zarrjson.Attributes {
	for _, g := range st.Groups() {
		if path.Clean(g.Path) == group {
			return g.Attributes
		}
	}
	return zarrjson.Attributes{}
}

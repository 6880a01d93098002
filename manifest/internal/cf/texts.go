package cf

// IsOneText reports whether CF or netCDF defines an attribute as a single text. Some HDF5 writers store
// it as a list of one text.
//
// The list has the attributes of type S in appendix A of CF, and two attributes of netCDF.
func IsOneText(name string) bool { return oneText[name] }

var oneText = map[string]bool{
	"ancillary_variables": true, "axis": true, "bounds": true, CalendarName: true, "cell_measures": true, "cell_methods": true,
	"cf_role": true, "climatology": true, "comment": true, "compress": true, "Conventions": true, "coordinates": true,
	"external_variables": true, "featureType": true, "flag_meanings": true, "formula_terms": true, "geometry": true,
	"geometry_type": true, "grid_mapping": true, "history": true, "instance_dimension": true, "institution": true,
	"interior_ring": true, "long_name": true, "node_coordinates": true, "node_count": true, "nodes": true, "part_node_count": true,
	"positive": true, "references": true, "sample_dimension": true, "source": true, "standard_name": true, "title": true,
	UnitsName: true, "units_metadata": true,
	"_Encoding": true, Unsigned: true,
}

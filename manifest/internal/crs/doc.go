// Package crs describes coordinate reference systems of grids, from the attributes of CF's grid mappings (CF 1.11, section 5.6
// and appendix F) and of rioxarray's and GDAL's variable spatial_ref.
//
// The sources of a description, in this order:
//
//	crs_wkt, spatial_ref   well-known text: its code, such as EPSG:32633, or the text itself if it is WKT 2
//	epsg_code              a code
//	grid_mapping_name      the parameters of CF, as WKT 2
//
// Texts of WKT 1 have other names of projections and parameters than WKT 2, and programs differ in how they read them. So a
// text of WKT 1 without a code is not used, and CF's parameters are.
//
// A description is exact or it is refused: the figure of the earth and the parameters that CF demands have no defaults. The only
// exceptions are longitudes and latitudes. Files seldom say on which datum they are, and the difference is small at the
// resolution of grids, so they are WGS 84 unless the grid mapping says something else. A name of a datum or of an ellipsoid that is
// not known says something else, and is refused if there are no axes.
package crs

// Package crs describes the coordinate reference systems (CRS) of grids that are known by codes of the EPSG dataset, by the
// parameters of a projection, or by a well-known text of ESRI. It writes them as WKT 2 and as the attributes of a CF grid
// mapping.
//
//	EPSG code 32633 ──┐
//	parameters ───────┼─ System ─┬─ WKT:         PROJCRS["WGS 84 / UTM zone 33N", …]
//	PROJCS[…] ────────┘          └─ GridMapping: grid_mapping_name = "transverse_mercator", …
//
// The EPSG dataset is embedded as compressed text, which is expanded when the first code is looked up.
//
// Specification: ISO 19162:2019 (WKT 2); OGC 01-009 (WKT 1) as GDAL and ESRI write it; CF 1.11, section 5.6 and appendix F.
package crs

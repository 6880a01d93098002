// Package cf interprets the attributes of variables by the CF conventions, as xarray and cftime do:
// packing, missing data, times and calendars, and which array is the coordinate of a
// dimension.
//
//	short t2m(time)                              Packing
//	    _Unsigned = "true"                         int16 is read as uint16
//	    scale_factor = 0.01f                       stored × 0.01 + 273.15
//	    add_offset = 273.15
//	    _FillValue = -1s                           65535 is missing
//	    missing_value = -2s, -3s                   so are 65534 and 65533
//	double time(time)                            Times
//	    units = "hours since 1990-1-1 +02:00"      Units: 3600 s since an Instant
//	    calendar = "gregorian"                     Calendar: Standard
//
// valid_min, valid_max and valid_range mask nothing, as in xarray.
//
// Sections of the conventions: 2.1 and 5 coordinates, 2.5.1 missing data, 4.4 time coordinate, 4.4.1
// calendar, 7.1 cell boundaries, 8.1 packed data. _Unsigned is defined in the NetCDF Users Guide.
package cf

// Package cf knows what the attributes of a variable mean by the CF conventions, as xarray
// and cftime read them: what stored numbers stand for, which of them stand for nothing, and
// which moments times are; and which array is the coordinate of a dimension.
//
//	short t2m(time)                              Packing
//	    _Unsigned = "true"                         int16 is uint16
//	    scale_factor = 0.01f                       stored × 0.01 + 273.15
//	    add_offset = 273.15
//	    _FillValue = -1s                           65535 is no number
//	    missing_value = -2s, -3s                   nor are these
//	double time(time)                            Times
//	    units = "hours since 1990-1-1 +02:00"      Units: 3600 s since an Instant
//	    calendar = "gregorian"                     Calendar: Standard
//
// valid_min, valid_max and valid_range say what is likely and mask nothing, as in xarray.
//
// Sections of the conventions: 2.1 and 5 coordinates, 2.5.1 missing data, 4.4 time coordinate, 4.4.1 calendar, 7.1
// cell boundaries, 8.1 packed data; _Unsigned is of the NetCDF Users Guide.
package cf

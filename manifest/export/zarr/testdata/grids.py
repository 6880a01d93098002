"""Makes netCDF files of grids (make DIR), and compares their exported copies with GDAL (check DIR).

GDAL reads each file with its netCDF driver, which has its own code for CF's grid mappings, and each copy with its Zarr driver.
The attributes of the conventions must give the corners and the system that GDAL finds.
"""

import json
import pathlib
import sys

import netCDF4
import numpy as np
import rasterio
import rasterio.warp
from rasterio.crs import CRS

WGS84 = {"semi_major_axis": 6378137.0, "inverse_flattening": 298.257223563}
GRS80 = {"semi_major_axis": 6378137.0, "inverse_flattening": 298.257222101}

# Name: grid mapping, x, y, attributes of x and y, whether GDAL's netCDF driver finds the same system.
PLANE = {"units": "m"}
GRIDS = {
    "utm": ({"grid_mapping_name": "transverse_mercator", "latitude_of_projection_origin": 0.0, "longitude_of_central_meridian": 9.0,
             "scale_factor_at_central_meridian": 0.9996, "false_easting": 500000.0, "false_northing": 0.0, **WGS84},
            np.arange(400015.0, 400315, 30), np.arange(5100585.0, 5100285, -30), PLANE),
    "polar": ({"grid_mapping_name": "polar_stereographic", "latitude_of_projection_origin": -90.0, "straight_vertical_longitude_from_pole": 0.0,
               "standard_parallel": -71.0, "false_easting": 0.0, "false_northing": 0.0, **WGS84},
              np.arange(-3943.75, -3843, 12.5), np.arange(4343.75, 4243, -12.5), {"units": "km"}),
    "lambert": ({"grid_mapping_name": "lambert_conformal_conic", "latitude_of_projection_origin": 38.5, "longitude_of_central_meridian": -97.5,
                 "standard_parallel": 38.5, "earth_radius": 6371229.0, "false_easting": 0.0, "false_northing": 0.0},
                np.arange(-30000.0, 30001, 3000), np.arange(-21000.0, 21001, 3000), PLANE),
    "lambert2": ({"grid_mapping_name": "lambert_conformal_conic", "latitude_of_projection_origin": 46.5, "longitude_of_central_meridian": 3.0,
                  "standard_parallel": [49.0, 44.0], "false_easting": 700000.0, "false_northing": 6600000.0, **GRS80},
                 np.arange(700500.0, 710501, 1000), np.arange(6650500.0, 6640499, -1000), PLANE),
    "albers": ({"grid_mapping_name": "albers_conical_equal_area", "latitude_of_projection_origin": 23.0, "longitude_of_central_meridian": -96.0,
                "standard_parallel": [29.5, 45.5], "false_easting": 0.0, "false_northing": 0.0, **GRS80},
               np.arange(15.0, 615, 30), np.arange(1500015.0, 1500615, 30), PLANE),
    "laea": ({"grid_mapping_name": "lambert_azimuthal_equal_area", "latitude_of_projection_origin": 52.0, "longitude_of_projection_origin": 10.0,
              "false_easting": 4321000.0, "false_northing": 3210000.0, **GRS80},
             np.arange(4000500.0, 4010501, 1000), np.arange(3100500.0, 3090499, -1000), PLANE),
    "sphere": ({"grid_mapping_name": "latitude_longitude", "earth_radius": 6371229.0},
               np.arange(-10.0, 10.1, 0.5), np.arange(-5.0, 5.1, 0.5), None),
}


def write(name, variables, attributes=None):
    with netCDF4.Dataset(name, "w") as d:
        for var, (dims, values, attrs) in variables.items():
            values = np.asarray(values)
            for dim, n in zip(dims, values.shape):
                if dim not in d.dimensions:
                    d.createDimension(dim, n)
            fill = attrs.pop("_FillValue", None) if "_FillValue" in attrs else None
            v = d.createVariable(var, values.dtype, dims, fill_value=fill)
            v.set_auto_maskandscale(False)
            v.setncatts(attrs)
            v[...] = values


def axes(x, y, attrs):
    sx, sy = ("projection_x_coordinate", "projection_y_coordinate")
    if attrs is None:
        return {"y": (("y",), y, {"units": "degrees_north", "standard_name": "latitude"}), "x": (("x",), x, {"units": "degrees_east", "standard_name": "longitude"})}
    return {"y": (("y",), y, {"standard_name": sy, **attrs}), "x": (("x",), x, {"standard_name": sx, **attrs})}


def field(*shape):
    return np.arange(np.prod(shape), dtype="f4").reshape(shape)


def make(folder):
    for name, (mapping, x, y, attrs) in GRIDS.items():
        write(folder / f"{name}.nc", {**axes(x, y, attrs), "crs": ((), np.int32(0), mapping),
                                      "v": (("y", "x"), field(len(y), len(x)), {"grid_mapping": "crs"})})
    # Without a grid mapping: longitudes to 360 and float32, from north to south.
    lon, lat = np.arange(0, 360, 0.25, dtype="f4"), np.linspace(90, -90, 721, dtype="f4")
    write(folder / "globe.nc", {"lat": (("lat",), lat, {"units": "degrees_north"}), "lon": (("lon",), lon, {"units": "degrees_east"}),
                                "v": (("lat", "lon"), field(721, 1440), {})})
    # Coordinates of the south-west corners of cells, which bounds say.
    lon, lat = np.arange(10.0, 20, 0.5), np.arange(40.0, 45, 0.5)
    bounds = lambda c: np.stack([c, c + 0.5], axis=1)
    write(folder / "corners.nc", {
        "lat": (("lat",), lat, {"units": "degrees_north", "bounds": "lat_bnds"}), "lon": (("lon",), lon, {"units": "degrees_east", "bounds": "lon_bnds"}),
        "lat_bnds": (("lat", "nv"), bounds(lat), {}), "lon_bnds": (("lon", "nv"), bounds(lon), {}), "v": (("lat", "lon"), field(10, 20), {})})
    # A satellite: packed angles.
    angle = {"scale_factor": 0.000056, "units": "rad"}
    goes = {"grid_mapping_name": "geostationary", "perspective_point_height": 35786023.0, "longitude_of_projection_origin": -75.0, "latitude_of_projection_origin": 0.0,
            "sweep_angle_axis": "x", "semi_major_axis": 6378137.0, "semi_minor_axis": 6356752.31414, "inverse_flattening": 298.2572221}
    write(folder / "goes.nc", {
        "y": (("y",), np.arange(0, -20, -1, dtype="i2"), {"standard_name": "projection_y_coordinate", "add_offset": 0.05, **angle}),
        "x": (("x",), np.arange(30, dtype="i2"), {"standard_name": "projection_x_coordinate", "add_offset": 0.001, **angle}),
        "goes": ((), np.int32(0), goes), "v": (("y", "x"), field(20, 30), {"grid_mapping": "goes"})})
    # A rotated pole.
    pole = {"grid_mapping_name": "rotated_latitude_longitude", "grid_north_pole_latitude": 39.25, "grid_north_pole_longitude": -162.0}
    write(folder / "rotated.nc", {
        "rlat": (("rlat",), np.arange(-5.0, 5.01, 0.5), {"standard_name": "grid_latitude", "units": "degrees"}),
        "rlon": (("rlon",), np.arange(-8.0, 8.01, 0.5), {"standard_name": "grid_longitude", "units": "degrees"}),
        "pole": ((), np.int32(0), pole), "v": (("rlat", "rlon"), field(21, 33), {"grid_mapping": "pole"})})
    make_pyramid(folder / "pyramid.nc")
    # Well-known texts, of WKT 1 with a code and of WKT 2 without one.
    x, y = np.arange(300005.0, 300105, 10), np.arange(5000095.0, 4999995, -10)
    for name, wkt in (("wkt1", CRS.from_epsg(32633).to_wkt(version="WKT1_GDAL")), ("wkt2", CRS.from_string("+proj=laea +lat_0=5 +lon_0=20 +ellps=GRS80 +x_0=300000 +y_0=5000000").to_wkt(version="WKT2_2019"))):
        write(folder / f"{name}.nc", {**axes(x, y, {"units": "metre"}), "spatial_ref": ((), np.int32(0), {"crs_wkt": wkt}),
                                      "v": (("y", "x"), field(10, 10), {"grid_mapping": "spatial_ref"})})


def make_pyramid(name):
    """Writes groups of one grid at three resolutions."""
    with netCDF4.Dataset(name, "w") as d:
        for level in range(3):
            g, step, n = d.createGroup(str(level)), 30.0 * 2**level, 64 // 2**level
            centres = step / 2 + step * np.arange(n)
            for dim, values in (("y", 5000000 - centres), ("x", 300000 + centres)):
                g.createDimension(dim, n)
                v = g.createVariable(dim, "f8", (dim,))
                v.setncatts({"standard_name": f"projection_{dim}_coordinate", "units": "m"})
                v[:] = values
            g.createVariable("crs", "i4").epsg_code = "EPSG:32633"
            v = g.createVariable("v", "f4", ("y", "x"))
            v.grid_mapping = "crs"
            v[:] = level


def check_pyramid(copy):
    attrs = json.loads((copy / "zarr.json").read_text())["attributes"]
    layout = attrs["multiscales"]["layout"]
    assert [(i["asset"], i.get("derived_from"), i["transform"]["scale"]) for i in layout] == [("0", None, [1, 1]), ("1", "0", [2, 2]), ("2", "1", [2, 2])], layout
    for level in layout:
        with rasterio.open(f'ZARR:"{copy}":/{level["asset"]}/v') as raster:
            assert list(raster.transform)[:6] == level["spatial:transform"] and list(raster.shape) == level["spatial:shape"], level
            assert attrs["proj:code"] == raster.crs.to_string() if raster.crs else True, level


def proj(attrs):
    return CRS.from_user_input(attrs["proj:code"]) if "proj:code" in attrs else CRS.from_wkt(attrs["proj:wkt2"])


def near(a, b, slack, what):
    a, b = np.asarray(a, float), np.asarray(b, float)
    assert np.abs(a - b).max() <= slack, f"{what}: {a} is not {b}"


def check(folder):
    check_pyramid(folder / "pyramid.zarr")
    for file in sorted(folder.glob("*.nc")):
        name = file.stem
        if name == "pyramid":
            continue
        copy = folder / f"{name}.zarr"
        attrs = json.loads((copy / "v" / "zarr.json").read_text())["attributes"]
        assert {c["name"] for c in attrs["zarr_conventions"]} == {"spatial", "proj"}, name
        a, b, c, d, e, f = attrs["spatial:transform"]
        rows, columns = attrs["spatial:shape"]
        west, south, east, north = attrs["spatial:bbox"]
        near(sorted([c, c + a * columns]) + sorted([f, f + e * rows]), [west, east, south, north], 1e-9 * abs(a), f"{name}: bbox")
        km = 1000 if name == "polar" else 1  # GDAL's Zarr driver keeps the units of coordinates
        # GDAL knows neither bounds nor, without a grid mapping, a system.
        with rasterio.open(f'NETCDF:"{file}":v') as raster:
            theirs, bounds = raster.crs, raster.bounds
        if name == "corners":
            assert [west, south, east, north] == [10, 40, 20, 45], attrs
        elif name != "rotated": # GDAL's netCDF driver does not know these coordinates
            near(bounds, [west, south, east, north], 1e-6 * abs(a), f"{name}: GDAL's corners of the file")
        if theirs is None:
            assert name in ("globe", "corners") and attrs["proj:code"] == "EPSG:4326", name
            continue
        points = [west, east, west, east, (west + east) / 2], [south, south, north, north, (south + north) / 2]
        near(*([rasterio.warp.transform(system, "EPSG:4326", *points) for system in (proj(attrs), theirs)]), 1e-8, f"{name}: system")
        if name == "goes": # GDAL's Zarr driver does not know these coordinates
            continue
        with rasterio.open(f'ZARR:"{copy}":/v') as raster:
            left, bottom, right, top = raster.bounds
            near([left, min(bottom, top), right, max(bottom, top)], [west / km, south / km, east / km, north / km], 1e-6 * abs(a), f"{name}: GDAL's corners of the copy")


folder = pathlib.Path(sys.argv[2])
{"make": make, "check": check}[sys.argv[1]](folder)

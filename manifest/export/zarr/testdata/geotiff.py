"""Compares copies of GeoTIFF files with the files: values, coordinate reference system and transform.

    geotiff.py xarray FILES COPIES    copies NAME.3.zarr, read by xarray: needs xarray, zarr, imagecodecs, rasterio
    geotiff.py gdal FILES COPIES      copies NAME.2.zarr, read by GDAL's driver of Zarr: needs osgeo
"""
import pathlib, sys

import numpy as np


def equal(a, b, what):
    assert a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"), f"{what}: other values"


def near(a, b, what):
    assert np.allclose(a, b, rtol=0, atol=1e-6 * abs(b[1])), f"{what}: the transform is {a}, not {b}"


def with_xarray(file, copy):
    import imagecodecs.numcodecs, rasterio, xarray, zarr

    zarr.config.set({"array.rectilinear_chunks": True})
    imagecodecs.numcodecs.register_codecs(verbose=False)
    levels = [("", {})]
    with rasterio.open(file) as f:
        levels += [(f"overview_{i + 1}", {"overview_level": i}) for i in range(len(f.overviews(1)))]
    for group, options in levels:
        with rasterio.open(file, **options) as f, xarray.open_zarr(copy, group=group, decode_coords="all", mask_and_scale=False) as ds:
            what = f"{file.name} {group}"
            if "band_data" in ds:
                v = ds.band_data
                bands = [v.isel(band=i) for i in range(f.count)] if "band" in v.dims else [v]
            else:
                bands = [ds[f"band_{i + 1}"] for i in range(f.count)]
            for i, v in enumerate(bands):
                equal(v.values, f.read(i + 1), what)
                missing, nodata = v.attrs.get("_FillValue"), f.nodatavals[i]
                assert missing is nodata is None or np.array_equal(float(missing), nodata, equal_nan=True), f"{what}: nodata is {missing}, not {nodata}"
                if not options:
                    scaling = v.attrs.get("scale_factor", 1), v.attrs.get("add_offset", 0)
                    assert scaling == (f.scales[i], f.offsets[i]), f"{what}: scale and offset are {scaling}"
            if f.crs:
                theirs = rasterio.crs.CRS.from_wkt(ds.spatial_ref.attrs["crs_wkt"])
                # WKT 1 of .aux.xml loses names, which counts only without a code.
                assert theirs == f.crs or not f.crs.to_epsg() and theirs.to_proj4() == f.crs.to_proj4(), what
            if f.transform.is_identity:
                continue
            if "x" in ds:
                x, y = ds.x.values, ds.y.values
                dx, dy = (x[-1] - x[0]) / (len(x) - 1), (y[-1] - y[0]) / (len(y) - 1)
                near([x[0] - dx / 2, dx, 0, y[0] - dy / 2, 0, dy], f.transform.to_gdal(), what)
            else:
                near([float(w) for w in ds.spatial_ref.attrs["GeoTransform"].split()], f.transform.to_gdal(), what)


def with_gdal(file, copy):
    from osgeo import gdal

    gdal.UseExceptions()
    source = gdal.Open(str(file))
    root = gdal.OpenEx(str(copy), gdal.OF_MULTIDIM_RASTER).GetRootGroup()  # GDAL finds coordinates as long as it exists
    names = root.GetMDArrayNames()
    for i in range(source.RasterCount):
        array = root.OpenMDArray("band_data" if "band_data" in names else f"band_{i + 1}")
        dims = [d.GetName() for d in array.GetDimensions()]
        if "band" in dims:
            array = array.GetView("[" + ",".join(str(i) if d == "band" else ":" for d in dims) + "]")
        equal(array.ReadAsArray(), source.GetRasterBand(i + 1).ReadAsArray(), file.name)
        rotated = [source.GetGeoTransform()[k] for k in (2, 4)] != [0, 0]
        if not source.GetSpatialRef() or rotated:
            continue  # GDAL's driver of Zarr knows no rotated transforms
        system, ours = source.GetSpatialRef(), array.GetSpatialRef()
        same = ours and ours.IsSame(system, ["IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES"])
        assert same or not system.GetAuthorityCode(None) and ours.ExportToProj4() == system.ExportToProj4(), f"{file.name}: {ours}"
        near(array.AsClassicDataset(1, 0).GetGeoTransform(), source.GetGeoTransform(), file.name)


check = {"xarray": with_xarray, "gdal": with_gdal}[sys.argv[1]]
suffix = {"xarray": ".3.zarr", "gdal": ".2.zarr"}[sys.argv[1]]
copies = sorted(pathlib.Path(sys.argv[3]).glob("*" + suffix))
for copy in copies:
    check(pathlib.Path(sys.argv[2]) / copy.name.replace(suffix, ".tif"), copy)
print(f"{len(copies)} copies are equal to their files")

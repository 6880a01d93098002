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
            v = ds.band_data
            if "band" not in v.dims:
                v = v.expand_dims("band")
            equal(v.transpose("band", "y", "x").values, f.read(), f"{file.name} {group}")
            missing, nodata = v.attrs.get("_FillValue"), f.nodata
            assert missing is nodata is None or np.array_equal(float(missing), nodata, equal_nan=True), f"{file.name}: nodata is {missing}, not {nodata}"
            if not f.crs:
                continue
            assert rasterio.crs.CRS.from_wkt(ds.spatial_ref.attrs["crs_wkt"]) == f.crs, file.name
            x, y = v.x.values, v.y.values
            dx, dy = (x[-1] - x[0]) / (len(x) - 1), (y[-1] - y[0]) / (len(y) - 1)
            near([x[0] - dx / 2, dx, 0, y[0] - dy / 2, 0, dy], f.transform.to_gdal(), f"{file.name} {group}")


def with_gdal(file, copy):
    from osgeo import gdal

    gdal.UseExceptions()
    source = gdal.Open(str(file))
    want = source.ReadAsArray()
    has_bands_last = source.RasterCount > 1 and source.GetMetadataItem("INTERLEAVE", "IMAGE_STRUCTURE") == "PIXEL"
    root = gdal.OpenEx(str(copy), gdal.OF_MULTIDIM_RASTER).GetRootGroup()  # GDAL finds coordinates as long as it exists
    array = root.OpenMDArray("band_data")
    got = array.ReadAsArray()
    equal(np.moveaxis(got, -1, 0) if has_bands_last else got, want, file.name)
    if not source.GetSpatialRef():
        return
    system = array.GetSpatialRef()
    assert system and system.IsSame(source.GetSpatialRef(), ["IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES"]), f"{file.name}: {system}"
    view = array.GetView("[:,:,0]") if has_bands_last else array
    raster = view.AsClassicDataset(view.GetDimensionCount() - 1, view.GetDimensionCount() - 2)
    near(raster.GetGeoTransform(), source.GetGeoTransform(), file.name)


check = {"xarray": with_xarray, "gdal": with_gdal}[sys.argv[1]]
suffix = {"xarray": ".3.zarr", "gdal": ".2.zarr"}[sys.argv[1]]
copies = sorted(pathlib.Path(sys.argv[3]).glob("*" + suffix))
for copy in copies:
    check(pathlib.Path(sys.argv[2]) / copy.name.replace(suffix, ".tif"), copy)
print(f"{len(copies)} copies are equal to their files")

"""Makes netCDF files (make DIR), and compares arrays that GDAL reads from a VRT with files of their elements (check VRT LIST).

rasterio has no multidimensional API, so this calls the C functions of the GDAL in its wheel.
"""

import ctypes
import json
import os
import pathlib
import sys

import netCDF4
import numpy as np
import rasterio

MULTIDIM = 0x10
TYPES = {"u1": 1, "u2": 2, "i2": 3, "u4": 4, "i4": 5, "f4": 6, "f8": 7, "u8": 12, "i8": 13, "i1": 14}


def library():
    folder = pathlib.Path(rasterio.__file__).parent.parent / "rasterio.libs"
    gdal = ctypes.CDLL(str(next(folder.glob("libgdal-*"))))
    pointers = ("GDALOpenEx", "GDALDatasetGetRootGroup", "GDALGroupOpenMDArrayFromFullname", "GDALMDArrayGetDimensions", "GDALMDArrayGetSpatialRef",
                "GDALExtendedDataTypeCreate", "GDALExtendedDataTypeCreateString", "GDALMDArrayAsClassicDataset")
    for name in pointers:
        getattr(gdal, name).restype = ctypes.c_void_p
    gdal.GDALMDArrayGetUnit.restype = gdal.GDALDimensionGetName.restype = ctypes.c_char_p
    gdal.GDALDimensionGetSize.restype = ctypes.c_uint64
    for name in ("GDALMDArrayGetScale", "GDALMDArrayGetOffset", "GDALMDArrayGetNoDataValueAsDouble"):
        getattr(gdal, name).restype = ctypes.c_double
    return gdal


pointer = ctypes.c_void_p


class VRT:
    def __init__(self, name):
        self.gdal = library()
        with rasterio.Env():  # registers the drivers
            self.dataset = pointer(self.gdal.GDALOpenEx(str(name).encode(), MULTIDIM, None, None, None))
        assert self.dataset, name
        self.root = pointer(self.gdal.GDALDatasetGetRootGroup(self.dataset))

    def array(self, path):
        a = pointer(self.gdal.GDALGroupOpenMDArrayFromFullname(self.root, path.encode(), None))
        assert a, f"GDAL finds no array {path}"
        return a

    def dims(self, array):
        n = ctypes.c_size_t()
        list = self.gdal.GDALMDArrayGetDimensions(array, ctypes.byref(n))
        list = (pointer * n.value).from_address(list) if n.value else []
        return [(self.gdal.GDALDimensionGetName(pointer(d)).decode(), self.gdal.GDALDimensionGetSize(pointer(d))) for d in list]

    def read(self, path, dtype):
        array = self.array(path)
        shape = [n for _, n in self.dims(array)]
        start, count = (ctypes.c_uint64 * len(shape))(), (ctypes.c_size_t * len(shape))(*shape)
        total = int(np.prod(shape, dtype=int))
        if dtype == "text":
            out, kind = (ctypes.c_char_p * total)(), self.gdal.GDALExtendedDataTypeCreateString(ctypes.c_size_t(0))
        else:
            out, kind = np.empty(shape, dtype), self.gdal.GDALExtendedDataTypeCreate(TYPES[dtype])
        at = out if dtype == "text" else out.ctypes.data_as(pointer)
        ok = self.gdal.GDALMDArrayRead(array, start, count, None, None, pointer(kind), at, None, ctypes.c_size_t(0))
        assert ok, f"GDAL cannot read {path}"
        return [t.decode() for t in out] if dtype == "text" else out

    def transform(self, path):
        """Returns the affine transform, and the code of the system or its well-known text."""
        array = self.array(path)
        n = len(self.dims(array))
        classic = pointer(self.gdal.GDALMDArrayAsClassicDataset(array, ctypes.c_size_t(n - 1), ctypes.c_size_t(n - 2)))
        out = (ctypes.c_double * 6)()
        assert self.gdal.GDALGetGeoTransform(classic, out) == 0, path
        self.gdal.GDALGetProjectionRef.restype = ctypes.c_char_p
        return list(out), self.gdal.GDALGetProjectionRef(classic).decode()


def check(vrt, list):
    vrt = VRT(vrt)
    for want in json.loads(pathlib.Path(list).read_text()):
        path, dtype = want["path"], want["dtype"]
        dims = vrt.dims(vrt.array(path))
        assert [d for d, _ in dims] == want["dims"] and [n for _, n in dims] == want["shape"], f"{path}: {dims} is not {want}"
        got = vrt.read(path, dtype)
        if dtype == "text":
            assert got == want["texts"], f"{path}: {got}"
        else:
            expected = np.fromfile(want["values"], dtype).reshape(want["shape"])
            assert got.tobytes() == expected.tobytes(), f"{path}:\n{got}\nis not\n{expected}"
        for name, function in (("scale", "GDALMDArrayGetScale"), ("nodata", "GDALMDArrayGetNoDataValueAsDouble")):
            if name in want:
                has = ctypes.c_int()
                number = getattr(vrt.gdal, function)(vrt.array(path), ctypes.byref(has))
                assert has.value and number == want[name], f"{path}: {name} is {number}"
        if "transform" in want:
            transform, system = vrt.transform(path)
            assert transform == want["transform"] and want["system"] in system, f"{path}: {transform}, {system}"
    print("GDAL", rasterio.__gdal_version__, flush=True)
    os._exit(0)  # the arrays are still open, which libhdf5 reports at a normal exit


def write(name, variables, attributes={}):
    with netCDF4.Dataset(name, "w") as d:
        for path, (dims, values, attrs) in variables.items():
            group, _, var = path.rpartition("/")
            g = d.createGroup(group) if group else d
            values = np.asarray(values)
            for dim, n in zip(dims, values.shape):
                if dim not in d.dimensions:
                    d.createDimension(dim, n)
            fill = attrs.get("_FillValue")
            kind = str if values.dtype == object else values.dtype
            v = g.createVariable(var, kind, dims, fill_value=fill, **({"zlib": True, "chunksizes": [max(1, n // 2) for n in values.shape]} if dims and kind is not str else {}))
            v.set_auto_maskandscale(False)
            v.setncatts({k: x for k, x in attrs.items() if k != "_FillValue"})
            v[...] = values


def make(folder):
    """Files of two months: of all types, of a packed variable, one that only the first has, and one in a group."""
    for month in range(2):
        base = 100 * month
        lat, lon = np.arange(50.0, 44, -1), np.arange(0.5, 8.5)
        n = 3 + month
        grid = lambda dtype: (np.arange(n * 48) % 100 + base).reshape(n, 6, 8).astype(dtype)
        variables = {
            "time": (("time",), np.arange(float(n)) + 31 * month, {"units": "days since 2024-01-01"}),
            "lat": (("lat",), lat, {"units": "degrees_north"}), "lon": (("lon",), lon, {"units": "degrees_east"}),
            "packed": (("time", "lat", "lon"), grid("i2"), {"scale_factor": 0.5, "add_offset": 10.0, "_FillValue": np.int16(-1), "units": "K"}),
            "group/below": (("time", "lat", "lon"), grid("f4"), {"long_name": "a <variable> & \"more\"", "valid": np.array([1.5, 2])}),
            "calendar": (("time",), np.arange(float(n)), {"units": f"days since 2024-0{month + 1}-01"}),
        }
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
            variables[dtype] = (("time", "lat", "lon"), grid(dtype), {})
        variables["i8"][1].flat[0] = 2**62 + 1 + month
        variables["u8"][1].flat[0] = 2**64 - 1 - month
        variables["f8"][1].flat[0] = np.nan
        variables["i1"][2]["valid_range"] = np.array([0, 100], "i1")
        if month == 0:
            variables["first"] = (("time", "lat", "lon"), grid("f4"), {"_FillValue": np.float32(-9)})
            variables["first64"] = (("time", "lat", "lon"), grid("u8"), {"_FillValue": np.uint64(2**64 - 1)})
        write(folder / f"month{month}.nc", variables)
    for member in range(3):
        write(folder / f"member{member}.nc", {"lat": (("lat",), lat, {"units": "degrees_north"}), "lon": (("lon",), lon, {"units": "degrees_east"}),
                                            "v": (("lat", "lon") if member != 1 else ("lon", "lat"), np.arange(48, dtype="f4").reshape((6, 8) if member != 1 else (8, 6)) + member, {}),
                                            "name": (("lat",), np.array([f"é<{i}" for i in range(6)], object), {})})


if sys.argv[1] == "make":
    make(pathlib.Path(sys.argv[2]))
else:
    check(sys.argv[2], sys.argv[3])

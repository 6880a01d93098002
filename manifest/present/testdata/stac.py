"""Validates an item or a collection of STAC with pystac, without the network."""

import json
import sys

import pystac
from pystac.extensions.datacube import DatacubeExtension

with open(sys.argv[1]) as file:
    document = json.load(file)
dataset = pystac.read_dict(document)
cube = DatacubeExtension.ext(dataset)
time, lon, level = (cube.dimensions[name] for name in ("time", "lon", "level"))
assert time.dim_type == "temporal" and time.extent == ["2000-02-28T00:00:00Z", "2000-02-29T12:00:00Z"], time.extent
assert lon.dim_type == "spatial" and lon.axis == "x" and lon.extent == [170, 190], lon.extent
assert level.axis == "z" and level.extent == [850, 1000], level.extent
assert cube.variables["t"].dimensions == ["time", "level", "lat", "lon"]
# The schema of the extension is on a server, those of STAC are in pystac.
dataset.stac_extensions = []
dataset.validate()

"""Makes samples.jsonl: images of one bit, and how GDAL stores them. It needs rasterio and tifffile."""
import base64, io, json, sys
import numpy, rasterio.io, tifffile

rng = numpy.random.default_rng(3)


def image(kind, h, w):
    y, x = numpy.mgrid[0:h, 0:w]
    return {
        "noise": rng.integers(0, 2, (h, w)),
        "white": numpy.zeros((h, w)),
        "black": numpy.ones((h, w)),
        "blobs": numpy.sin(x / 7.3 + y / 11) + numpy.cos(y / 5.1 - x / 17) > 0.3,
        "lines": (x * 7 + y * 3) % 53 < 2 + y % 5,
    }[kind].astype("u1")


with open(sys.argv[1], "w") as out:
    for kind in "noise", "white", "black", "blobs", "lines":
        for h, w in (7, 1), (9, 33), (40, 301), (12, 2700):
            if w > 33 and kind == "noise":
                continue  # its lines would be long
            for compression, coding in ("CCITTRLE", 2), ("CCITTFAX3", 3), ("CCITTFAX4", 4):
                a = image(kind, h, w)
                with rasterio.io.MemoryFile() as m:
                    with m.open(driver="GTiff", height=h, width=w, count=1, dtype="uint8", NBITS=1, compress=compression, blockysize=h) as d:
                        d.write(a, 1)
                    b = m.read()
                page = tifffile.TiffFile(io.BytesIO(b)).pages[0]
                at, n = page.dataoffsets[0], page.databytecounts[0]
                line = {"name": f"{kind} {h}x{w} {compression}", "coding": coding, "options": 0, "height": h, "width": w}
                packed = numpy.packbits(a, axis=1).tobytes()
                print(json.dumps(line | {"data": base64.b64encode(b[at : at + n]).decode(), "pixels": base64.b64encode(packed).decode()}), file=out)

"""Makes samples.jsonl: WebP images of random and smooth samples, and the samples that libwebp decodes from them."""
import base64, json, sys
import imagecodecs, numpy
rng = numpy.random.default_rng(5)
with open(sys.argv[1], "w") as out:
    for h, w in (1, 1), (1, 2), (2, 1), (3, 3), (5, 8), (16, 17), (33, 20):
        for bands in 3, 4:
            y, x, b = numpy.mgrid[0:h, 0:w, 0:bands]
            for kind, a in ("noise", rng.integers(0, 256, (h, w, bands))), ("waves", 128 + 120 * numpy.sin(x / 3 + y / 5 + b)):
                for how in dict(level=70), dict(lossless=True):
                    data = imagecodecs.webp_encode(numpy.ascontiguousarray(a.astype("u1")), **how)
                    pixels = imagecodecs.webp_decode(data, hasalpha=bands == 4)
                    assert pixels.shape == (h, w, bands), pixels.shape
                    line = {"name": f"{kind} {h}x{w}x{bands} {how}", "height": h, "width": w, "samples": bands}
                    print(json.dumps(line | {"data": base64.b64encode(data).decode(), "pixels": base64.b64encode(pixels.tobytes()).decode()}), file=out)

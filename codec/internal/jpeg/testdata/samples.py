"""Write samples.jsonl: JPEG images, and the SHA-256 of what imagecodecs, by libjpeg-turbo, decodes.

Needs imagecodecs 2026.10.10, Pillow 13.0, rasterio 1.5.2, tifffile 2026.11.8 and numpy. Run: samples.py samples.jsonl
"""

import base64
import hashlib
import io
import itertools
import json
import sys

import imagecodecs
import numpy as np
import tifffile
from encoder import random_stream
from PIL import Image
from rasterio.io import MemoryFile

SIZES = [(1, 1), (1, 9), (8, 8), (7, 3), (3, 5), (9, 17), (16, 16), (17, 33), (31, 70), (50, 49)]
SAMPLINGS = ['444', '422', '420', '440', '411']
rng = np.random.default_rng(7)
lines = []


def image(height, width, samples, most=255):
    """Return waves, an edge and noise."""
    y, x, s = np.mgrid[0:height, 0:width, 0:samples]
    a = np.sin(x / (3 + s) + y / 5) + np.cos(y / (4 + 2 * s) - x / 11) + (x > width / 2) * (1 - s)
    a += rng.normal(0, 0.2, a.shape)
    a = np.clip((a + 2) / 4 * most, 0, most)
    return a.astype('u1' if most == 255 else 'u2')


def add(name, data, tables=None, stored=None, wanted=None):
    a = imagecodecs.jpeg8_decode(data, tables=tables, colorspace=stored, outcolorspace=wanted)
    line = dict(name=name, rows=a.shape[0], columns=a.shape[1], samples=a.shape[2] if a.ndim > 2 else 1, bytes=a.itemsize)
    line |= dict(stored=stored, wanted=wanted, tables=tables and base64.b64encode(tables).decode())
    line |= dict(data=base64.b64encode(data).decode(), sha256=hashlib.sha256(a.astype(a.dtype.newbyteorder('<')).tobytes()).hexdigest())
    lines.append(line)


def pillow(a, mode=None, **options):
    out = io.BytesIO()
    Image.fromarray(a[..., 0] if a.shape[2] == 1 else a, mode=mode).save(out, 'JPEG', **options)
    return out.getvalue()


def without(data, *markers):
    """Return a stream without the segments of some markers."""
    out, at = data[:2], 2
    while data[at + 1] != 0xDA:
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], 'big')
        if data[at + 1] not in markers:
            out += data[at:end]
        at = end
    return out + data[at:]


def scans(data, n):
    """Return a progressive stream that ends after n scans."""
    at = 0
    for _ in range(n + 1):
        at = data.find(b'\xff\xda', at + 1)
    while data[at - 2] == 0xFF and data[at - 1] != 0:
        at -= 2
    tables = data.rfind(b'\xff\xc4', 0, at)
    if data.find(b'\xff\xda', tables) == at:
        at = tables
    return data[:at] + b'\xff\xd9'


for (h, w), s in itertools.product(SIZES, SAMPLINGS):
    quality = int(rng.integers(20, 100))
    add(f'{h}x{w} {s}', imagecodecs.jpeg8_encode(image(h, w, 3), level=quality, subsampling=s))
for (h, w), s in itertools.product(SIZES[2:], ['420', '422']):
    add(f'{h}x{w} {s} 12 bits', imagecodecs.jpeg8_encode(image(h, w, 3, 4095), level=90, subsampling=s, bitspersample=12))
for h, w in SIZES:
    add(f'{h}x{w} gray', imagecodecs.jpeg8_encode(image(h, w, 1)[..., 0], level=75))
    add(f'{h}x{w} gray 12 bits', imagecodecs.jpeg8_encode(image(h, w, 1, 4095)[..., 0], level=95, bitspersample=12))
for quality in [1, 10, 100]:
    noise = rng.integers(0, 256, (40, 41, 3)).astype('u1')
    add(f'noise, quality {quality}', imagecodecs.jpeg8_encode(noise, level=quality, subsampling='420'))
    noise = rng.integers(0, 4096, (24, 25, 3)).astype('u2')
    add(f'noise, quality {quality}, 12 bits', imagecodecs.jpeg8_encode(noise, level=quality, subsampling='420', bitspersample=12))
for n, (h, w) in itertools.product([1, 3, 7], [(33, 31), (17, 50)]):
    for s in ['4:4:4', '4:2:0']:
        add(f'{h}x{w} {s} restart {n}', pillow(image(h, w, 3), restart_marker_blocks=n, subsampling=s))
    add(f'{h}x{w} gray restart {n}', pillow(image(h, w, 1), restart_marker_blocks=n))
for (h, w), s in itertools.product(SIZES, ['4:4:4', '4:2:2', '4:2:0']):
    add(f'{h}x{w} {s} progressive', pillow(image(h, w, 3), progressive=True, subsampling=s, quality=int(rng.integers(20, 100))))
for h, w in SIZES:
    add(f'{h}x{w} gray progressive', pillow(image(h, w, 1), progressive=True))
whole = pillow(image(53, 61, 3), progressive=True, restart_marker_blocks=3, subsampling='4:2:0')
add('progressive restart 3', whole)
for s, size in itertools.product(['4:4:4', '4:2:0', '4:2:2'], [(53, 61), (8, 9), (25, 33)]):
    whole = pillow(image(*size, 3), progressive=True, subsampling=s)
    for n in range(1, 10):
        add(f'{size} {s} progressive, {n} scans', scans(whole, n))
for n in range(1, 6):
    add(f'gray progressive, {n} scans', scans(pillow(image(29, 44, 1), progressive=True), n))

rgb = image(21, 30, 3)
add('rgb', pillow(rgb, keep_rgb=True))
add('rgb, without Adobe, by ids', without(pillow(rgb, keep_rgb=True), 0xEE))
add('YCbCr without JFIF', without(pillow(rgb), 0xE0))
add('without EOI', pillow(rgb)[:-2])
add('without Huffman tables', without(pillow(rgb), 0xC4))
add('16 bits of quantization', pillow(rgb, qtables=[[300] * 64, [260] * 64]))
for stored, wanted in [('YCBCR', 'RGB'), ('YCBCR', 'YCBCR'), ('RGB', 'RGB'), ('RGB', 'GRAYSCALE'), ('YCBCR', None), (None, 'GRAYSCALE')]:
    add(f'{stored} to {wanted}', pillow(rgb), stored=stored, wanted=wanted)
    add(f'{stored} to {wanted}, 12 bits', imagecodecs.jpeg8_encode(image(21, 30, 3, 4095), bitspersample=12), stored=stored, wanted=wanted)
add('gray to rgb', pillow(image(9, 8, 1)), wanted='RGB')
add('cmyk of Adobe', pillow(image(18, 19, 4), mode='CMYK'))
add('cmyk without Adobe', without(pillow(image(18, 19, 4), mode='CMYK'), 0xEE))
ycck = bytearray(pillow(image(18, 19, 4), mode='CMYK'))
ycck[ycck.find(b'Adobe') + 11] = 2
add('ycck of Adobe', bytes(ycck))
add('cmyk to ycck', bytes(ycck), stored='YCCK', wanted='YCCK')

# TIFF's strips and tiles, by GDAL: tables of the file or of each tile.
for mode, photometric, tiled, samples in itertools.product([0, 1, 2, 3], ['YCBCR', None], [False, True], [1, 2, 3, 4]):
    if photometric and samples != 3:
        continue
    a = image(37, 50, samples)
    options = dict(photometric=photometric) if photometric else {}
    options |= dict(tiled=True, blockxsize=32, blockysize=16) if tiled else dict(blockysize=16)
    with MemoryFile() as m:
        with m.open(driver='GTiff', height=37, width=50, count=samples, dtype='uint8', compress='JPEG', interleave='pixel', JPEGTABLESMODE=mode, **options) as d:
            d.write(np.moveaxis(a, 2, 0))
        b = m.read()
    page = tifffile.TiffFile(io.BytesIO(b)).pages[0]
    for i in (0, len(page.dataoffsets) - 1):
        at, n = page.dataoffsets[i], page.databytecounts[i]
        space = dict(stored='YCBCR', wanted='RGB') if photometric else dict(stored='RGB', wanted='RGB') if samples == 3 else {}
        add(f'tiff {mode} {photometric} {tiled} {samples}, {i}', b[at : at + n], tables=page.jpegtables, **space)

while len(lines) < 420:
    name, data = random_stream(rng)
    if len(data) < 9000:
        add(f'random {len(lines)}: {name}', data)

with open(sys.argv[1], 'w') as f:
    for line in lines:
        f.write(json.dumps({k: v for k, v in line.items() if v is not None}) + '\n')
print(len(lines))

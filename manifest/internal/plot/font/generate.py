"""Draws the atlas of glyphs and the colour tables that plots use.

    python generate.py DejaVuSans.ttf

needs Pillow and matplotlib. Writes sans.png, one row of glyphs in grey, sans.txt with a line `rune advance left width` for each,
and colours.txt with 33 colours of each map.
"""
import pathlib
import sys

import matplotlib
from PIL import Image, ImageDraw, ImageFont

SIZE, HEIGHT, BASELINE = 12, 16, 12
RUNES = [chr(c) for c in [*range(0x20, 0x7F), *range(0xA0, 0x100), *range(0x391, 0x3CA), 0x2013, 0x2014, 0x2026, 0x2032, 0x2033, 0x2070, 0x2074, 0x2075,
                          0x2076, 0x2077, 0x2078, 0x2079, 0x207A, 0x207B, 0x2080, 0x2081, 0x2082, 0x2083, 0x2103, 0x2192, 0x2206, 0x2212, 0x221E, 0x2248,
                          0x2264, 0x2265, 0xFFFD] if chr(c).isprintable() or c in (0x20, 0xA0)]


def main(path):
    font = ImageFont.truetype(path, SIZE)
    glyphs = []
    for rune in RUNES:
        left, _, right, _ = font.getbbox(rune, anchor="ls")
        image = Image.new("L", (max(right - left, 1), HEIGHT))
        ImageDraw.Draw(image).text((-left, BASELINE), rune, fill=255, font=font, anchor="ls")
        glyphs.append((rune, font.getlength(rune), left, image))
    atlas = Image.new("L", (sum(g[3].width for g in glyphs), HEIGHT))
    lines, x = [], 0
    for rune, advance, left, image in glyphs:
        atlas.paste(image, (x, 0))
        lines.append(f"{ord(rune)} {advance:.2f} {left} {image.width}\n")
        x += image.width
    here = pathlib.Path(__file__).parent
    atlas.save(here / "sans.png", optimize=True)
    (here / "sans.txt").write_text("".join(lines))
    maps = []
    for name in ("viridis", "RdBu_r"):
        table = [matplotlib.colormaps[name](i / 32, bytes=True)[:3] for i in range(33)]
        maps.append(name + " " + " ".join("%02x%02x%02x" % tuple(map(int, c)) for c in table) + "\n")
    (here / "colours.txt").write_text("".join(maps))


if __name__ == "__main__":
    main(sys.argv[1])

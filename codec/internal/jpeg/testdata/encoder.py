"""An encoder of random JPEG streams: any sampling factors, scans and Huffman tables, of 8 and 12 bits.

It needs no quality: coefficients are random. Refinement scans have no runs of more than one block.
"""

import struct

import numpy as np


def divide_up(a, b):
    return -(-a // b)


class Bits:
    def __init__(self):
        self.text = ''

    def put(self, value, n):
        if n:
            self.text += format(value, f'0{n}b')

    def number(self, v, size):
        """Put the bits of a coefficient."""
        self.put(v if v >= 0 else v + (1 << size) - 1, size)

    def done(self):
        text = self.text + '1' * (-len(self.text) % 8)
        return int('1' + text, 2).to_bytes(len(text) // 8 + 1, 'big')[1:].replace(b'\xff', b'\xff\0')


class Stream:
    def __init__(self, rng, precision, factors, height, width, restart, progressive):
        self.rng, self.factors, self.restart = rng, factors, restart
        self.height, self.width = height, width
        self.h, self.v = max(h for h, _ in factors), max(v for _, v in factors)
        self.columns, self.rows = divide_up(width, 8 * self.h), divide_up(height, 8 * self.v)
        self.blocks = []
        out = b'\xff\xd8'
        quant = [rng.integers(1, int(rng.choice([3, 30, 255])), 64) for _ in range(2)]
        for i, q in enumerate(quant):
            out += b'\xff\xdb\0\x43' + bytes([i]) + bytes(q.tolist())
        n = len(factors)
        out += (b'\xff\xc2' if progressive else b'\xff\xc1') + struct.pack('>HBHHB', 8 + 3 * n, precision, height, width, n)
        for i, (h, v) in enumerate(factors):
            out += bytes([i + 1, h * 16 + v, min(i, 1)])
            self.blocks.append(self.random_blocks(h, v, quant[min(i, 1)], 16 if precision == 12 else 1))
        if restart:
            out += b'\xff\xdd\0\4' + struct.pack('>H', restart)
        self.out = out

    def random_blocks(self, h, v, quant, scale):
        """Return coefficients of the range that images have."""
        rng = self.rng
        b = np.zeros((self.rows * v, self.columns * h, 64), int)
        b[..., 0] = rng.integers(-1000 * scale, 1001 * scale, b.shape[:2]) // quant[0]
        k = int(rng.choice([0, 1, 3, 9, 20, 63]))
        most = 600 * scale / max(1, (k * 0.3) ** 0.5)
        values = rng.integers(-12, 13, b.shape[:2] + (k,)) * (rng.random(b.shape[:2] + (k,)) < 0.3)
        b[..., 1 : k + 1] = np.trunc(np.clip(values * quant[1 : k + 1], -most, most) / quant[1 : k + 1])
        return b

    def table(self, kind, symbols):
        """Write a random Huffman table, and return the code and length of each symbol."""
        while True:
            lengths = np.sort(np.clip(self.rng.integers(max(1, len(symbols).bit_length() - 2), 17, len(symbols)), 1, 16))
            counts = np.bincount(lengths, minlength=17)[1:]
            if (2.0**-lengths).sum() < 1 - 2**-16 and counts.max() < 256:
                break
        codes, code, length = {}, 0, 1
        for symbol, n in zip(self.rng.permutation(symbols).tolist(), lengths.tolist()):
            code, length = code << (n - length), n
            codes[symbol] = code, n
            code += 1
        self.out += b'\xff\xc4' + struct.pack('>HB', 19 + len(symbols), kind * 16) + bytes(counts.tolist()) + bytes(codes)
        return codes

    def units(self, components):
        """Yield the blocks of each MCU."""
        if len(components) == 1:
            c = components[0]
            h, v = self.factors[c]
            for y in range(divide_up(self.height * v, 8 * self.v)):
                for x in range(divide_up(self.width * h, 8 * self.h)):
                    yield [(c, y, x)]
            return
        for y in range(self.rows):
            for x in range(self.columns):
                yield [(c, y * self.factors[c][1] + j, x * self.factors[c][0] + i) for c in components for j in range(self.factors[c][1]) for i in range(self.factors[c][0])]

    def scan(self, components, first=0, end=63, high=0, low=0):
        dc, ac = self.table(0, list(range(16))), self.table(1, list(range(256)))
        self.out += b'\xff\xda' + struct.pack('>HB', 6 + 2 * len(components), len(components))
        self.out += b''.join(bytes([c + 1, 0]) for c in components) + bytes([first, end, high * 16 + low])
        bits, before, mark = Bits(), {}, 0
        for n, unit in enumerate(self.units(components)):
            if self.restart and n and n % self.restart == 0:
                self.out += bits.done() + bytes([0xFF, 0xD0 + mark])
                bits, before, mark = Bits(), {}, (mark + 1) % 8
            for c, y, x in unit:
                block = self.blocks[c][y, x].tolist()
                if first == 0 and high == 0:
                    v = block[0] >> low
                    size = abs(v - before.get(c, 0)).bit_length()
                    bits.put(*dc[size])
                    bits.number(v - before.get(c, 0), size)
                    before[c] = v
                elif first == 0:
                    bits.put(block[0] >> low & 1, 1)
                if end > 0 and high == 0:
                    self.band(bits, ac, block, max(first, 1), end, low)
                elif end > 0:
                    self.refine(bits, ac, block, first, end, low)
        self.out += bits.done()

    def band(self, bits, ac, block, first, end, low):
        zeros = 0
        for k in range(first, end + 1):
            v = abs(block[k]) >> low
            if v == 0:
                zeros += 1
                continue
            for _ in range(zeros // 16):
                bits.put(*ac[0xF0])
            bits.put(*ac[zeros % 16 * 16 + v.bit_length()])
            bits.number(v if block[k] > 0 else -v, v.bit_length())
            zeros = 0
        if zeros:
            bits.put(*ac[0])

    def refine(self, bits, ac, block, first, end, low):
        values = [abs(v) >> low for v in block]
        last = max((k for k in range(first, end + 1) if values[k] == 1), default=-1)
        zeros, more = 0, []
        for k in range(first, end + 1):
            if values[k] == 0:
                zeros += 1
                continue
            while zeros > 15 and k <= last:
                bits.put(*ac[0xF0])
                for bit in more:
                    bits.put(bit, 1)
                zeros, more = zeros - 16, []
            if values[k] > 1:
                more.append(values[k] & 1)
                continue
            bits.put(*ac[zeros * 16 + 1])
            for bit in [int(block[k] > 0), *more]:
                bits.put(bit, 1)
            zeros, more = 0, []
        if zeros or more:
            bits.put(*ac[0])
            for bit in more:
                bits.put(bit, 1)


def random_stream(rng):
    """Return a description and a stream."""
    precision, n, progressive = int(rng.choice([8, 8, 12])), int(rng.choice([1, 2, 3, 3, 3, 4])), bool(rng.random() < 0.5)
    factors = [(4, 4)] * 2
    while sum(h * v for h, v in factors) > 10:
        factors = [tuple(rng.choice([1, 2, 4], 2).tolist()) for _ in range(n)]
    height, width, restart = int(rng.integers(1, 50)), int(rng.integers(1, 50)), int(rng.choice([0, 0, 1, 2, 5]))
    s = Stream(rng, precision, factors, height, width, restart, progressive)
    if progressive:
        random_scans(s, rng)
    elif rng.random() < 0.4:
        split = int(rng.integers(0, n + 1))
        for group in [list(range(split)), *([c] for c in range(split, n))]:
            if group:
                s.scan(group)
    else:
        s.scan(list(range(n)))
    return f'{height}x{width}, {precision} bits, {factors}, restart {restart}, progressive {progressive}', s.out + b'\xff\xd9'


def random_scans(s, rng):
    """Write scans of all coefficients, or only of some."""
    n = len(s.factors)
    low = int(rng.choice([0, 0, 1, 2]))
    s.scan(list(range(n)), 0, 0, 0, low)
    todo = [(list(range(n)), 0, 0, a, a - 1) for a in range(low, 0, -1)]
    for c in range(n):
        cut, low = int(rng.integers(1, 63)), int(rng.choice([0, 0, 1, 2]))
        for first, end in ((1, cut), (cut + 1, 63)):
            todo += [([c], first, end, 0, low)] + [([c], first, end, a, a - 1) for a in range(low, 0, -1)]
    if rng.random() < 0.4:
        todo = todo[: int(rng.integers(0, len(todo) + 1))]
    for args in todo:
        s.scan(*args)

"""Makes the decoded bytes of the vectors. The Go test makes the same bytes."""
import numpy as np


def sample(kind, length):
    if kind == "smooth":  # int32, little-endian
        i = np.arange(length // 4 + 1, dtype="<i8")
        return (i * i // 50 % 100003).astype("<i4").tobytes()[:length]
    if kind == "steps":  # int32, little-endian, each value 16 times
        i = np.arange(length // 4 + 1, dtype="<i8") // 16
        return (i * i // 50 % 100003).astype("<i4").tobytes()[:length]
    if kind == "zeros":
        return bytes(length)
    out, x = bytearray(), 1
    for i in range(length):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(x >> 16 & (0xFF if kind == "noise" else 0x03))
    return bytes(out)

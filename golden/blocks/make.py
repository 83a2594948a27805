"""Writes <format>.bin: encoded blocks, then their weights as PyPI gguf decodes them.

Both parts are little-endian; the weights are f32. Edge blocks come first, random ones after.
No scale and no float is NaN, whose payload a decoder may choose. Run: python make.py
"""

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

# Where a block holds half-precision scales (byte offsets); nothing else in it is a float.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q4_K": [0, 2], "Q6_K": [208]}
# Zero, minus zero, one, largest, least, subnormal: smallest and, negative, largest.
EDGES = [0x0000, 0x8000, 0x3C00, 0x7BFF, 0xFBFF, 0x0001, 0x83FF]
FILLS = [0x00, 0xFF, 0x80]
RANDOM = 12


def half_scaled(rng, size, scales):
    """Each edge scale over each fill, then random blocks with random finite scales."""
    blocks = [np.full(size, fill, np.uint8) for fill in FILLS for _ in EDGES]
    values = [[edge] * len(scales) for _ in FILLS for edge in EDGES]
    for _ in range(RANDOM):
        blocks.append(rng.integers(0, 256, size, np.uint8))
        values.append(rng.integers(0, 0x7C00, len(scales)) | rng.integers(0, 2, len(scales)) << 15)
    for block, halves in zip(blocks, values):
        for offset, half in zip(scales, halves):
            block[offset : offset + 2] = np.array([half], "<u2").view(np.uint8)
    return np.stack(blocks)


def floats(rng, size, mantissa_bits):
    """One float a block: zeros, ones, both ends of every range, infinities, then random bits."""
    infinity = (1 << (8 * size - 1)) - (1 << mantissa_bits)
    sign, subnormal = 1 << (8 * size - 1), 1 << mantissa_bits
    positive = [0, 1, subnormal - 1, subnormal, infinity >> 1, infinity - 1, infinity]
    random = [int(bits) % (infinity + 1) for bits in rng.integers(0, 1 << 31, 64)]
    bits = [value | s for value in positive + random for s in (0, sign)]
    return np.array(bits, f"<u{size}").view(np.uint8).reshape(-1, size)


for number, name in enumerate(["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K", "Q6_K"]):
    kind = GGMLQuantizationType[name]
    rng, size = np.random.default_rng(number), GGML_QUANT_SIZES[kind][1]
    if name in SCALES:
        blocks = half_scaled(rng, size, SCALES[name])
    else:
        blocks = floats(rng, size, {"F32": 23, "F16": 10, "BF16": 7}[name])
    with np.errstate(over="ignore"):
        weights = quants.dequantize(blocks, kind).astype("<f4")
    assert not np.isnan(weights).any()
    with open(f"{name.lower()}.bin", "wb") as file:
        file.write(blocks.tobytes() + weights.tobytes())

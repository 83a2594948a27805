#!/usr/bin/env python3
"""Greedy ids, text and logits of a llama GGUF file with f32 weights, by plain float32 numpy.

    python make.py stories260K.f32.gguf > greedy.json

One token at a time, nothing but the definitions: RMS norms, neighbouring pairs rotated, grouped
heads, softmax over all positions, gated feed-forward part, tied output.
"""
import json
import sys

import numpy as np
from gguf import GGUFReader

reader = GGUFReader(sys.argv[1])
field = lambda key: reader.fields[key].contents()
w = {t.name.removesuffix(".weight"): np.array(t.data, np.float32) for t in reader.tensors}
heads, kv_heads = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
head_dim = field("llama.embedding_length") // heads
eps = np.float32(field("llama.attention.layer_norm_rms_epsilon"))
pairs = np.arange(0, head_dim, 2, dtype=np.float32)
frequencies = np.float32(1) / np.float32(field("llama.rope.freq_base")) ** (pairs / np.float32(head_dim))
layers = field("llama.block_count")
keys, values = [[] for _ in range(layers)], [[] for _ in range(layers)]


def norm(x, weight):
    return x / np.sqrt(np.mean(x * x) + eps) * weight


def rotate(x, position):
    angle = np.float32(position) * frequencies
    cos, sin = np.cos(angle), np.sin(angle)
    a, b = x[:, 0::2], x[:, 1::2]
    return np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)


def logits(token, position):
    x = w["token_embd"][token]
    for i in range(layers):
        part = lambda name: w[f"blk.{i}.{name}"]
        n = norm(x, part("attn_norm"))
        q = rotate((part("attn_q") @ n).reshape(heads, head_dim), position)
        keys[i].append(rotate((part("attn_k") @ n).reshape(kv_heads, head_dim), position))
        values[i].append((part("attn_v") @ n).reshape(kv_heads, head_dim))
        k = np.repeat(np.stack(keys[i]), heads // kv_heads, axis=1)  # [positions, heads, head_dim]
        v = np.repeat(np.stack(values[i]), heads // kv_heads, axis=1)
        scores = np.einsum("hd,phd->hp", q, k) / np.sqrt(np.float32(head_dim))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        x = x + part("attn_output") @ np.einsum("hp,phd->hd", weights, v).reshape(-1)
        n = norm(x, part("ffn_norm"))
        gate = part("ffn_gate") @ n
        x = x + part("ffn_down") @ (gate / (1 + np.exp(-gate)) * (part("ffn_up") @ n))
    return w["token_embd"] @ norm(x, w["output_norm"])


ids, seen, gaps = [1], [], []
for position in range(256):
    seen.append(logits(ids[-1], position))
    second, best = np.sort(seen[-1])[-2:]
    gaps.append(float(best - second))
    ids.append(int(np.argmax(seen[-1])))
pieces = [field("tokenizer.ggml.tokens")[id].replace("\u2581", " ") for id in ids[1:]]
raw = [bytes([int(p[3:5], 16)]) if p.startswith("<0x") else p.encode() for p in pieces]
json.dump(
    {
        "ids": ids,
        "text": b"".join(raw).decode().lstrip(),
        "smallest_gap_between_best_and_second": min(gaps),
        "logits_after_bos": [round(float(x), 6) for x in seen[0]],
        "logits_after_first_5_ids": [round(float(x), 6) for x in seen[4]],
    },
    sys.stdout,
)

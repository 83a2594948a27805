"""Prints `Tokenizer::digest` of GGUF files, computed from its documentation alone.

    python digest.py FILE…
"""
import hashlib
import struct
import sys

import gguf


def digest(path):
    fields = gguf.GGUFReader(path).fields
    sha256 = hashlib.sha256()

    def get(name):
        field = fields.get("tokenizer.ggml." + name)
        return None if field is None else field.contents()

    def u64(number):
        sha256.update(struct.pack("<Q", number))

    def text(value):
        u64(len(value.encode()))
        sha256.update(value.encode())

    def flag(value):
        sha256.update(bytes([bool(value)]))

    model, pre = get("model"), get("pre") or "default"
    for name in ["strata tokenizer 1", model, pre]:
        text(name)
    if model == "gpt2":
        merges = get("merges") or []
        u64(len(merges))
        for merge in merges:
            text(merge)
    else:
        scores = get("scores")
        u64(len(scores))
        for score in scores:
            sha256.update(struct.pack("<f", score))
        flag(get("add_space_prefix") is not False)
    tokens = get("tokens")
    u64(len(tokens))
    for token, kind in zip(tokens, get("token_type") or [1] * len(tokens)):
        text(token)
        sha256.update(bytes([kind]))
    for name in ["bos", "eos", "eot", "eom", "unknown"]:
        token = get(name + "_token_id")
        u64(2**64 - 1 if token is None else token)
    add_bos = get("add_bos_token")
    if add_bos is None:
        by_default = model == "llama" or pre == "llama-bpe"
        add_bos = by_default and get("bos_token_id") is not None
    flag(add_bos)
    flag(get("add_eos_token"))
    return sha256.hexdigest()


for file in sys.argv[1:]:
    print(digest(file), file)

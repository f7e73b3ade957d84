#!/usr/bin/env python3
"""Checks that man/dlaunch-env.7 names exactly the environment variables that the sources read and set.

    check_variables.py [ROOT]      prints what is wrong, one line each; status 1 if anything is

Those that stand for options are the table's; a unit test writes that part of the page.
"""
import re
import sys
from pathlib import Path

LAYERS = ["launcher", "agent", "rendezvous"]
NAME = r'"([A-Z][A-Z0-9_]+)"'
READ = re.compile(rf"\b(?:(?:getenv|variable|set_variable)\(|(?:given|own)_variable\((?:[\w.]+, )+){NAME}")
LOOPED = re.compile(rf"for \(const char\* \w+ : \{{({NAME}(?:, {NAME})*)\}}\)")
SET = re.compile(rf"\bset\(variables, {NAME},")
SHOWN = re.compile(r"^\.BR? (.*)$", re.MULTILINE)


def of_sources(root):
    found = set()
    for layer in LAYERS:
        for file in (root / layer).rglob("*.cpp"):
            text = file.read_text()
            found.update(READ.findall(text), SET.findall(text))
            for match in LOOPED.finditer(text):
                found.update(re.findall(NAME, match[1]))
    return found


def of_page(text):
    """The headings of the paragraphs before the table's part: lines after .TP."""
    text = text.split('.\\" begin variables')[0]
    found = set()
    for paragraph in text.split(".TP\n")[1:]:
        heading = SHOWN.match(paragraph)
        found.update(re.findall(r"[A-Z][A-Z0-9_]+", heading[1]) if heading else [])
    return found


def errors(root):
    page = root / "man/dlaunch-env.7"
    shown, known = of_page(page.read_text()), of_sources(root)
    for name in sorted(known - shown):
        yield f"man/dlaunch-env.7: {name} is missing, the sources know it"
    for name in sorted(shown - known):
        yield f"man/dlaunch-env.7: the sources do not know {name}"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    wrong = list(errors(root))
    print("\n".join(wrong) or f"{len(of_sources(root))} variables, all on the page")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks that the library's man pages name every public class, function and constant of its headers, and no others.

    check_pages.py [ROOT]      prints what is wrong, one line each; status 1 if anything is
"""
import re
import sys
from pathlib import Path

COMMENT = re.compile(r"//.*")
PRIVATE = re.compile(r"^private:.*?^(?=\S)", re.MULTILINE | re.DOTALL)
DETAIL = re.compile(r"^namespace detail \{.*?^\}  // namespace detail$", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"\b(?:class|struct|enum class|concept|using) (\w+)(?=\s*(?:[:={]|final))")
CONSTANT = re.compile(r"\bconstexpr [\w:]+ (k\w+)")
FUNCTION = re.compile(r"^ *(?:\[\[nodiscard\]\] |inline |static |constexpr |explicit )*"
                      r"[\w:<>,&*]+(?: [\w:<>,&*]+)*[ &*](\w+)\(", re.MULTILINE)
NO_NAMES = {"return", "requires", "operator", "decltype", "sizeof", "static_assert", "if"}
NOT_OURS = {"main", "what", "int", "void"}  # which pages name, too
SHOWN_CALL = re.compile(r"\b([a-z]\w*)\(\)")


def public_names(text):
    """The names that a header declares for its users. A forward declaration belongs to another header."""
    text = PRIVATE.sub("", COMMENT.sub("", DETAIL.sub("", text)))
    return ({*TYPE.findall(text), *CONSTANT.findall(text), *FUNCTION.findall(text)}) - NO_NAMES


def errors(root):
    known = set()
    for header in (root / "worker_lib/include/dlaunch").glob("*.hpp"):
        known |= public_names(header.read_text())
    pages = {page: page.read_text() for page in sorted((root / "man").glob("*.3"))}
    shown = set(re.findall(r"\w+", "\n".join(pages.values())))
    for name in sorted(known - shown):
        yield f"man/*.3: {name} is missing, a public header declares it"
    for page, text in pages.items():
        bold = "\n".join(line for line in text.splitlines() if line.startswith(".B"))
        for name in sorted(set(SHOWN_CALL.findall(bold)) - known - NOT_OURS):
            yield f"{page.relative_to(root)}: no public header declares {name}()"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    wrong = list(errors(root))
    print("\n".join(wrong) or "every public name is on a page")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

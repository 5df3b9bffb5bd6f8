"""Colours of blocks of code that do not say their language: the first word tells it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PYTHON = re.compile(r"(from|import|>>>) ?\w")
_SHELL = re.compile(r"\$ |(?:[A-Z_]+=\S+ )*(eigentext|python|pip|make|echo|zcat|docker|curl)\b")


def language_of(code: str) -> str:
    """
    >>> language_of("eigentext data list"), language_of("from math import exp"), language_of("a b")
    ('bash', 'python', 'none')
    """
    if _PYTHON.match(code):
        return "python"
    return "bash" if _SHELL.match(code) else "none"


def _mark(_app: Sphinx, doctree: nodes.document) -> None:
    for node in doctree.findall(nodes.literal_block):
        if node.get("language", "none") in ("none", "default"):
            node["language"] = language_of(node.astext())


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at each page once it is read."""
    app.connect("doctree-read", _mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

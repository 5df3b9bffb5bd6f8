"""Equations as MathML, made when the site is built: browsers draw it without any script.

Root signs and brackets that grow need a font for mathematics, which not every machine has: pages
write powers of one half instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from docutils.nodes import Element
    from sphinx.application import Sphinx


def _inline(writer: Any, node: Element) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: Element) -> None:
    writer.body.append(f'<div class="equation">{convert(node.astext(), display="block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer that ``html_math_renderer`` names."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Sentences of a Doc one below the other, as a notebook shows them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from eigentext.drawing.arcs import arcs_svg
from eigentext.drawing.constituents import tree_svg

if TYPE_CHECKING:
    from eigentext.language.doc import Doc
    from eigentext.language.sentence import Sentence

_SENTENCES = 20  # drawn; the rest is counted
_WORDS = 60  # of a sentence with a drawing
_WIDTH = 900.0


def doc_html(doc: Doc) -> str:
    """Arcs where heads are known, else the constituent tree, else the text.

    >>> from eigentext.language.doc import Doc
    >>> doc_html(Doc.from_tokens([["Go", "<", "now"]]))
    '<div class="et-doc"><p>Go &lt; now</p></div>'
    """
    pieces = list(map(_drawn, doc.sentences[:_SENTENCES]))
    if not doc.sentences:
        pieces.append(f"<pre>{escape(doc.text[:1000])}</pre>")
    more = len(doc) - _SENTENCES
    if more > 0:
        pieces.append(f"<p>and {more:,} more sentences</p>")
    return f'<div class="et-doc">{"".join(pieces)}</div>'


def _drawn(sentence: Sentence) -> str:
    columns = sentence.columns
    if len(sentence) <= _WORDS and columns.heads is not None:
        picture = arcs_svg(
            columns.forms, list(columns.heads), columns.deprels, tags=columns.upos, width=_WIDTH
        )
    elif len(sentence) <= _WORDS and sentence.brackets is not None:
        from eigentext.language.trees.constituent import Tree

        picture = tree_svg(Tree.from_brackets(sentence.brackets))
    else:
        return f"<p>{escape(sentence.text)}</p>"
    return f"<figure>{picture}</figure>"

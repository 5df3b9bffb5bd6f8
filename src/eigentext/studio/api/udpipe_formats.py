"""The formats of UDPipe's REST: what comes in as sentences, and Docs as text that goes out.

They are, to the byte, what UDPipe 1.2 itself reads and writes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from eigentext.language.formats.conllu import make_sentence, parse_sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eigentext.language.doc import Doc
    from eigentext.language.formats import conllu
    from eigentext.language.sentence import Sentence
    from eigentext.language.token import Word

_NO_BREAK = "\u00a0"  # a blank inside a word, where blanks are between words
_QUOTE = {'"': "&quot;"}


def _horizontal(data: str) -> Iterator[conllu.ConlluBlock]:
    for line in data.splitlines():
        if words := [word.replace(_NO_BREAK, " ").strip() for word in line.split(" ")]:
            yield from _sentence(words)


def _vertical(data: str) -> Iterator[conllu.ConlluBlock]:
    words: list[str] = []
    for line in [*data.split("\n"), ""]:
        word = line.partition("\t")[0].replace(_NO_BREAK, " ").strip()
        if word:
            words.append(word)
        else:
            yield from _sentence(words)
            words = []


def _sentence(words: list[str]) -> Iterator[conllu.ConlluBlock]:
    if spoken := [" ".join(word.split()) for word in words if word]:
        yield make_sentence(spoken)


READERS: dict[str, Callable[[str], Iterator[conllu.ConlluBlock]]] = {
    "conllu": lambda data: iter(parse_sentences(data) if data.strip() else ()),
    "horizontal": _horizontal,
    "vertical": _vertical,
}


def _as_conllu(doc: Doc, options: frozenset[str]) -> str:
    if "normalized_spaces" in options:
        doc = replace(doc, sentences=tuple(map(_normalised, doc.sentences)))
    return doc.to_conllu(offsets="ranges" in options) if doc.sentences else ""


def _normalised(sentence: Sentence) -> Sentence:
    """Without what MISC says of white space, but for SpaceAfter=No."""
    tokens = []
    for token in sentence.tokens:
        kept = [item for item in token.misc.split("|") if not item.startswith("Spaces")]
        tokens.append(token._replace(misc="|".join(kept) or "_"))
    return replace(sentence, tokens=tokens)


def _as_horizontal(doc: Doc, options: frozenset[str]) -> str:
    lines = []
    for number, sentence in enumerate(doc.sentences):
        if number and sentence.new_paragraph and "paragraphs" in options:
            lines.append("\n")
        lines.append(" ".join(form.replace(" ", _NO_BREAK) for form in sentence.forms) + "\n")
    return "".join(lines)


def _as_vertical(doc: Doc, options: frozenset[str]) -> str:
    lines = []
    for number, sentence in enumerate(doc.sentences):
        if number and sentence.new_paragraph and "paragraphs" in options:
            lines.append("\n")
        lines += [f"{form}\n" for form in sentence.forms]
        lines.append("\n")
    return "".join(lines)


def _as_text(doc: Doc, options: frozenset[str]) -> str:
    if "normalized_spaces" not in options:
        return doc.text
    lines = []
    for number, sentence in enumerate(doc.sentences):
        if number and sentence.new_paragraph:
            lines.append("\n")
        lines.append(f"{sentence.text}\n")
    return "".join(lines)


def _as_matxin(doc: Doc, options: frozenset[str]) -> str:
    """Trees as XML; a sentence without heads is empty."""
    blocks = []
    for number, sentence in enumerate(doc.sentences, start=1):
        words = sentence.words
        below: dict[int | None, list[Word]] = {}
        for word in words:
            below.setdefault(word.head, []).append(word)
        lines = [f'<SENTENCE ord="{number}" alloc="0">\n']
        pending = [(word, 1, False) for word in reversed(below.get(0, []))]
        while pending:  # no recursion: a tree may be as deep as its sentence is long
            word, depth, closing = pending.pop()
            pad = " " * depth
            if closing:
                lines.append(f"{pad}</NODE>\n")
                continue
            children = below.get(word.id, [])
            lines.append(f"{pad}<NODE {_node(word)}{'' if children else '/'}>\n")
            if children:
                pending.append((word, depth, True))
                pending += [(child, depth + 1, False) for child in reversed(children)]
        blocks.append("".join([*lines, "</SENTENCE>\n"]))
    whole = "\n".join(blocks)
    return f"<corpus>\n{whole}</corpus>\n" if blocks else "</corpus>\n"


def _node(word: Word) -> str:
    feats = "" if word.feats == "_" else word.feats
    said = {"form": word.form, "lem": word.lemma, "mi": feats, "si": word.deprel}
    cells = (f'{name}="{escape(value, _QUOTE)}"' for name, value in said.items())
    return f'ord="{word.id}" alloc="0" {" ".join(cells)}'


def _as_epe(doc: Doc, options: frozenset[str]) -> str:
    """The graphs of the EPE shared task: a line of JSON for each sentence."""
    lines = []
    for number, sentence in enumerate(doc.sentences, start=1):
        words = sentence.words
        nodes = []
        for word in words:
            node: dict[str, Any] = {"id": word.id, "form": word.form}
            if word.head == 0:
                node["top"] = True
            tags = {"upos": word.upos, "xpos": word.xpos}
            node["properties"] = {
                "lemma": word.lemma,
                **{name: "" if value == "_" else value for name, value in tags.items()},
                **{name: value for name, value in word.features.items() if value},
            }
            edges = [
                {"label": child.deprel, "target": child.id}
                for child in words
                if child.head == word.id
            ]
            nodes.append(node | ({"edges": edges} if edges else {}))
        graph = {"id": number, "nodes": nodes}
        lines.append(json.dumps(graph, ensure_ascii=False, separators=(", ", ":")) + "\n")
    return "".join(lines)


WRITERS: dict[str, Callable[[Doc, frozenset[str]], str]] = {
    "conllu": _as_conllu,
    "horizontal": _as_horizontal,
    "vertical": _as_vertical,
    "plaintext": _as_text,
    "matxin": _as_matxin,
    "epe": _as_epe,
}

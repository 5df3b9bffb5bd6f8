"""Docs as spaCy's: one level of tokens, white space kept, heads and tags on them.

spaCy's text is its tokens and a blank after some of them, so white space other than that becomes
tokens of its own, and a multiword token is cut into its words only where their forms spell it;
another one (``du`` is ``de le``) is one token with the tags of the word that the others hang
from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eigentext.language.doc import Doc
    from eigentext.language.sentence import Sentence
    from eigentext.language.token import Token

__all__ = ["as_spacy", "doc_bin", "merged"]

_SPACE = "dep"  # spaCy's relation of white space to the word before it


class _Unit(NamedTuple):
    """A token of spaCy's: its text, and the numbers of the words it stands for (none: space)."""

    text: str
    space: bool
    words: tuple[int, ...]


def _spelled(token: Token, forms: Sequence[str]) -> bool:
    return "".join(forms) == token.form


def _units(doc: Doc, sentence: Sentence, following: int) -> list[_Unit]:
    """The tokens of a sentence, and of the white space after each of them."""
    units: list[_Unit] = []
    nexts = [token.start for token in sentence.tokens[1:]] + [following]
    for token, begin in zip(sentence.tokens, nexts, strict=True):
        numbers = tuple(range(token.first, token.last + 1))
        forms = sentence.columns.forms[token.first - 1 : token.last]
        if len(numbers) > 1 and _spelled(token, forms):
            units += (_Unit(form, False, (n,)) for form, n in zip(forms, numbers, strict=True))
        else:
            units.append(_Unit(doc.text[token.start : token.end], False, numbers))
        gap = doc.text[token.end : begin]
        if gap.startswith(" "):
            units[-1] = units[-1]._replace(space=True)
            gap = gap[1:]
        if gap:
            units.append(_Unit(gap, False, ()))
    return units


def _spacy_tokens() -> Any:
    try:
        import spacy.tokens
    except ImportError as missing:
        what = "spaCy's documents"
        raise MissingExtraError(what, extra="spacy", modules=["spacy"]) from missing
    return spacy.tokens


def as_spacy(doc: Doc, vocab: Any = None) -> Any:
    """A ``spacy.tokens.Doc``."""
    tokens = _spacy_tokens()
    from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS
    from spacy.vocab import Vocab

    units: list[_Unit] = []
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    starts = [sentence.start for sentence in doc.sentences[1:]]
    starts += [len(doc.text)] if doc.sentences else []
    lead = doc.text[: doc.sentences[0].start] if doc.sentences else doc.text
    if lead:  # it belongs to the first sentence
        units.append(_Unit(lead, False, ()))
        _add_space(columns, 1 if doc.sentences else 0, starts=True, alone=not doc.sentences)
    for sentence, following in zip(doc.sentences, starts, strict=True):
        begin = len(units)
        found = _units(doc, sentence, following)
        units += found
        _add_sentence(columns, sentence, found, begin)
    if lead and doc.sentences:
        columns["start"][1] = False
    tags = [tag if tag in UNIVERSAL_TAGS else "" for tag in columns["pos"]]
    parsed = any(sentence.columns.heads is not None for sentence in doc.sentences)
    return tokens.Doc(
        Vocab() if vocab is None else vocab,
        words=[unit.text for unit in units],
        spaces=[unit.space for unit in units],
        tags=columns["tag"],
        pos=tags,
        morphs=columns["morph"],
        lemmas=columns["lemma"],
        heads=columns["head"] if parsed else None,
        deps=columns["dep"] if parsed else None,
        sent_starts=None if parsed else columns["start"],
        ents=columns["ent"] if any(tag != "O" for tag in columns["ent"]) else None,
    )


_COLUMNS = ("tag", "pos", "morph", "lemma", "head", "dep", "start", "ent")


def _add_space(
    columns: dict[str, list[Any]], above: int, *, starts: bool = False, alone: bool = False
) -> None:
    """White space hangs from a word of its sentence."""
    for name in ("pos", "tag"):
        columns[name].append("SPACE" if name == "pos" else "_SP")
    columns["morph"].append("")
    columns["lemma"].append("")
    columns["head"].append(above)
    columns["dep"].append("ROOT" if alone else _SPACE)
    columns["start"].append(starts)
    columns["ent"].append("O")


def _add_sentence(
    columns: dict[str, list[Any]], sentence: Sentence, units: Sequence[_Unit], begin: int
) -> None:
    """What is known of each token, at its place in the Doc."""
    words = sentence.words
    place = {number: begin + at for at, unit in enumerate(units) for number in unit.words}
    above = begin
    for at, unit in enumerate(units):
        if not unit.words:
            _add_space(columns, above)
            continue
        above = begin + at
        # of several words, the one whose head is outside speaks for all
        speaker = next(
            (n for n in unit.words if words[n - 1].head not in unit.words), unit.words[0]
        )
        word = words[speaker - 1]
        columns["pos"].append(word.upos if word.upos != "_" else "")
        own = word.xpos if word.xpos != "_" else word.upos
        columns["tag"].append(own if own != "_" else "")
        columns["morph"].append(word.feats if word.feats != "_" else "")
        columns["lemma"].append(word.lemma if word.lemma != "_" else "")
        columns["head"].append(place[word.head] if word.head else above)
        root = not word.head
        columns["dep"].append("ROOT" if root else word.deprel)
        columns["start"].append(at == 0)
        columns["ent"].append("O" if sentence.entities is None else sentence.entities[speaker - 1])


def doc_bin(docs: Iterable[Doc]) -> Any:
    """A ``spacy.tokens.DocBin`` of all these."""
    tokens = _spacy_tokens()
    from spacy.vocab import Vocab

    vocab = Vocab()
    return tokens.DocBin(docs=[as_spacy(doc, vocab) for doc in docs])


def merged(parts: Iterable[bytes]) -> bytes:
    """One DocBin, from the bytes of several."""
    tokens = _spacy_tokens()
    whole = tokens.DocBin()
    for part in parts:
        whole.merge(tokens.DocBin().from_bytes(part))
    return bytes(whole.to_bytes())
